"""Items of every class, items that other pipelines drop or replace, and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.crawls import LIST_SPIDER, Crawling, Project, items, listed, stats
from tests.support.pages import article
from tests.support.serving import page, serving

if TYPE_CHECKING:
    from pathlib import Path

CLASSES = """
from dataclasses import dataclass
from typing import Any

import attrs
import scrapy
from shop.spiders.spider import Spider as Plain

@dataclass
class Data:
    name: str
    dedup: Any = None

@dataclass
class DataWithout:
    name: str

@dataclass(slots=True)
class SlotsWithout:
    name: str

@attrs.define
class Attrs:
    name: str
    dedup: Any = None

@attrs.define
class AttrsWithout:
    name: str

class Item(scrapy.Item):
    name = scrapy.Field()
    dedup = scrapy.Field()

class ItemWithout(scrapy.Item):
    name = scrapy.Field()

CLASSES = [Data, DataWithout, SlotsWithout, Attrs, AttrsWithout, Item, ItemWithout, dict]

class Classes(Plain):
    name = "classes"

    def parse(self, response, name):
        for kind in CLASSES:
            yield kind(name=f"{name} {kind.__name__}")
"""
WITHOUT = ["DataWithout", "SlotsWithout", "AttrsWithout", "ItemWithout"]


def test_items_without_the_result_field_are_kept_with_one_warning_a_class(tmp_path: Path) -> None:
    Project(tmp_path, LIST_SPIDER).write("shop/spiders/classes.py", CLASSES)
    with serving({f"/{number}": page(article(number)) for number in range(3)}) as server:
        crawling = Crawling(
            tmp_path,
            *listed(tmp_path, {f"{number}": f"{server.url}/{number}" for number in range(3)}),
            *("-s", "DEDUP_ACTION=tag"),
            command=("-m", "scrapy", "crawl", "classes"),
        )
        assert crawling.wait() == 0, crawling.log
    found = items(tmp_path)
    kinds = ["Data", "Attrs", "Item", "dict", *WITHOUT]
    assert set(found) == {f"{number} {kind}" for number in range(3) for kind in kinds}
    for name, item in found.items():
        if name.split()[1] in WITHOUT:
            assert set(item) == {"name"}
        else:
            assert item["dedup"]["status"] == "new"
    warnings = [line for line in crawling.log.splitlines() if " WARNING: " in line]
    assert len(warnings) == len(WITHOUT), warnings
    for kind in WITHOUT:
        (line,) = (line for line in warnings if f"shop.spiders.classes.{kind} " in line)
        assert "'dedup'" in line
        assert "DEDUP_RESULT_FIELD" in line
    assert stats(crawling.log)["dedup/errors/result_field"] == str(3 * len(WITHOUT))
    assert "Traceback" not in crawling.log


MEDDLING = """
import gc

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.http import Response
from scrapy.exceptions import DropItem
from shingling.plugin.middleware import SourceMiddleware

class Meddling:
    def __init__(self, crawler):
        self.crawler = crawler
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

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
        middleware = self.crawler.get_spider_middleware(SourceMiddleware)
        print("THE MIDDLEWARE HOLDS", len(middleware._items), flush=True)
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
    assert "THE MIDDLEWARE HOLDS 0" in crawling.log
    assert int(crawling.log.partition("RESPONSES ALIVE: ")[2].split()[0]) <= 1
    # A new object in the place of an item is known to come from its response.
    results = [item["dedup"] for item in items(tmp_path).values()]
    assert {(result["status"], result["reason"]) for result in results} == {("new", "list")}


SCRIPT = """
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

print("THE SCRIPT RUNS", flush=True)

class Spider(scrapy.Spider):
    name = "script"

    async def start(self):
        for number in range(6):
            yield scrapy.Request(f"{SITE}/{number}")

    def parse(self, response):
        yield {"name": response.url.rpartition("/")[2], "url": response.url}

process = AsyncCrawlerProcess(
    {
        "ADDONS": {"shingling.Addon": 500},
        "DEDUP_ACTION": "tag",
        "DEDUP_WORKERS": 2,
        "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
    }
)
process.crawl(Spider)
process.start()
"""


def test_a_script_needs_no_main_guard_and_raises_no_warning(tmp_path: Path) -> None:
    with serving({f"/{number}": page(article(number)) for number in range(6)}) as server:
        (tmp_path / "script.py").write_text(f'SITE = "{server.url}"\n{SCRIPT}')
        crawling = Crawling(tmp_path, command=("-W", "error", "script.py"))
        assert crawling.wait() == 0, crawling.log
    assert crawling.all_gone()
    found = items(tmp_path)
    assert {name: item["dedup"]["status"] for name, item in found.items()} == dict.fromkeys(
        map(str, range(6)), "new"
    )
    assert crawling.log.count("THE SCRIPT RUNS") == 1
    assert "Warning" not in crawling.log
    assert "Traceback" not in crawling.log
    assert "extracted in a thread" not in crawling.log
