"""Real projects by what their spiders yield: nothing unique is lost, and the log says why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugin.projects.user_project import values, warnings_in
from tests.support.pages import article, edited, html, linked, links
from tests.support.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.plugin.projects.user_project import Projects


# The spider of Scrapy's tutorial: pages of ten items, with texts of their own and without a URL.

QUOTES = [f"“{article(number, 15)}.”" for number in range(28)]
QUOTES += [f"“To write {name} {article(50, 8)}.”" for name in ("C", "C++")]
SHARED = QUOTES[0]


def quotes_page(number: int) -> str:
    quotes = [SHARED, *QUOTES[21:]] if number == 3 else QUOTES[number * 10 - 10 : number * 10]
    shown = "".join(
        f'<div class="quote"><span class="text">{quote}</span><span>by <small class="author">'
        f'An Author</small></span><div class="tags">Tags: <a class="tag">life</a></div></div>'
        for quote in quotes
    )
    pager = f'<li class="next"><a href="/page/{number + 1}/">Next</a></li>' if number < 3 else ""
    return (
        f"<!DOCTYPE html><html><head><title>Quotes to Scrape</title></head><body>{shown}"
        f"<nav><ul>{pager}</ul></nav></body></html>"
    )


def test_every_quote_of_the_tutorial_comes_out_and_is_unchanged_in_the_next_crawl(
    project: Projects,
) -> None:
    quotes = project("quotes")
    unique = sorted({*QUOTES} - {QUOTES[20]})
    with serving({f"/page/{number}/": quotes_page(number) for number in (1, 2, 3)}) as site:
        first = quotes.crawl("quotes", site.url)
        second = quotes.crawl("quotes", site.url)
    assert len(unique) == 29, "of 30 quotes on 3 pages, one stands on two of them"
    assert sorted({item["text"] for item in first.items}) == unique
    assert len(first.items) in (29, 30)
    assert first.stat("dedup/checked") == "30"
    assert first.stat("dedup/skipped/short") == "29"
    assert first.stat("dedup/exact") == "1"
    assert sorted({item["text"] for item in second.items}) == unique
    assert second.stat("dedup/unchanged") == "30"
    (warning,) = warnings_in(first)
    assert "29 of 30 items (short)" in warning
    assert not warnings_in(second)


# List pages of products, each with a URL of its own and no text.

PRODUCTS = 100


def list_page(number: int) -> str:
    shown = "".join(
        f'<article class="product"><h2><a href="/product/{product}">'
        f"The {article(product, 3)}</a></h2><p>{article(product, 12).capitalize()}.</p>"
        f'<p>Now for <span class="price">{product + 0.5} €</span></p></article>'
        for product in range(number * 20 - 20, number * 20)
    )
    return (
        f"<!DOCTYPE html><html><head><title>Products {number}</title></head>"
        f"<body><main><h1>Products, page {number}</h1>{shown}</main></body></html>"
    )


LISTS = [f"/list/{number}" for number in range(1, 6)]
AGAIN = "/list/1?sort=name"


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    pages = {path: list_page(number) for number, path in enumerate(LISTS, 1)}
    pages[AGAIN] = pages[LISTS[0]]
    with serving({"/": links([*LISTS, AGAIN], "list"), **pages}) as site:
        yield site.url


def test_every_product_of_a_list_comes_out_and_one_warning_says_what_to_do(
    project: Projects, shop: str
) -> None:
    crawl = project("shop").crawl("products", shop)
    assert len({item["url"] for item in crawl.items}) == PRODUCTS
    assert len(crawl.items) == PRODUCTS + 20, "those of the page that stands there twice as well"
    assert crawl.stat("dedup/dropped") is None
    assert crawl.stat("dedup/checked") == "6"
    assert crawl.stat("dedup/new") == "5"
    (warning,) = warnings_in(crawl)
    assert 'DEDUP_MULTI_ITEM_PAGES = "drop"' in warning
    assert "DEDUP_TEXT_FIELD" in warning


def test_the_items_of_a_duplicate_list_are_dropped_where_that_is_asked_for(
    project: Projects, shop: str
) -> None:
    crawl = project("shop").crawl("products", shop, "-s", "DEDUP_MULTI_ITEM_PAGES=drop")
    assert len(crawl.items) == PRODUCTS
    assert len({item["url"] for item in crawl.items}) == PRODUCTS
    assert crawl.stat("dedup/dropped") == "20"
    assert crawl.stat("dedup/exact") == "1"
    assert not warnings_in(crawl)


# Pages that yield an article, its author and three images, each with a URL of its own.


def test_an_article_with_the_text_of_another_is_dropped_and_its_author_and_images_stay(
    project: Projects,
) -> None:
    pages = {}
    for number, text in enumerate((article(1), article(1), article(2))):
        images = "".join(f'<img src="/image/{number}-{image}.png" alt="">' for image in (1, 2, 3))
        by = f'<a class="author" href="/author/{number}">Author {number}</a>'
        shown = html(text, "The headline").replace("</article>", f"{images}</article>{by}")
        pages[f"/article/{number}"] = shown
    with serving(linked(pages)) as site:
        crawl = project("magazine").crawl("with_text", site.url)
    assert len({item["url"] for item in crawl.items}) == 14
    kinds = [item["type"] for item in crawl.items]
    assert {kind: kinds.count(kind) for kind in kinds} == {"article": 2, "author": 3, "image": 9}
    assert len({item["text"] for item in crawl.items if item["type"] == "article"}) == 2
    assert crawl.stat("dedup/dropped") == "1"


# Items that are begun in one callback and finished in another.


def test_an_item_finished_on_a_page_that_all_share_is_kept_and_the_log_says_why(
    project: Projects,
) -> None:
    pages = {f"/article/{number}": html(article(number), f"No {number}") for number in range(5)}
    delivery = html("We deliver everything within three working days. " * 9, "Delivery")
    with serving({**linked(pages), "/delivery": delivery}) as site:
        callbacks = project("callbacks")
        crawl = callbacks.crawl("offers", site.url)
    assert values(crawl.items, "headline") == [f"No {number}" for number in range(5)]
    assert {item["delivery"] for item in crawl.items} == {"Delivery"}
    assert crawl.stat("dedup/skipped/url_mismatch") == "5"
    assert callbacks.stored()["pages"] == []
    (warning,) = warnings_in(crawl)
    assert "5 of 5 items (url_mismatch)" in warning
    assert "DEDUP_TEXT_FIELD" in warning


def test_an_item_that_comes_between_the_requests_of_its_callback_is_decided_by_its_page(
    project: Projects,
) -> None:
    texts = {"/a": article(1), "/edited": edited(article(1)), "/b": article(2), "/c": article(3)}
    more = links(["/c"], "more").partition("<body>")[2]
    pages = {
        path: html(text, "A title").replace("</body>", f"{more}</body>")
        for path, text in texts.items()
    }
    with serving({**pages, "/": links(["/a", "/edited", "/b"])}) as site:
        crawl = project("callbacks").crawl("late", site.url)
    came = {item["url"].removeprefix(site.url) for item in crawl.items}
    assert came in ({"/a", "/b", "/c"}, {"/edited", "/b", "/c"})
    assert len(crawl.items) == 3
    assert crawl.stat("dedup/near") == "1"
    assert not warnings_in(crawl)


# Items of all classes.

CLASSES = ("pydantic", "attrs_", "dataclass_", "item", "plain", "loaded")


@pytest.fixture(scope="module")
def classes() -> Iterator[str]:
    pages, index = {}, []
    for number, name in enumerate(CLASSES):
        text = article(100 + number)
        texts = {"one": text, "edited": edited(text), "other": article(200 + number)}
        for kind, body in texts.items():
            pages[f"/{name}/{kind}"] = html(body, f"About {name}")
            index.append(f'<a class="article" title="{name}" href="/{name}/{kind}">{kind}</a>')
    home = f"<!DOCTYPE html><html><title>Home</title><body>{' '.join(index)}</body></html>"
    with serving({"/": home, **pages}) as site:
        yield site.url


def came_of(items: Iterable[dict[str, Any]], site: str) -> dict[str, list[str]]:
    """Return by class the kinds of its items; an item loader has left a URL in a list."""
    kinds: dict[str, list[str]] = {}
    for item in items:
        url = item["url"][0] if isinstance(item["url"], list) else item["url"]
        name, kind = url.removeprefix(f"{site}/").split("/")
        kinds.setdefault(name, []).append(kind)
    return {name: sorted(kinds[name]) for name in sorted(kinds)}


@pytest.mark.parametrize("spider", ["replaced", "copied"])
def test_items_of_every_class_are_dropped_for_their_own_page(
    project: Projects, classes: str, spider: str
) -> None:
    crawl = project("classes").crawl(spider, classes)
    came = came_of(crawl.items, classes)
    assert set(came) == set(CLASSES)
    for name, kinds in came.items():
        assert kinds in (["one", "other"], ["edited", "other"]), name
    assert crawl.stat("dedup/new") == "12"
    assert crawl.stat("dedup/near") == "6"
    assert crawl.stat("dedup/errors/result_field") is None
    for item in crawl.items:
        if "dedup" in item:
            assert item["dedup"]["status"] == "new"
    assert not warnings_in(crawl)


def test_items_of_every_class_that_has_the_field_are_tagged_and_the_others_kept(
    project: Projects, classes: str
) -> None:
    crawl = project("classes").crawl("articles", classes, "-s", "DEDUP_ACTION=tag")
    assert set(came_of(crawl.items, classes)) == set(CLASSES)
    assert len(crawl.items) == 18
    tagged = [item["dedup"]["status"] for item in crawl.items if "dedup" in item]
    assert sorted(tagged) == ["near"] * 5 + ["new"] * 10, "of all classes but one"
    plain = [item for item in crawl.items if "dedup_status" in item]
    assert len(plain) == 12, "those of four classes"
    for item in plain:
        assert item["dedup_status"] == item["dedup"]["status"]
        assert item.get("dedup_resemblance") == item["dedup"]["resemblance"]
        assert item["dedup"]["duplicate"] is (item["dedup_status"] == "near")
    (warning,) = warnings_in(crawl)
    assert "PlainArticle does not take the field 'dedup'" in warning
    assert "DEDUP_RESULT_FIELD" in warning
    assert crawl.stat("dedup/errors/result_field") == "3"


# A single-page application: all pages have the same words, and the data is in a script.


def test_products_that_a_page_has_in_a_script_are_kept_though_its_words_are_those_of_all(
    project: Projects,
) -> None:
    shell = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>'
        "<body><noscript>You need to enable JavaScript to run this app.</noscript>"
        '<div id="root"></div><script id="state" type="application/json">{}</script></body></html>'
    )
    pages = {
        f"/product/{number}": shell.replace(
            "{}", json.dumps({"name": article(number, 3), "price": number})
        )
        for number in range(6)
    }
    with serving(linked(pages)) as site:
        crawl = project("app").crawl("products", site.url)
    assert values(crawl.items, "price") == [*range(6)]
