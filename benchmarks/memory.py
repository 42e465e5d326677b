"""Memory of a long crawl: of its process, and of everything that it keeps.

Pages of some sites are crawled over HTTP on loopback, without the plugin, with it, and with
DEDUP_FETCH = "skip": 300 words a page, each fifth the text of an earlier one under another URL. At
each fifth of the crawl the memory of its process (RSS) and of each keeper is taken: what is found
from it by references, but for what other keepers have. What Scrapy itself grows by, as the crawl
without the plugin shows, is taken off the growth of the others.

    python -m benchmarks.memory [--pages 100000] [--sites 1000] [--fetch none,all,skip]
"""

from __future__ import annotations

import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
from argparse import SUPPRESS
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import psutil
import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess

from benchmarks.growth_pages import text_of
from benchmarks.hostile.server import Reply, serving
from benchmarks.processes import ROOT
from benchmarks.report import options_of, show

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_PARTS = 5  # of a crawl, at whose ends memory is taken
_LIMIT = 1.15  # times the memory at the first of them
_SOME_LINKS = 5
_WITHOUT = "process, without what Scrapy grows by"
_KEEPERS = {
    "scrapy.dupefilters.RFPDupeFilter": "URLs that Scrapy has seen",
    "shingling.store.backends.recent.Recent": "recent keys of the index",
    "shingling.store.templates.SiteCache": "blocks of sites",
    "shingling.sketch.shingles._WordHashes": "hashes of words",
    "functools._lru_cache_wrapper": "titles, words and blocks of late",
    "shingling.fetching.learning.learner.UrlLearner": "what is learned of URLs",
    "shingling.fetching.skipped.SkippedRequests": "requests to make again",
    "shingling.fetching.waiting.PagesNoted": "pages to be noted",
    "shingling.fetching.waiting.FormsUnderWay": "requests that wait",
    "shingling.plugin.report.Report": "counts of the report",
    "shingling.plugin.items.checking.Checker": "documents on their way",
}
_FOREIGN = ("scrapy", "twisted", "asyncio", "sqlalchemy", "logging", "threading", "concurrent")
_NOT_ENTERED = (ModuleType, type, FunctionType, BuiltinFunctionType, MethodType)


