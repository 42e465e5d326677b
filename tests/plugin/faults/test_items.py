"""Odd items and extractors, and what is logged of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.pages import article
from tests.support.serving import Answer, page, serving

if TYPE_CHECKING:
    from pathlib import Path


MEDDLING = """
import gc

from scrapy import signals
from scrapy.http import Response
from scrapy.exceptions import DropItem

class Meddling:
    @classmethod
    def from_crawler(cls, crawler):
        meddling = cls()
        crawler.signals.connect(meddling.closed, signal=signals.spider_closed)
        return meddling

    def process_item(self, item):
        turn = int(item["name"].rpartition(" ")[2]) % 4
        if turn == 0:
            raise DropItem("not wanted", log_level="DEBUG")
        if turn == 1:
            return dict(item)
        if turn == 2:
            raise LookupError("a bug of somebody else")
        return item

    def closed(self):
        gc.collect()
        alive = sum(isinstance(one, Response) for one in gc.get_objects())
        print("RESPONSES ALIVE:", alive, flush=True)
"""
MANY = """
from shop.spiders.spider import Spider as Plain

class Many(Plain):
    name = "many"

    def parse(self, response, name):
        for number in range(30):
            yield {"name": f"{name} {number}", "url": response.url}
"""


def test_no_response_is_held_for_items_that_an_earlier_pipeline_drops_or_replaces(
    tmp_path: Path,
) -> None:
    made = Project(tmp_path, LIST_SPIDER)
    made.write("shop/meddling.py", MEDDLING)
    made.write("shop/spiders/many.py", MANY)
    with serving({f"/{number}": page(article(number)) for number in range(6)}) as server:
        crawling = Crawling(
            tmp_path,
            *listed(tmp_path, {f"{number}": f"{server.url}/{number}" for number in range(6)}),
            *("-s", "DEDUP_ACTION=tag"),
            *("-s", 'ITEM_PIPELINES={"shop.meddling.Meddling": 100}'),
            command=("-m", "scrapy", "crawl", "many"),
        )
        assert crawling.wait() == 0, crawling.log
    counted = stats(crawling.log)
    assert counted["item_dropped_count"] == str(6 * 8)
    assert counted["item_scraped_count"] == str(6 * 15)
    assert int(crawling.log.partition("RESPONSES ALIVE: ")[2].split()[0]) <= 1
    # A new object in the place of an item is known to come from its response.
    results = [item["dedup"] for item in items(tmp_path).values()]
    assert {(result["status"], result["reason"]) for result in results} == {("new", "list")}


ODD = "\x1b]0;owned\x07\x1b[31m\u202e\u200b\x9b"
SPIDER = """
import scrapy

class Item(dict):
    pass

class Refusing(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()

    def __setitem__(self, name, value):
        if name == "dedup":
            raise ValueError("no " + self["title"])
        super().__setitem__(name, value)

Refusing.__qualname__ = "Refus\\x1b[31ming"

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(4):
            yield scrapy.Request(f"{self.site}/{number}%1b%5b31m")

    def parse(self, response):
        title = response.css("title::text").get()
        odd = "\\x1b[31m\\u202e"
        yield Refusing(url=response.url, title=title)
        yield {"url": response.url + odd, "text": "some words " * 40 + odd}
        yield {"url": response.url + odd + "2", "text": "some words " * 40 + odd}
"""


@pytest.mark.parametrize("action", ["tag", "drop"])
def test_the_log_of_a_crawl_has_no_escapes_of_its_pages(tmp_path: Path, action: str) -> None:
    body = (
        f"<html><head><title>A title {ODD}</title><link rel=canonical href='/c{ODD}'></head>"
        f"<body><article><p>{article(1)} {ODD}</p></article></body></html>"
    )
    answers = {f"/{number}%1b%5b31m": Answer(body.encode()) for number in range(4)}
    answers |= {path.replace("%1b%5b", "%1B%5B"): answer for path, answer in answers.items()}
    Project(tmp_path, SPIDER)
    with serving(answers) as server:
        crawling = Crawling(
            tmp_path,
            *("-a", f"site={server.url}", "-s", f"DEDUP_ACTION={action}", "-s", "DEDUP_DEBUG=1"),
            *("-s", "DEDUP_URL_FIELD=url", "-s", "LOG_LEVEL=DEBUG"),
        )
        assert crawling.wait() == 0, crawling.log
    lines = [line for line in crawling.log.split("\n") if "[shingling" in line or "dedup/" in line]
    assert len(lines) > 3
    assert action == "drop" or "does not take the field" in crawling.log
    assert [line for line in lines if not line.isprintable()] == []
    assert "owned\x07" not in crawling.log
