"""What a crawl keeps for each response, and what garbage collections go through."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from shingling import Addon
from shingling.plugin.middleware import ITEMS_AT_ONCE
from tests.support.processes import run_fork

if TYPE_CHECKING:
    from pathlib import Path

CRAWL = """
import gc, json

import scrapy
from scrapy.crawler import AsyncCrawlerProcess

LISTS = {lists}


class Spider(scrapy.Spider):
    name = "spider"
    slots, frozen = [], []

    async def start(self):
        for number, items in enumerate(LISTS):
            yield scrapy.Request(f"data:text/html,{{number}}", cb_kwargs={{"items": items}})

    def parse(self, response, items):
        self.slots.append(self.crawler.engine.scraper.concurrent_items)
        self.frozen.append(gc.get_freeze_count())
        for number in range(items):
            yield {{"url": f"https://a.example/{{number}}", "text": f"{{number}} and {{items}}"}}


class Other(Spider):
    pass


process = AsyncCrawlerProcess({settings})
for spider in {spiders}:
    process.crawl(spider)
process.start()
print(json.dumps({{"slots": Spider.slots, "frozen": [*Spider.frozen, gc.get_freeze_count()]}}))
"""


def _crawl(
    folder: Path, lists: list[int], spiders: str = "[Spider]", **settings: int
) -> dict[str, list[int]]:
    chosen = {
        "ADDONS": {"shingling.Addon": 500},
        "CONCURRENT_REQUESTS": 1,
        "DEDUP_STORE_URL": "sqlite://",
        "DEDUP_WORKERS": 0,
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    }
    code = CRAWL.format(lists=lists, spiders=spiders, settings=chosen)
    done = run_fork(folder, "-c", code)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[int]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("priority", ["command", "addon", "project", "spider"])
def test_a_number_of_slots_that_somebody_sets_is_kept(priority: str) -> None:
    for first in (True, False):
        settings = Settings()
        if first:
            settings.set("CONCURRENT_ITEMS", 7, priority)
        Addon().update_settings(settings)
        settings.set("CONCURRENT_ITEMS", 7, priority)
        assert settings.getint("CONCURRENT_ITEMS") == 7


def test_a_response_with_more_items_than_slots_brings_all_slots_back(tmp_path: Path) -> None:
    few = ITEMS_AT_ONCE
    assert _crawl(tmp_path, [1, few, few + 1, 1])["slots"] == [few, few, few, 100]
    assert _crawl(tmp_path, [1, 40, 1], CONCURRENT_ITEMS=few)["slots"] == [few] * 3


def test_collections_pass_over_what_was_there_when_the_first_crawl_was_ready(
    tmp_path: Path,
) -> None:
    *during, after = _crawl(tmp_path, [1, 1], "[Spider, Other]")["frozen"]
    assert min(during) > 10_000, during
    assert after == 0
