"""The title of an item is its title, whatever its shape and whatever its page has."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import Crawl, Project
from tests.support.pages import article, html

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = '''
import json
from dataclasses import dataclass

import scrapy
from itemloaders import ItemLoader


class Product(scrapy.Item):
    url = scrapy.Field()
    title = scrapy.Field()


@dataclass
class Record:
    url: str
    title: str


def loaded(url, title):
    loader = ItemLoader()
    loader.add_value("url", url)
    loader.add_value("title", title)
    return loader.load_item()


SHAPES = {
    "dict": lambda url, title: {"url": url, "title": title},
    "item": lambda url, title: Product(url=url, title=title),
    "dataclass": Record,
    "loader": loaded,
    "int": lambda url, title: {"url": url, "title": int.from_bytes(title.encode())},
    "mapping": lambda url, title: {"url": url, "title": {"en": title}},
    "marks": lambda url, title: {"url": url, "title": "!" * len(title)},
    "heading": lambda url, title: {"url": url, "heading": title, "title": None},
    "none": lambda url, title: {"url": url, "title": None},
}


class Spider(scrapy.Spider):
    """Yields an item of a shape for each page, which has its title from the heading."""

    name = "spider"

    async def start(self):
        for url in self.urls.split(","):
            yield scrapy.Request(url)

    def parse(self, response):
        shape = self.shape or response.url.split("/")[4]
        yield SHAPES[shape](response.url, response.css("h1::text").get())
'''

NAMES = ["Blue kettle", "Garden bench for two", "Lamp"]
TEXT = article(1, 60)
ONE_BY_ONE = ("-s", "CONCURRENT_REQUESTS=1", "-s", "DEDUP_ACTION=tag")


SHAPES = ["dict", "item", "dataclass", "loader", "int", "mapping", "marks"]


def page(name: str, title: str, text: str = TEXT) -> str:
    return html(text, "").replace("<title>", f"<title>{title}").replace("<h1>", f"<h1>{name}")


PAGES = {f"/one/{n}": page(name, "Our shop") for n, name in enumerate(NAMES)}
PAGES["/mirror"] = PAGES["/one/0"]
for number, shape in enumerate(SHAPES, 2):
    for kind, title in (("one", "Our shop"), ("no", "")):
        for n, name in enumerate(NAMES):
            PAGES[f"/{kind}/{shape}/{n}"] = page(name, title, article(number, 60))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, SPIDER)


def crawl(project: Project, urls: list[str], shape: str, *options: str) -> Crawl:
    arguments = ("-a", f"urls={','.join(urls)}", "-a", f"shape={shape}", *ONE_BY_ONE, *options)
    return project.crawl(*arguments)


@pytest.mark.parametrize("kind", ["one", "no"])
def test_pages_with_one_title_or_none_come_out_if_their_items_have_others(
    project: Project, site: str, kind: str
) -> None:
    urls = [f"{site}/{kind}/{shape}/{n}" for shape in SHAPES for n in range(3)]
    done = crawl(project, urls, "", "-s", "DEDUP_ACTION=drop")
    # A loader leaves a URL in a list.
    shapes = Counter("".join(item["url"]).split("/")[4] for item in done.items)
    assert shapes == dict.fromkeys(SHAPES, 3)


def test_the_titles_of_items_count_on_other_sites(project: Project, site: str) -> None:
    urls = [f"{site}/one/0", f"{site}/one/1".replace("127.0.0.1", "localhost")]
    done = crawl(project, urls, "dict", "-s", "DEDUP_ACTION=drop")
    assert [item["title"] for item in done.items] == NAMES[:2]


def test_items_without_titles_have_that_of_their_page(project: Project, site: str) -> None:
    done = crawl(project, [f"{site}/one/{n}" for n in range(3)], "none")
    assert [item["dedup"]["status"] for item in done.items] == ["new", "near", "near"]
    assert {page["title"] for page in project.dedup("list")} == {"Our shop"}


@pytest.mark.parametrize("options", [(), ("-s", "DEDUP_FETCH=skip")])
def test_pages_whose_titles_are_those_of_items_are_known_again(
    project: Project, site: str, options: tuple[str, ...]
) -> None:
    urls = [f"{site}/one/{n}" for n in range(3)]
    crawls = [crawl(project, urls, "dict", *options) for _ in range(3)]
    first, *later = (int(one.stat("dedup/known_bodies") or 0) for one in crawls)
    assert min(later) >= 3, "a page that is looked at twice may be known once more"
    assert (first, *later) == (0, 3, 3) or options
    assert {item["dedup"]["status"] for item in crawls[2].items} == {"unchanged"}


@pytest.mark.parametrize("first", ["dict", "none"])
def test_no_item_gets_the_title_of_another_one_with_the_same_bytes(
    project: Project, site: str, first: str
) -> None:
    second = "none" if first == "dict" else "dict"
    filled = ("-s", "DEDUP_FILL_FIELDS=title,language")
    done = [
        crawl(project, [url], shape, *filled)
        for (shape, url), _ in product(
            [(first, f"{site}/one/0"), (second, f"{site}/mirror")], range(2)
        )
    ]
    titles = {"dict": "Blue kettle", "none": "Our shop"}
    assert [one.items[0]["title"] for one in done] == [
        titles[shape] for shape in (first, first, second, second)
    ]
    stored = {page["url"]: page["title"] for page in project.dedup("list")}
    assert stored == {f"{site}/one/0": titles[first], f"{site}/mirror": titles[second]}
    known = [one.stat("dedup/known_bodies") for one in done]
    assert known == ["0", "1", "1", "1"]


def test_a_title_that_is_filled_is_that_of_the_page_if_that_of_the_item_is_in_another_field(
    project: Project, site: str
) -> None:
    options = ("-s", "DEDUP_TITLE_FIELD=heading", "-s", "DEDUP_FILL_FIELDS=title")
    for known in ("0", "1"):
        done = crawl(project, [f"{site}/one/0"], "heading", *options)
        assert [(one["heading"], one["title"]) for one in done.items] == [
            ("Blue kettle", "Our shop")
        ]
        assert done.stat("dedup/known_bodies") == known
    assert [page["title"] for page in project.dedup("list")] == ["Blue kettle"]
