"""Which document an item stands for: what is compared, under which URL, and what may be dropped.

A verdict is about a *document*: the text of an item, or the page that the item stands for. An item
is dropped only because of its own document:

1. An item with text or HTML of its own is a document by itself, however many items came from its
   response. It is stored under its URL if it is the only item of its response, or if it has a URL
   that no earlier item had; otherwise under the URL of the response with a hash of the text after
   `#`. Its title is that of the item or, if the item has none, that of the page.
2. The only item of a response, without text or HTML of its own, stands for the page if its URL is
   that of the page, and gives the page its title. If its URL is another one, the item is kept, and
   skipped with the reason `url_mismatch`.
3. Several items of one response without text or HTML of their own are tagged with the verdict on
   the page, which has its own title. They are dropped only with `DEDUP_MULTI_ITEM_PAGES = "drop"`.
4. Documents of one response are never duplicates of each other, nor of the page.
5. An item that its request has carried, without text or HTML of its own and without the URL of the
   response, was begun elsewhere: it is kept, with the reason `url_mismatch`.
6. An item has text of its own in a field that a setting names, or in a field that holds most of the
   main text of its page and little else. Any other item is a record of its page. The data of items
   with text and of records are compared by different rules.
7. All items of a response whose status is not 2xx are kept, with the reason `http_status`, because
   the page is not the one that was asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from html import unescape
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urldefrag, urljoin

from itemadapter import ItemAdapter

from shingling.rules.reasons import Reason
from shingling.rules.values import own_fields, plain_parts
from shingling.similarity.measures import overlap
from shingling.sketch import fingerprint_set
from shingling.store.urls import MAX_URL_CHARS, safe_url
from shingling.text import bounded, title_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.http import Response

    from shingling.plugin.middleware import ItemSource
    from shingling.plugin.settings import DedupSettings
    from shingling.rules.own_fields import OwnFields
    from shingling.sketch import Scheme
    from shingling.text import PreparedText

_MAX_TITLE_CHARS = 2000
_FEWEST_TEXT_CHARS = 20  # of a field that may hold the main text of a page
_MOST_TEXT_CHARS = 200_000
_MAX_TEXT_FIELDS = 4  # of an item: text, HTML, and what else there is of it
_TAG = re.compile(r"<[^<>]*>")


class Kind(Enum):
    """What a document is, seen from the item that stands for it."""

    ITEM = "the item's own text or HTML"
    PAGE = "the page that the item is the only one of"
    LIST = "a page of several items"


@dataclass(frozen=True)
class Document:
    """What is compared and stored under one identity.

    Args:
        kind: what it is.
        url: its identity; None is the response's URL with a hash of the text behind `#`.
        source: URL of the response that it is a part of; None for pages, and for the only item of
            a response.
        title: the item's own; None takes the page's.
        text: the item's own main text; None if the main text is still in HTML.
        html: the item's own HTML; None takes the body of the response.
        canonical: URL that the page must declare as canonical, because nothing else says that it is
            the page's; None if there is no doubt.
        own_fields: what else the item says; None if it is one of several of a page.
        strings: of its fields, by name, which may hold the main text of its page.
    """

    kind: Kind
    url: str | None
    source: str | None = None
    title: str | None = None
    text: str | None = None
    html: str | bytes | None = None
    canonical: str | None = None
    own_fields: OwnFields | None = None
    strings: Mapping[str, str] = field(default_factory=dict)


def choose_document(
    item: Any,
    source: ItemSource | None,
    settings: DedupSettings,
    urls_before: set[str],
    began: float | None = None,
) -> Document | Reason:
    """Choose the document of an item.

    Args:
        item: of any class that itemadapter knows.
        source: where the item came from; None if that is not known.
        settings: name its fields.
        urls_before: URLs that documents of its response have; that of the item is added.
        began: when the crawl began, seconds since 1970.

    Returns:
        The document, or why the item has none that could be compared.
    """
    adapter = ItemAdapter(item)
    response = None if source is None else source.response
    own = own_document(adapter, settings)
    if source is None or response is None:
        if own.text is None and own.html is None:
            return Reason.NO_CONTENT if own.url else Reason.NO_URL
        chosen: Document | Reason = own if own.url else Reason.NO_URL
    else:
        chosen = _of_response(own, item, source, response, urls_before)
    if isinstance(chosen, Reason) or chosen.kind is Kind.LIST:
        return chosen
    others = {*settings.taken_fields}
    title = settings.title_field, adapter.get(settings.title_field)
    if own.title is None:  # what cannot be read as a title is data
        others.discard(settings.title_field)
    values = [
        (name, value)
        for name, value in adapter.items()
        if name not in others and value is not response
    ]
    urls = [chosen.url] if chosen.url else []
    if response is not None:
        urls += _urls_of(response)
    is_document = chosen.kind is Kind.ITEM
    digests = own_fields(
        values,
        urls,
        title=None if is_document or own.title is None else title,
        is_document=is_document,
        began=began,
        arrived=None if source is None else source.arrived,
    )
    digests.has_title = is_document and own.title is not None
    strings = {} if is_document else _strings_of(values)
    return replace(chosen, own_fields=digests, strings=strings)


def own_document(adapter: ItemAdapter, settings: DedupSettings) -> Document:
    """Read URL, title, text and HTML of an item, from fields of any types."""
    return Document(
        Kind.ITEM,
        url=_url(adapter.get(settings.url_field)),
        title=_title(adapter.get(settings.title_field)),
        text=_first(_text, adapter, settings.text_fields),
        html=_first(_html, adapter, settings.html_fields),
    )


def text_fields(strings: Mapping[str, str], main_text: PreparedText, scheme: Scheme) -> list[str]:
    """Names of the fields that hold most of a main text, and little else.

    Args:
        strings: of the fields, with or without markup.
        main_text: of the page.
        scheme: of the shingles that are counted.
    """
    characters = main_text.characters.sum()  # the text itself is packed
    long_enough = [name for name, string in strings.items() if 3 * len(string) > characters]
    if not long_enough:
        return []
    wanted, names = fingerprint_set(main_text.text, scheme), []
    for name in long_enough:
        text = strings[name]
        if "<" in text or "&" in text:
            text = unescape(_TAG.sub(" ", text))
        both = overlap(fingerprint_set(text, scheme), wanted)
        if 2 * both.shared > max(both.a, both.b):
            names.append(name)
    return names


def _strings_of(values: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Texts of fields that are long enough to be the main text of a page; the longest ones."""
    strings = {name: text for name, value in values if (text := _text(value))}
    longest = sorted(strings, key=lambda name: -len(strings[name]))[:_MAX_TEXT_FIELDS]
    return {
        name: strings[name]
        for name in longest
        if _FEWEST_TEXT_CHARS <= len(strings[name]) <= _MOST_TEXT_CHARS
    }


