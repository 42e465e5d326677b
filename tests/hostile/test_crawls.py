"""Crawls of hostile pages among ordinary ones: the event loop goes on, and so do the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hostile.bombs import BOMBS
from tests.support.crawls import Project
from tests.support.pages import article
from tests.support.processes import PATIENCE
from tests.support.serving import Answer, page, serving

if TYPE_CHECKING:
    from pathlib import Path

# Records how much the event loop does at a time: CPU time of its thread, as a multiple of the time
# that the same thread takes to add ten million numbers.
EXTENSION = """
import asyncio
import time

from scrapy import signals


class Lag:
    @classmethod
    def from_crawler(cls, crawler):
        one = cls()
        one.stats = crawler.stats
        crawler.signals.connect(one.opened, signal=signals.spider_opened)
        crawler.signals.connect(one.closed, signal=signals.spider_closed)
        return one

    def opened(self):
        self.longest = 0.0
        self.task = asyncio.get_running_loop().create_task(self.watch())

    async def watch(self):
        before = time.thread_time()
        while True:
            await asyncio.sleep(0.005)
            now = time.thread_time()
            self.longest = max(self.longest, now - before)
            before = now

    def closed(self):
        self.task.cancel()
        before = time.thread_time()
        sum(range(10_000_000))
        self.stats.set_value("lag", self.longest / (time.thread_time() - before))


class Cut:
    def process_item(self, item):
        # To write them out would take Scrapy long.
        return {**item, "url": item["url"][:100], "text": None, "title": None}
"""
SPIDER = """
import asyncio

import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for path in self.paths.split(","):
            yield scrapy.Request(self.site + path)
            while not self.crawler.stats.get_value("dedup/checked"):  # all is imported and opened
                await asyncio.sleep(0.05)

    def parse(self, response):
        item = {"url": response.url, "dedup": None}
        if "/odd" in response.url:
            item |= ODD[response.url.rpartition("/")[2]]
        yield item

ODD = {
    "odd-text": {"text": "many words of a text " * 1_500_000},
    "odd-pieces": {"text": ["word"] * 1_000_000},
    "odd-title": {"text": "a text of some words", "title": "A title " * 1_000_000},
    "odd-url": {"text": "another text", "url": "http://a.example/" + "\\u00e4" * 1_000_000},
    "odd-host": {"text": "a third text", "url": "http://" + "a" * 1_000_000 + "/"},
    "odd-controls": {"text": "a fourth text", "url": "http://a.example/" + "\\x01" * 1_000_000},
}
"""
ORDINARY = {f"/{n}": page(article(n), f"Page {n}") for n in range(12)}
MAX_LAG = 5.0


@pytest.fixture
def hostile(tmp_path: Path) -> Project:
    """A project that records lags."""
    project = Project(tmp_path, SPIDER)
    project.write("shop/measured.py", EXTENSION)
    settings = (tmp_path / "shop/settings.py").read_text()
    project.write(
        "shop/settings.py",
        settings
        + """
EXTENSIONS = {"shop.measured.Lag": 1}
ITEM_PIPELINES = {"shop.measured.Cut": 900}
CONCURRENT_REQUESTS_PER_DOMAIN = 16
DEDUP_SCOPE = "site"
""",
    )
    return project


def mixed(bad: dict[str, Answer]) -> dict[str, Answer]:
    """Ordinary pages among hostile ones."""
    ordinary = [*ORDINARY.items()]
    pages = dict(ordinary[:2])
    for place, one in enumerate(bad.items()):
        pages |= dict([one, *ordinary[place + 2 : place + 3]])
    return pages | dict(ordinary)


def measured(project: Project, pages: dict[str, Answer], *arguments: str) -> dict[str, str]:
    """Status or reason by path, in the order of the verdicts; each page has one item."""
    with serving(pages) as server:
        done = project.crawl(
            *("-a", f"site={server.url}", "-a", f"paths={','.join(pages)}"),
            *("-s", "DEDUP_ACTION=tag", *arguments),
        )
    assert len(done.items) == len(pages)
    assert float(done.stat("lag") or 99) < MAX_LAG, done.log
    # Odd items bring URLs of their own.
    return {
        item["url"].removeprefix(server.url): item["dedup"]["reason"] or item["dedup"]["status"]
        for item in done.items
    }


def test_ordinary_pages_do_not_wait_for_slow_ones(hostile: Project) -> None:
    # The CPU time that a hostile page takes is the same on every machine.
    slow = "<html><body><p>busy 2.5 " + " " * 20_000
    pages = mixed({f"/slow-{n}": Answer(f"{slow}{n}</p>".encode()) for n in range(2)})
    extractor = "DEDUP_EXTRACTOR=tests.extraction.extractors.awkward"
    settings = "-s", "DEDUP_WORKERS=1", "-s", extractor
    seen = measured(hostile, pages, *settings)
    assert {seen[path] for path in ORDINARY} == {"new"}
    # The first one may be done, in a process of its own, while the other turns out to be slow.
    paths = [*seen]
    before = paths[: max(map(paths.index, ORDINARY))]
    assert sum(path.startswith("/slow") for path in before) <= 1


@pytest.mark.parametrize(
    ("extractor", "workers", "size"), [("quick", "0", 200_000), ("trafilatura", "2", 30_000)]
)
def test_the_event_loop_goes_on_whatever_is_crawled(
    hostile: Project, extractor: str, workers: str, size: int
) -> None:
    names = ("br", "misnested b", "attributes after a quote", "li and letters")
    pages = mixed({f"/bomb-{n}": Answer(BOMBS[name](size)) for n, name in enumerate(names)})
    seen = measured(
        *(hostile, pages, "-s", f"DEDUP_WORKERS={workers}", "-s", f"DEDUP_TIMEOUT={PATIENCE}"),
        *("-s", f"DEDUP_EXTRACTOR={extractor}"),
    )
    assert {seen[path] for path in ORDINARY} == {"new"}


def test_odd_items_are_decided_and_their_urls_are_cut(hostile: Project) -> None:
    odd = ("text", "pieces", "title", "url", "host", "controls")
    pages = {f"/odd-{name}": page(article(n)) for n, name in enumerate(odd)} | ORDINARY
    seen = measured(hostile, pages, "-s", "DEDUP_WORKERS=1")
    assert seen["/odd-text"] == "too_large"
    assert {path for path, status in seen.items() if status == "new"} >= {*ORDINARY}
    listed = hostile.dedup("list", "--limit", "100")
    assert all(len(one["url"]) <= 8192 for one in listed)
