"""Which document an item stands for."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from itemadapter import ItemAdapter
from scrapy.http import HtmlResponse, Request
from scrapy.settings import Settings

from shingling import Reason
from shingling.plugin.items.documents import (
    Document,
    Kind,
    choose_document,
    is_same_page,
    own_document,
    text_fields,
    url_of_part,
)
from shingling.plugin.middleware import ItemSource
from shingling.plugin.settings import DedupSettings
from shingling.sketch import Scheme
from shingling.text import PreparedText
from tests.support.pages import article

if TYPE_CHECKING:
    from shingling.rules.own_fields import OwnFields

SETTINGS = DedupSettings.from_settings(Settings())
PAGE = "https://example.com/articles/7"
TEXT = "a text of its own"


def response(url: str = PAGE, **meta: Any) -> HtmlResponse:
    return HtmlResponse(url, body=b"<p>hello", request=Request(url, meta=meta))


def document_of(
    item: dict[str, Any],
    *,
    only: bool = True,
    page: HtmlResponse | None = None,
    before: set[str] | None = None,
) -> Document | Reason:
    source = ItemSource(page or response(), is_only_item=only)
    return chosen(item, source, set() if before is None else before)


def chosen(item: dict[str, Any], source: ItemSource | None, before: set[str]) -> Document | Reason:
    """Choose the document of an item, without its own fields, which other tests are about."""
    document = choose_document(item, source, SETTINGS, before)
    return replace(document, own_fields=None) if isinstance(document, Document) else document


def test_an_item_stands_for_its_page_for_a_list_or_for_itself() -> None:
    assert document_of({"name": "no url"}) == Document(Kind.PAGE, PAGE)
    assert document_of({"url": PAGE}) == Document(Kind.PAGE, PAGE)
    # Only if the page declares that URL, which is not known yet.
    other = document_of({"url": "https://example.com/articles/8"})
    assert isinstance(other, Document)
    assert other.canonical == "https://example.com/articles/8"
    redirected = response(redirect_urls=["https://example.com/old", "https://short.example/x"])
    chosen = document_of({"url": "https://short.example/x"}, page=redirected)
    assert chosen == Document(Kind.PAGE, "https://short.example/x")
    relative = document_of({"url": "/articles/7"})
    assert relative == Document(Kind.PAGE, PAGE), "a relative URL begins at the response's"
    assert document_of({"url": "/product/1"}, only=False) == Document(Kind.LIST, PAGE)
    own = document_of({"html": b"<p>text"}, only=False)
    assert own == Document(Kind.ITEM, None, source=PAGE, html=b"<p>text")


@pytest.mark.parametrize("title", ["Blue kettle", ["Blue kettle"], b"Blue kettle"])
def test_the_only_item_of_a_page_brings_its_title_to_it(title: Any) -> None:
    page = Document(Kind.PAGE, PAGE, title="Blue kettle")
    assert document_of({"title": title}) == page
    assert document_of({"url": PAGE, "title": title}) == page
    other = document_of({"url": "/other", "title": title})
    assert isinstance(other, Document)
    assert (other.canonical, other.title) == ("https://example.com/other", "Blue kettle")
    assert document_of({"title": title}, only=False) == Document(Kind.LIST, PAGE)


@pytest.mark.parametrize("title", [5, {"en": "Blue kettle"}, "!?", object(), True])
@pytest.mark.parametrize("text", [None, TEXT])
def test_what_is_no_title_is_data_of_its_item(title: Any, text: str | None) -> None:
    source = ItemSource(response(), is_only_item=True)
    document = choose_document({"title": title, "text": text}, source, SETTINGS, set())
    assert isinstance(document, Document)
    assert document.title is None
    assert document.own_fields is not None
    assert document.own_fields.has_data


def test_an_item_with_text_is_a_document_of_its_own() -> None:
    own = document_of({"url": "/other", "text": TEXT, "title": "Its title"})
    url = "https://example.com/other"
    assert own == Document(Kind.ITEM, url, title="Its title", text=TEXT)
    assert document_of({"text": TEXT}) == Document(Kind.ITEM, PAGE, text=TEXT)


def test_of_several_items_with_text_only_a_url_of_its_own_is_an_identity() -> None:
    before: set[str] = set()
    urls = ["/a", "/a", PAGE, None, "/b"]
    chosen = [document_of({"url": url, "text": TEXT}, only=False, before=before) for url in urls]
    assert [one.url for one in chosen if isinstance(one, Document)] == [
        "https://example.com/a",
        None,  # an item before it had this URL
        None,  # of the page, not of the item
        None,
        "https://example.com/b",
    ]
    assert {one.source for one in chosen if isinstance(one, Document)} == {PAGE}


def test_a_document_without_a_url_is_named_by_its_page_and_text() -> None:
    assert url_of_part(f"{PAGE}#top", b"\x01" * 16) == f"{PAGE}#{'01' * 16}"


def test_items_without_response_are_compared_only_with_text_and_url() -> None:
    for source in (None, ItemSource(None, is_only_item=True)):
        assert chosen({"url": "/x"}, source, set()) == Reason.NO_CONTENT
        assert chosen({"text": TEXT}, source, set()) == Reason.NO_URL
        assert chosen({"name": "x"}, source, set()) == Reason.NO_URL
        own = chosen({"url": PAGE, "text": TEXT}, source, set())
        assert own == Document(Kind.ITEM, PAGE, text=TEXT)


def test_the_response_of_an_item_says_nothing_and_any_other_response_counts() -> None:
    def own_fields(item: dict[str, Any], page: HtmlResponse) -> OwnFields | None:
        document = choose_document(item, ItemSource(page, is_only_item=True), SETTINGS, set())
        assert isinstance(document, Document)
        return document.own_fields

    pages = response(), response(f"{PAGE}/copy")
    sizes = [own_fields({"response": page, "size": 5}, page) for page in pages]
    assert sizes[0] == sizes[1] == own_fields({"size": 5}, pages[0])
    assert own_fields({"response": pages[1], "size": 5}, pages[0]) != sizes[0]


@dataclass
class Url:
    """A class of URLs, as pydantic has one."""

    url: str

    def __str__(self) -> str:
        return self.url


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"url": Url(PAGE)}, {"url": PAGE}),
        ({"url": [PAGE]}, {"url": PAGE}),
        ({"url": PAGE.encode()}, {"url": PAGE}),
        ({"url": ""}, {}),
        ({"url": []}, {}),
        ({"text": ["one", "two"]}, {"text": "one\ntwo"}),
        ({"text": "  \n"}, {}),
        ({"text": 5}, {}),
        ({"text": {"de": "eins"}}, {}),
        ({"text": b"one"}, {"text": "one"}),
        ({"html": b"<p>"}, {"html": b"<p>"}),
        ({"title": None}, {}),
    ],
)
def test_fields_are_read_whatever_their_types(
    item: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert own_document(ItemAdapter(item), SETTINGS) == Document(
        Kind.ITEM, **{"url": None, **expected}
    )


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("http://example.com/a", "https://www.example.com/a/", True),
        ("https://example.com/a", "https://EXAMPLE.com:443/a#top", True),
        ("https://example.com/a?id=1&utm_source=x", "https://example.com/a?id=1", True),
        ("https://example.com/a%20b", "https://example.com/a b", True),
        ("https://example.com/?id=1", "https://example.com/?id=2", False),
        ("https://example.com/a", "https://example.com/A", False),
        ("https://example.com/a", "https://example.com:8080/a", False),
        ("https://example.com/a", "http://[broken/a", False),
        ("https://example.com/a", "https://example.com:port/a", False),
        ("https://example.com/a", "https://example.com/a?" + "x" * 10_000, False),
        ("no url", "no url", True),
    ],
)
def test_urls_are_of_one_page_by_host_path_and_what_parameters_both_have(
    a: str, b: str, same: bool
) -> None:
    assert is_same_page(a, b) is same
    assert is_same_page(b, a) is same


def test_the_main_text_is_unpacked_only_for_a_field_that_may_hold_most_of_it() -> None:
    scheme, whole = Scheme(), article(1)
    page = pickle.loads(pickle.dumps(PreparedText(whole).ready(scheme.canonical)))  # noqa: S301
    assert text_fields({"title": "The road over the mountain"}, page, scheme) == []
    assert "text" not in vars(page)
    assert text_fields({"title": "The road over the mountain", "body": whole}, page, scheme) == [
        "body"
    ]
