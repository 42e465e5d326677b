"""One long crawl of light pages: neither memory nor time grow with it.

A tenth of the pages are near-duplicates of earlier ones, and a tenth have the text of an earlier
one. The same crawl without the plugin says what Scrapy itself takes: it keeps a fingerprint of each
URL.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.growth_pages import SITES, text_of
from benchmarks.hostile.project import Events, Project, Target
from benchmarks.hostile.server import Reply, serving
from benchmarks.hostile.soundness import faults_of
from tests.support.crawls import stats

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_NEAR_EVERY = 10
_EXACT_AT = 4  # of ten
_MENU, _FOOTER = 6, 3  # lines before and after an article, see `growth_pages`
_SAMPLES = 100  # of a crawl, and at least one in a thousand pages
_LONGEST = 6 * 3600
_WARM_UP = 0.02  # of the pages, before the rate counts
MEMORY_GROWTH, RATE_LEFT = 1.15, 0.9


def answer(url: str) -> Reply:
    """Answer with the page of a number."""
    number = int(urlsplit(url).path.rpartition("/")[2])
    shown = number
    if number > SITES and number % 10 == _EXACT_AT:
        shown = random.Random(number).randrange(number)
    title, text = text_of(shown, _NEAR_EVERY)
    lines = [escape(line) for line in text.splitlines()]
    menu = "".join(f'<li><a href="/{at}">{line}</a></li>' for at, line in enumerate(lines[:_MENU]))
    headline, *content = lines[_MENU:-_FOOTER]
    paragraphs = "".join(f"<p>{line}</p>" for line in content)
    footer = "".join(f"<p>{line}</p>" for line in lines[-_FOOTER:])
    return Reply(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"</head><body><nav><ul>{menu}</ul></nav><article><h1>{headline}</h1>{paragraphs}</article>"
        f"<footer>{footer}</footer></body></html>".encode()
    )


@dataclass(frozen=True)
class Result:
    """What a long crawl has taken.

    Args:
        name: of the variant.
        samples: `memory` events: items, moment, MB of the crawl's process and of the workers.
        traces: `trace` events.
        began: moment at which the spider was opened.
        dropped: items.
        wrong: what must not be.
    """

    name: str
    samples: list[dict[str, Any]]
    traces: list[dict[str, Any]]
    began: float
    dropped: int
    wrong: list[str]

    def memory(self, items: int, *, process: str | None = None) -> float:
        """MB after so many items: of all processes, or of one kind."""
        sample = next((one for one in self.samples if one["items"] >= items), self.samples[-1])
        return float(sample[process]) if process else float(sample["own"] + sample["workers"])

    def rate(self, first: int, last: int) -> float:
        """Items per second between two numbers of items."""
        at: dict[int, float] = {0: self.began, **{one["items"]: one["at"] for one in self.samples}}
        start = max(items for items in at if items <= max(first, 0))
        end = min((items for items in at if items >= last), default=max(at))
        return (end - start) / (at[end] - at[start])


COLUMNS = ("crawl", "items", "pages/s until", "crawl MB", "workers MB", "all MB")


def run(folder: Path, pages: int, *, trace: bool = False) -> list[Result]:
    """Crawl so many pages with the plugin, and then without."""
    every = min(1000, max(pages // _SAMPLES, 10))
    variants = {"with the plugin": (), "without": ("-s", "ADDONS={}")}
    results = []
    with serving(answer) as proxy:
        for name, settings in variants.items():
            project = Project(folder / name.replace(" ", "-"), proxy)
            project.list_urls(
                (number, f"http://site{number % SITES}.example/articles/{number}", "page")
                for number in range(pages)
            )
            crawling = project.crawl(
                *("-a", "filtered=1", "-s", f"WATCH_EVERY={every}", *settings),
                *(["-s", f"WATCH_TRACE={max(pages // 4, every)}"] if trace else []),
            )
            status = crawling.wait(_LONGEST)
            log, events = crawling.log, Events.read(project.events)
            wrong = [f"exit status {status}"] if status else []
            wrong += [line[:300] for line in log.splitlines() if "ERROR" in line or "WARNI" in line]
            ended = len(events["out"]) + len(events["dropped"])
            if ended != pages:
                wrong.append(f"{pages} pages, {ended} items")
            if not settings:
                wrong += faults_of(project.store)
            count = int(stats(log).get("item_dropped_count", 0))
            began = events["opened"][0]["at"]
            results.append(Result(name, events["memory"], events["trace"], began, count, wrong))
            project.events.unlink()
    return results


def rows(results: list[Result], pages: int) -> list[tuple[str, ...]]:
    """Ten rows of each crawl."""
    found = []
    for result in results:
        for tenth in range(1, 11):
            items = pages * tenth // 10
            figures = (
                result.rate(items - pages // 10, items),
                *(result.memory(items, process=process) for process in ("own", "workers", None)),
            )
            found.append((result.name, f"{items:,}", *(f"{value:.1f}" for value in figures)))
    return found


def shown(results: list[Result]) -> list[str]:
    """Say what is wrong with the crawls, and what their memory has gone to."""
    lines = [f"{one.name}: {one.dropped:,} dropped" for one in results]
    lines += [f"WRONG: {one.name}: {wrong}" for one in results for wrong in one.wrong[:10]]
    for result in results:
        for event in result.traces:
            lines.append(f"{result.name}, after {event['items']:,} items")
            lines += [f"    {size:>12,} {name}" for name, size in event["lines"].items()]
            lines += [f"    {count:>12,} x {name}" for name, count in event["types"].items()]
    return lines


def targets(results: list[Result], pages: int) -> list[Target]:
    """Return the figures that must be met; the second tenth of the pages counts as the first."""
    plugin, scrapy = results
    tenth, warm = pages // 10, int(pages * _WARM_UP)
    growth = plugin.memory(pages) / plugin.memory(tenth)
    own = plugin.memory(pages) - scrapy.memory(pages) + scrapy.memory(tenth)
    rate = plugin.rate(pages - tenth, pages) / plugin.rate(warm, warm + tenth)
    return [
        Target("soak: memory at the end / at a tenth", growth, MEMORY_GROWTH),
        Target(
            "soak: the same, without Scrapy's own growth",
            own / plugin.memory(tenth),
            MEMORY_GROWTH,
        ),
        Target("soak: rate of the last tenth / of the first one", rate, RATE_LEFT, at_least=True),
        Target("soak: all that is wrong", sum(len(one.wrong) for one in results), 0),
    ]
