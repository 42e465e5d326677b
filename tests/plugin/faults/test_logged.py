"""What a page says reaches the log of a crawl only as characters that can be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import Crawling, Project
from tests.support.pages import article
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from pathlib import Path

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
