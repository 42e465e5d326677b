"""Items that are begun on one page and finished on another, which all of them share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np
import pytest
from pydantic import BaseModel
from scrapy import Field, Item, Request, Selector
from scrapy.http import HtmlResponse
from scrapy.loader import ItemLoader

from shingling.plugin.items.carried import Carried, carries_data
from tests.hostile.growth import calls
from tests.support.crawls import Project
from tests.support.pages import article, html, linked
from tests.support.serving import serving

if TYPE_CHECKING:
    from pathlib import Path

POET = """
import attrs
import scrapy
from web_poet import WebPage, field, handle_urls


@attrs.define
class Article:
    headline: str
    price: str
    dedup: dict | None = None


@handle_urls("")
class ArticlePage(WebPage[Article]):
    @field
    def headline(self):
        return self.css("h1::text").get()

    @field
    def price(self):
        return "9.50"


class Spider(scrapy.Spider):
    name = "spider"
    custom_settings = {"ADDONS": {"scrapy_poet.Addon": 300, "shingling.Addon": 500}}

    async def start(self):
        yield scrapy.Request(f"{self.site}/", self.parse_home)

    def parse_home(self, response):
        for link in response.css("a.article::attr(href)").getall():
            yield response.follow(link, self.parse_article)
            yield response.follow(link + "?more", self.parse_more, meta={"of": {"name": link}})

    async def parse_article(self, response, item: Article):
        yield item

    async def parse_more(self, response, page: ArticlePage):
        yield {"name": response.meta["of"]["name"], "headline": page.headline}
"""


def test_an_item_that_scrapy_poet_has_made_of_the_response_stands_for_its_page(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, POET)
    copies = {path: html(article(1), "A title") for path in ("/a", "/b", "/c")}
    more = {f"{path}?more": body for path, body in copies.items()}
    with serving({**linked(copies), **more}) as site:
        crawl = project.crawl("-a", f"site={site.url}")
    assert crawl.stat("log_count/ERROR") is None, crawl.log
    assert crawl.stat("dedup/dropped") == "2"
    assert crawl.stat("dedup/skipped/url_mismatch") == "3"
    assert sorted(item["name"] for item in crawl.items if "name" in item) == ["/a", "/b", "/c"]


# What is carried may be of any class, and as large as a page makes it.


class Odd:
    """Says nothing of itself without raising."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


