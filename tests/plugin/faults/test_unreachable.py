"""Databases that cannot be reached: a crawl whose items come from `start()` alone ends as well."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.plugin.faults.test_database import said
from tests.support.crawls import Crawling, Project, stats

if TYPE_CHECKING:
    from pathlib import Path

START_SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"

    async def start(self):
        for number in range(3):
            yield {"url": f"https://example.org/{number}", "text": "a few words " * 30}
"""


@pytest.mark.parametrize("listens", [False, True], ids=["nobody listens", "nobody answers"])
def test_a_crawl_of_items_without_requests_ends_where_the_database_cannot_be_reached(
    tmp_path: Path, listens: bool
) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    Project(tmp_path, START_SPIDER)
    with closing(socket.socket()) as place:
        place.bind(("127.0.0.1", 0))
        if listens:
            place.listen()
        url = f"postgresql://user:secret@127.0.0.1:{place.getsockname()[1]}/name"
        query = "?connect_timeout=2" if listens else ""
        crawling = Crawling(
            tmp_path, "-s", f"DEDUP_STORE_URL={url}{query}", "-s", "DEDUP_ACTION=tag"
        )
        assert crawling.wait(60) == 0, crawling.log
    # Scrapy 2.14 has ended the crawl by then.
    assert stats(crawling.log)["finish_reason"] in ("dedup_error", "finished")
    assert stats(crawling.log)["item_scraped_count"] == "3"
    (line,) = said(crawling.log)
    assert " ERROR: " in line
    assert "secret" not in crawling.log