def _of_response(
    own: Document, item: Any, source: ItemSource, response: Response, urls_before: set[str]
) -> Document | Reason:
    """Choose the document of an item that came from a response."""
    if response.request is not None and response.meta.get("dedup") is False:
        return Reason.OPTED_OUT
    if not (200 <= response.status < 300 or response.status == HTTPStatus.NOT_MODIFIED):
        return Reason.HTTP_STATUS
    url = _joined(response, own.url)
    if own.text is not None or own.html is not None:
        if source.is_only_item:
            return replace(own, url=url or response.url)
        if url in (None, response.url) or url in urls_before:
            return replace(own, url=None, source=response.url)
        urls_before.add(url)
        return replace(own, url=url, source=response.url)
    has_its_url = url is not None and any(
        is_same_page(url, of_response) for of_response in _urls_of(response)
    )
    if not has_its_url and source.carried is not None and source.carried.has_begun(item):
        return Reason.URL_MISMATCH
    if not source.is_only_item:
        return Document(Kind.LIST, response.url)
    if url is None or has_its_url:
        return Document(Kind.PAGE, url or response.url, title=own.title)
    return Document(Kind.PAGE, url, title=own.title, canonical=url)


def _url(value: Any) -> str | None:
    """URL of any class; of an item loader's list, the first."""
    if isinstance(value, (list, tuple)):
        value = next(iter(value), None)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if value is None:
        return None
    url = str(value).strip()
    return (bounded(url) if len(url) <= MAX_URL_CHARS else safe_url(url)) or None


def _title(value: Any) -> str | None:
    """Title of a field; None if it has no words that titles are compared by."""
    title = (_text(value) or "")[:_MAX_TITLE_CHARS]
    return title if title_key(title) else None


def _first(read: Callable[[Any], Any], adapter: ItemAdapter, names: Iterable[str]) -> Any:
    """Read the first of some fields that is not empty."""
    values = (read(adapter.get(name)) for name in names)
    return next((value for value in values if value is not None), None)


def _text(value: Any) -> str | None:
    """Text of a field; an item loader's list has it in pieces."""
    if isinstance(value, (list, tuple)):
        pieces = value if set(map(type, value)) == {str} else filter(None, map(_text, value))
        return "\n".join(filter(str.strip, pieces)) or None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) and value.strip() else None


def _html(value: Any) -> str | bytes | None:
    if isinstance(value, bytes):
        return value if value.strip() else None
    return _text(value)


def url_of_part(page_url: str, text_hash: bytes) -> str:
    """URL under which a part of a page is stored that has none, by the hash of its text."""
    return f"{urldefrag(page_url).url}#{text_hash.hex()}"


def is_same_page(a: str, b: str) -> bool:
    """Whether two URLs are of one page, as far as URLs tell.

    They have the same host and path; scheme, `www.`, a slash at the end and the fragment do not
    count. Parameters that only one of them has do not count either, but one that both have must
    have the same value: `?id=1` is not the page of `?id=2`.
    """
    if a == b:
        return True
    first, second = _split(a), _split(b)
    if first is None or second is None or first[:2] != second[:2]:
        return False
    return all(first[2][name] == second[2][name] for name in first[2].keys() & second[2].keys())


def _urls_of(response: Response) -> list[str]:
    urls = [response.url]
    if response.request is not None:
        urls += [response.request.url, *response.meta.get("redirect_urls", ())]
    return [*map(str, urls)]


def _joined(response: Response, url: str | None) -> str | None:
    """URL of an item; a relative one begins where its response is."""
    if url is None:
        return None
    try:
        return urljoin(response.url, url)
    except ValueError:
        return url


def _split(url: str) -> tuple[str, str, dict[str, list[str]]] | None:
    """Host, path and parameters of a URL; None if it has none."""
    if len(url) > MAX_URL_CHARS:
        return None
    try:
        host, path, query = plain_parts(url)
        return host, path, parse_qs(query, keep_blank_values=True)
    except ValueError:
        return None