class Long(scrapy.Spider):
    """Asks for pages by their numbers, and takes the memory at each fifth of them."""

    name = "long"
    pages: int  # arguments, which Scrapy sets
    sites: int

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._seen = 0
        self._taken: list[dict[str, float]] = []

    async def start(self) -> AsyncIterator[Any]:
        """Yield the requests."""
        for number in range(self.pages):
            # No faster than pages are crawled.
            if self.crawler.engine is not None and self.crawler.engine.needs_backout():
                await self.crawler.signals.wait_for(signals.scheduler_empty)
            yield scrapy.Request(_url(number, self.sites))

    def parse(self, response: Any) -> Iterator[Any]:
        """Yield an item."""
        self._seen += 1
        if self._seen % (self.pages // _PARTS) == 0 and len(self._taken) < _PARTS:
            self._taken.append({"pages": self._seen, **memory()})
        yield {"url": response.url}

    def closed(self, _reason: str) -> None:
        """Print what was taken."""
        print(json.dumps(self._taken), flush=True)


def _url(number: int, sites: int) -> str:
    """URL of a page; each fifth is an earlier one with another parameter."""
    shown = number - number % 5 if number % 5 == 4 else number
    extra = f"&session={number}" if number % 5 == 4 else ""
    return f"http://s{shown % sites}.example/show?page={shown}{extra}"


def answer(url: str) -> Reply:
    """Answer with the page of a URL."""
    number = int(urlsplit(url).query.removeprefix("page=").partition("&")[0])
    title, main_text = text_of(number)
    paragraphs = "".join(f"<p>{line}</p>" for line in main_text.splitlines())
    links = "".join(f'<a href="/show?page={number + at}">{at}</a>' for at in range(_SOME_LINKS))
    return Reply(
        f"<!doctype html><html lang=en><title>{title}</title><body><article>{paragraphs}"
        f"</article><nav>{links}</nav></body></html>".encode()
    )


def memory() -> dict[str, float]:
    """Megabytes of this process, and of each keeper in it."""
    gc.collect()
    found = {"process": psutil.Process().memory_info().rss / 1e6}
    keepers: dict[str, list[Any]] = {name: [] for name in _KEEPERS.values()}
    for one in gc.get_objects():
        name = _KEEPERS.get(f"{type(one).__module__}.{type(one).__qualname__}")
        if name is not None and (
            not isinstance(one, functools._lru_cache_wrapper)
            or str(one.__module__).startswith("shingling")
        ):
            keepers[name].append(one)
    seen = {id(one) for own in keepers.values() for one in own}
    for name, own in keepers.items():
        found[name] = sum(_size(one, seen) for one in own) / 1e6
    return found


def _size(root: Any, seen: set[int]) -> int:
    """Bytes of an object and of all that is found from it, but for what was seen."""
    total, waiting = 0, [root]
    while waiting:
        one = waiting.pop()
        total += sys.getsizeof(one)
        # The garbage collector does not look into arrays.
        others = [one.base] if isinstance(one, np.ndarray) else gc.get_referents(one)
        for other in others:
            if id(other) in seen or isinstance(other, _NOT_ENTERED):
                continue
            if type(other).__module__.partition(".")[0] in _FOREIGN:
                continue
            seen.add(id(other))
            waiting.append(other)
    return total


def _crawl(fetch: str, pages: int, sites: int) -> None:
    """Crawl in this process."""
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": 32,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "RETRY_ENABLED": False,
    }
    if fetch != "none":
        settings |= {"ADDONS": {"shingling.Addon": 500}, "DEDUP_FETCH": fetch}
    process = AsyncCrawlerProcess(settings)
    process.crawl(Long, pages=pages, sites=sites)
    process.start()


def crawled(fetch: str, pages: int, sites: int) -> list[dict[str, float]]:
    """Crawl in a process of its own; what its spider has taken."""
    with serving(answer) as proxy, tempfile.TemporaryDirectory() as folder:
        variables = {"http_proxy": proxy, "no_proxy": "", "PYTHONPATH": str(ROOT)}
        arguments = ("--child", fetch, "--pages", str(pages), "--sites", str(sites))
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.memory", *arguments],
            cwd=folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    taken: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return taken


def _show(results: dict[str, list[dict[str, float]]]) -> bool:
    """Print the tables; return whether each crawl keeps to the limit."""
    own = results.get("none")
    met = True
    for fetch, taken in results.items():
        rows = {name: [one[name] for one in taken] for name in islice(taken[0], 1, None)}
        if own is not None and fetch != "none":
            more = [one["process"] - own[0]["process"] for one in own]
            rows[_WITHOUT] = [a - b for a, b in zip(rows["process"], more, strict=False)]
            met &= rows[_WITHOUT][-1] <= _LIMIT * rows[_WITHOUT][0]
        show(
            ("MB", *(f"{one['pages']:,.0f} pages" for one in taken), "times"),
            (
                (
                    *(name, *(f"{one:,.1f}" for one in values)),
                    f"{values[-1] / values[0]:.2f}" if values[0] >= 1 else "",
                )
                for name, values in rows.items()
            ),
            "without the plugin" if fetch == "none" else f"DEDUP_FETCH = {fetch}",
        )
    return met


def main() -> None:
    """Crawl in each way, and print the tables."""
    parser = options_of(__doc__)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--sites", type=int, default=1000)
    parser.add_argument("--fetch", default="none,all,skip", help="ways to crawl")
    parser.add_argument("--child", help=SUPPRESS)
    options = parser.parse_args()
    if options.child:
        _crawl(options.child, options.pages, options.sites)
        return
    results = {}
    for fetch in options.fetch.split(","):
        results[fetch] = crawled(fetch, options.pages, options.sites)
    sys.exit(0 if _show(results) else 1)


if __name__ == "__main__":
    main()
