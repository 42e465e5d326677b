"""Items that other pipelines drop or replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.pages import article
from tests.support.serving import page, serving

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