class Proxy:
    """Is of no class at the moment, such as a proxy of an object that is gone."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError


@dataclass
class Part:
    name: str = ""
    price: float = 0.0
    parts: list[Part] = field(default_factory=list)


class Kind(Enum):
    PRODUCT = "product"


@attrs.frozen
class Frozen:
    name: str
    price: float
    delivery: str = ""


class Model(BaseModel):
    name: str
    price: float
    delivery: str = ""


class Product(Item):
    name = Field()
    price = Field()


class Row(NamedTuple):
    name: str
    price: float


def request(meta: dict[str, Any] | None = None, **cb_kwargs: Any) -> Request:
    return Request("https://example.com/", meta=meta, cb_kwargs=cb_kwargs)


def begun(item: Any, carried: Any) -> bool:
    """Whether an item was begun with what is carried, in `meta` and in `cb_kwargs`."""
    found = []
    for one in (request({"data": carried}), request(data=carried)):
        seen = Carried.by(one)
        found.append(seen is not None and seen.has_begun(item))
    assert found[0] == found[1]
    return found[0]


CHAIR: dict[str, Any] = {"name": "A chair", "price": 9.5}


@pytest.mark.parametrize(
    ("carried", "item"),
    [
        ({"step": 1, "found": [CHAIR], "seen": ["/a", "/b", "/c"]}, CHAIR),
        (Frozen(**CHAIR), attrs.evolve(Frozen(**CHAIR), delivery="Free")),
        (Model(**CHAIR), Model(**CHAIR).model_copy(update={"delivery": "Free"})),
        (Row(**CHAIR), {**CHAIR, "delivery": "Free"}),
        (Product(CHAIR), Product(CHAIR).copy()),
        (ItemLoader(Product(CHAIR)), Product(CHAIR)),
        ({"name": "A chair", "price": "9.5", "href": "/x"}, Part("A chair", 9.5)),
    ],
    ids=["nested", "attrs", "pydantic", "a tuple", "Item", "a loader", "converted"],
)
def test_an_item_is_begun_with_an_object_of_any_class_that_says_the_same(
    carried: Any, item: Any
) -> None:
    assert begun(item, carried)
    assert not begun({"name": "A table", "price": 3.5}, carried)


def test_an_item_is_begun_with_an_object_of_which_it_repeats_a_value_under_any_name() -> None:
    data = {"name": "A chair", "price": 9.5, "sizes": ["large", "small"], "sold": False, "n": None}
    assert begun({"title": "A chair", "cost": "9.50"}, data)
    assert begun({"title": "A table", "cost": "9.5"}, data)
    assert begun({"title": "A table", "tags": ["small"]}, data)
    assert begun({"product": {"parts": [data]}}, data)
    assert not begun({"title": "A table", "cost": "9.50"}, data)
    assert not begun({"sold": False, "n": None}, data)
    assert begun({"page": 1, "title": "A chair"}, {"page": 1})
    assert begun({"stock": 1, "title": "A chair"}, {"page": 1}), "in doubt it is kept"


def test_an_object_that_says_nothing_is_not_carried() -> None:
    empty: list[Any] = [
        *({}, {"name": "", "tags": [], "sold": False, "number": 0}, [{}], Part(), Part),
        *(Kind.PRODUCT, ["A", "chair"], ("A", 5)),
    ]
    for one in empty:
        item = {"name": "A chair", "tags": [], "kind": Kind.PRODUCT, "words": ["A", "chair"]}
        assert not begun(item, one), one
        assert not begun(one, one), one


def test_odd_classes_neither_raise_nor_hide_that_they_are_carried() -> None:
    odd = Odd()
    for carried in ({"x": odd, "y": odd}, {"x": np.zeros((2, 2))}, {"x": Proxy()}, [{"x": odd}]):
        item = carried[0] if isinstance(carried, list) else carried
        assert begun(item, carried)
        assert begun({"a": item}, carried)
        assert carries_data(request({"data": carried}))
    assert not begun({"name": "A chair"}, {"x": np.zeros((2, 2)), "y": odd})
    assert begun({"name": Proxy()}, {"x": 3}), "in doubt it is kept"
    parent = Part("A chair")
    parent.parts.append(parent)
    assert begun({"a": Part("A chair")}, parent)
    row = Selector(text="<p>A chair")
    page = HtmlResponse("https://example.com/")
    for piece in (row, row.css("p"), page, {"page": page}):
        assert begun({"name": "A chair"}, piece)


def test_what_is_carried_is_looked_at_in_bounded_steps() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"x": deep, "y": deep}
    wide = {str(number): "x" * 1000 for number in range(100_000)}
    long = {"text": "x" * 50_000_000, "more": "y" * 50_000_000}
    for carried in (deep, wide, long, [wide] * 1000):
        assert begun({"name": "A chair", **long}, carried), "in doubt it is kept"
        assert begun(carried, {"name": "A chair"}) is (carried is not long)
        assert calls(begun, {"name": "A chair", **long}, carried) < 100_000


def test_an_item_that_is_the_carried_object_was_begun_whatever_it_says_by_now() -> None:
    product = Product(name="A chair")
    loader = ItemLoader(Product(price=3))
    for carried, item in ((product, product), (loader, loader.item)):
        seen = Carried.by(request({"data": carried}))
        assert seen is not None
        item["name"], item["price"] = "A table", 4
        assert seen.has_begun(item)
        assert not seen.has_begun(Product(item))


@pytest.mark.parametrize(
    "name", ["splash", "_splash_processed", "playwright_page_methods", "zyte_api_automap"]
)
def test_what_downloaders_read_is_not_data(name: str) -> None:
    options = {name: {"wait": "long enough"}}
    assert not carries_data(request(options))
    assert Carried.by(request(options)) is None
    assert carries_data(request({**options, "item": {"name": "A chair"}}))


def test_plain_values_are_data_in_cb_kwargs_alone() -> None:
    plain: dict[str, Any] = {"page": 3, "tags": ["a", "b"], "kind": Kind.PRODUCT, "n": None}
    assert not carries_data(request(plain))
    assert carries_data(request(**plain))
    assert Carried.by(request(**plain)) is None
    assert carries_data(request({"lock": asyncio.Event()}))
    assert not carries_data(request({"inject": [Part, Model]})), "classes, for scrapy-poet"
