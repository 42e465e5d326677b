"""Responses that are no pages: items of errors are kept, and nothing is learned from them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.crawls import Project
from tests.support.pages import article, html, linked
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from pathlib import Path


BROKEN_LINKS = '''
import scrapy

class Spider(scrapy.Spider):
    """Follows all links, and yields an item for each that is broken, and for each article."""

    name = "spider"
    handle_httpstatus_list = [404, 410, 503]
    custom_settings = {"RETRY_ENABLED": False}

    async def start(self):
        yield scrapy.Request(self.site + "/")

    def parse(self, response):
        if response.status == 200:
            if response.css("article"):
                yield {"url": response.url, "status": 200}
            yield from response.follow_all(css="a")
        elif "texts" in response.url:
            yield {"text": response.css("p::text").get(), "status": response.status}
        elif "lists" in response.url:
            yield {"link": response.url, "status": response.status}
            yield {"link": response.url, "status": response.status}
        else:
            yield {"url": response.url, "status": response.status}
'''
MISSING = html("This page is gone, look for another one. " * 30, "Not found")
BROKEN = {
    **{f"/missing/{number}": 404 for number in range(39)},
    **{f"/missing?sid={number}": 404 for number in range(20)},
    **{f"/gone/{number}": 410 for number in range(3)},
    **{f"/busy/{number}": 503 for number in range(3)},
    **{f"/texts/{number}": 404 for number in range(3)},
    **{f"/lists/{number}": 404 for number in range(3)},
}
ARTICLES = {"/a": html(article(1), "A"), "/copy": html(article(1), "A")}


def test_every_broken_link_comes_out_and_an_error_teaches_nothing(tmp_path: Path) -> None:
    project = Project(tmp_path, BROKEN_LINKS)
    pages = linked({**ARTICLES, **dict.fromkeys(BROKEN, MISSING)})
    answers = {
        path: Answer(body.encode(), status=BROKEN.get(path, 200)) for path, body in pages.items()
    }
    with serving(answers) as site:
        where = ("-a", f"site={site.url}", "-s", "DEDUP_MULTI_ITEM_PAGES=drop")
        cached = ("-s", "HTTPCACHE_ENABLED=True")
        crawl = project.crawl(*where, *cached, "-s", "DEDUP_FETCH=skip")
        again = project.crawl(*where, *cached)
        asked = len(site.asked)
    for one in (crawl, again):
        came = Counter(item["status"] for item in one.items)
        assert came == {200: 1, 404: 39 + 20 + 3 + 2 * 3, 410: 3, 503: 3}
    assert crawl.stat("dedup/exact") == crawl.stat("dedup/dropped") == "1"
    assert crawl.stat("dedup/skipped/http_status") == str(len(BROKEN) + 3)
    [warning] = [line for line in crawl.log.splitlines() if " WARNING: Dedup" in line]
    assert "74 of 76 items (http_status): the status" in warning
    assert {page["url"] for page in project.dedup("list")} == {site.url + path for path in ARTICLES}
    assert crawl.stat("dedup/fetch/learned_from") == "3", "the pages with links and the articles"
    assert crawl.stat("dedup/fetch/rules") == "0"
    # Errors of the cache come out as those of the site do.
    assert asked == len(pages)
    assert again.stat("dedup/unchanged") == "2"


SCHEMES = """
from urllib.parse import quote

import scrapy

class Spider(scrapy.Spider):
    name = "spider"
    handle_httpstatus_list = [206, 301]

    async def start(self):
        for number in range(2):
            yield scrapy.Request(f"file://{self.folder}/{number}.html", cb_kwargs={"of": "file"})
            yield scrapy.Request("data:text/html," + quote(self.body(number)),
                                 cb_kwargs={"of": "data"})
            yield scrapy.Request(f"{self.site}/part/{number}", cb_kwargs={"of": "part"})
            yield scrapy.Request(f"{self.site}/moved/{number}", cb_kwargs={"of": "moved"})

    def body(self, number):
        with open(f"{self.folder}/{number}.html") as file:
            return file.read().replace("article>", f"article><!-- {number} -->")

    def parse(self, response, of):
        yield {"of": of, "status": response.status}
"""


def test_pages_of_other_schemes_and_all_of_2xx_are_compared(tmp_path: Path) -> None:
    project = Project(tmp_path, SCHEMES)
    answers: dict[str, Any] = {}
    for number in range(2):
        (tmp_path / f"{number}.html").write_text(html(article(1, 120), "A title"))
        for kind, status, seed in (("part", 206, 2), ("moved", 301, 3)):
            body = html(article(seed), "A title").encode()
            answers[f"/{kind}/{number}"] = Answer(body, status=status)
    with serving(answers) as site:
        where = ("-a", f"site={site.url}", "-a", f"folder={tmp_path}")
        crawl = project.crawl(*where, "-s", "DEDUP_ACTION=tag")
    found = Counter((item["of"], item["dedup"]["status"]) for item in crawl.items)
    assert found["part", "new"] == found["part", "exact"] == 1
    assert found["moved", "skipped"] == 2
    assert found["file", "new"] + found["data", "new"] == 1
    assert found["file", "exact"] + found["data", "exact"] == 3
