"""Requests that carry data are made: what they carry would be lost, whatever page they bring."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.crawls import Project
from tests.support.pages import article, html
from tests.support.serving import Answer, serving

if TYPE_CHECKING:
    from pathlib import Path

PRODUCTS = 100
SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "spider"
    custom_settings = {"CONCURRENT_REQUESTS": 4}

    async def start(self):
        yield scrapy.Request(self.site + "/")

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.parse_product)

    def parse_product(self, response):
        item = {"name": response.css("h1::text").get(), "kind": "delivery"}
        number = response.url.rpartition("/")[2]
        yield response.follow(f"/delivery?id={number}", self.parse_delivery,
                              cb_kwargs={"item": item})
        yield response.follow(f"/returns?id={number}", self.parse_returns,
                              meta={"item": {**item, "url": response.url}})
        yield response.follow(f"/stock?id={number}", self.parse_stock,
                              cb_kwargs={"name": item["name"]})
        yield response.follow(f"/help?id={number}", self.parse_help)

    def parse_delivery(self, response, item):
        yield {**item, "delivery": response.css("h1::text").get()}

    def parse_returns(self, response):
        item = response.meta["item"]
        item["kind"] = "returns"
        yield item

    def parse_stock(self, response, name):
        yield {"url": response.url, "name": name, "kind": "stock", "text": f"{name} is in stock"}

    def parse_help(self, response):
        yield {"url": response.url, "kind": "help"}
"""


class Shop(dict[str, Answer]):
    """Products, each with links to pages that are the same for all of them."""

    def get(self, path: str, default: Any = None) -> Any:
        name = path.partition("?")[0].strip("/")
        if not name:
            menu = "".join(f'<a href="/product/{number}">x</a>' for number in range(PRODUCTS))
            return Answer(html(article(999), "Shop", menu).encode())
        if name.startswith("product/"):
            seed = int(name.partition("/")[2])
            return Answer(html(article(seed), f"No {seed}").encode())
        return Answer(html(article(1000 + len(name)), name.capitalize()).encode())


def test_a_request_that_carries_data_is_never_skipped_and_not_counted_as_saved(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, SPIDER)
    with serving(Shop()) as site:
        crawl = project.crawl("-a", f"site={site.url}", "-s", "DEDUP_FETCH=skip")
    asked = Counter(path.partition("?")[0] for path in site.asked)
    assert "Traceback" not in crawl.log
    made = {"/delivery": PRODUCTS, "/returns": PRODUCTS, "/stock": PRODUCTS}
    assert made.items() <= asked.items()
    names = sorted(f"No {number}" for number in range(PRODUCTS))
    for kind in ("delivery", "returns", "stock"):
        assert sorted(one["name"] for one in crawl.items if one["kind"] == kind) == names, kind
    skipped = int(crawl.stat("dedup/fetch/skipped") or 0)
    assert 0 < skipped < PRODUCTS, "of the requests for /help alone, which carry nothing"
    assert asked["/help"] == PRODUCTS - skipped
    assert crawl.stat("dedup/fetch/would_lose") is None
