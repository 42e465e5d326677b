"""Which document an item stands for: what is compared, under which URL, and what may be dropped.

A verdict is on a *document*, and an item is dropped only for its own document:

1. An item with text or HTML of its own is a document of its own, however many items came from its
   response. Its identity is its URL, if it is the only item of its response, or if it brings a
   URL of its own that no item before it had; else the URL of the response with a hash of the text
   behind `#`. Its title is the item's, or else the page's.
2. The only item of a response, without content of its own, stands for the page, if its URL is the
   page's. If it is not, the item is kept, and skipped with the reason `not_its_page`.
3. Several items of one response without content of their own are tagged with the verdict on the
   page. They are dropped only with `DEDUP_LISTS = "drop"`.
4. Documents of one response are never duplicates of each other, nor of its page.
5. An item that its request has carried, without content of its own and without the URL of the
   response, was begun elsewhere: it is kept, with the reason `not_its_page`.
6. Items of a response whose status is not 2xx are kept, whatever they have, with the reason
   `http_status`: the page is not the one that was asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote, urldefrag, urljoin, urlsplit

from shingling.rules.own_fields import own_fields
from shingling.store.urls import MAX_URL_CHARS, safe_url
from shingling.text import bounded

if TYPE_CHECKING:
    from collections.abc import Callable

    from itemadapter import ItemAdapter
    from scrapy.http import Response

    from shingling.plugin.middleware import Source
    from shingling.plugin.settings import DedupSettings
    from shingling.rules.own_fields import OwnFields

_MAX_TITLE_CHARS = 2000
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Kind(Enum):
    """What a document is, seen from the item that stands for it."""

    ITEM = "the item's own text or HTML"
    PAGE = "the page that the item is the only one of"
    LIST = "a page of several items"


class Fields(NamedTuple):
    """What an item says of itself; None where it says nothing.

    Args:
        url: of the item.
        title: of the item.
        text: its own main text.
        html: its own HTML.
    """

    url: str | None
    title: str | None
    text: str | None
    html: str | bytes | None

    @property
    def has_content(self) -> bool:
        """Whether the item has a text or HTML of its own."""
        return self.text is not None or self.html is not None


@dataclass(frozen=True)
class Document:
    """What is compared and stored under one identity.

    Args:
        kind: what it is.
        url: its identity; None is the response's URL with a hash of the text behind `#`.
        source: URL of the response that it is a part of; None for pages, and for the only item of
            a response.
        title: the item's own; None takes the page's.
        text: the item's own main text; None where the main text is still in HTML.
        html: the item's own HTML; None takes the body of the response.
        canonical: URL that the page must declare as canonical, since nothing else says that it is
            the page's; None where there is no doubt.
        own_fields: what else the item says; None where it is one of several of a page.
    """

    kind: Kind
    url: str | None
    source: str | None = None
    title: str | None = None
    text: str | None = None
    html: str | bytes | None = None
    canonical: str | None = None
    own_fields: OwnFields | None = None


class Skipped(NamedTuple):
    """Why an item has no document that could be compared."""

    reason: str


def fields_of(adapter: ItemAdapter, settings: DedupSettings) -> Fields:
    """Take what an item says of itself, whatever the types of its fields are."""
    return Fields(
        url=_url(adapter.get(settings.url_field)),
        title=_title(adapter.get(settings.title_field)),
        text=_text(adapter.get(settings.text_field)),
        html=_html(adapter.get(settings.html_field)),
    )


def with_own_fields(
    document: Document,
    adapter: ItemAdapter,
    response: Response | None,
    settings: DedupSettings,
    began: float,
) -> Document:
    """Document with digests of what else its item says.

    Args:
        document: of the item.
        adapter: of the item.
        response: that it came from; None where there is none.
        settings: name the fields that are no data of its own.
        began: when the crawl began, seconds since 1970.
    """
    if document.kind is Kind.LIST:
        return document
    others = {
        *(settings.url_field, settings.html_field, settings.text_field),
        *(settings.title_field, settings.result_field),
    }
    values = ((name, adapter[name]) for name in adapter if name not in others)
    urls = [document.url] if document.url else []
    if response is not None:
        urls += _urls_of(response)
    return replace(document, own_fields=own_fields(values, urls, began=began))


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
    title = _text(value)
    return None if title is None else title[:_MAX_TITLE_CHARS]


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


def choose_document(
    fields: Fields,
    source: Source | None,
    urls_before: set[str],
    was_begun_elsewhere: Callable[[], bool],
) -> Document | Skipped:
    """Choose the document of an item.

    Args:
        fields: of the item.
        source: where the item came from; None where that is not known.
        urls_before: URLs that documents of this response have; that of the item is added.
        was_begun_elsewhere: whether the item was, with what its request has carried; it is asked
            only where that matters.
    """
    response = None if source is None else source.response
    if response is not None and not _has_page(response):
        return Skipped("http_status")
    is_only_item = source is None or source.is_only_item
    url = _joined(response, fields.url)
    if fields.has_content:
        own = Document(Kind.ITEM, url, title=fields.title, text=fields.text, html=fields.html)
        if response is None:
            return own if url else Skipped("no_url")
        if is_only_item:
            return replace(own, url=url or response.url)
        is_new = url is not None and url != response.url and url not in urls_before
        if url is not None and is_new:
            urls_before.add(url)
        return replace(own, url=url if is_new else None, source=response.url)
    if response is None:
        return Skipped("no_content" if url else "no_url")
    has_its_url = url is not None and _is_url_of(url, response)
    if not has_its_url and was_begun_elsewhere():
        return Skipped("not_its_page")
    if not is_only_item:
        return Document(Kind.LIST, response.url)
    if url is None or has_its_url:
        return Document(Kind.PAGE, url or response.url)
    return Document(Kind.PAGE, url, canonical=url)


def _has_page(response: Response) -> bool:
    """Whether a response has what was asked for, or says that it has not changed."""
    status = response.status
    return 200 <= status < 300 or status == HTTPStatus.NOT_MODIFIED


def identity(document: Document, page_url: str, text_hash: bytes) -> str:
    """URL under which a document is stored.

    Args:
        document: with or without a URL of its own.
        page_url: of its response.
        text_hash: of its text, 16 bytes.
    """
    return document.url or f"{urldefrag(page_url).url}#{text_hash.hex()}"


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


def _is_url_of(url: str, response: Response) -> bool:
    """Whether a URL is that of a response, of its request or of one of its redirects."""
    return any(is_same_page(url, one) for one in _urls_of(response))


def _urls_of(response: Response) -> list[str]:
    urls = [response.url]
    if response.request is not None:
        urls += [response.request.url, *response.meta.get("redirect_urls", ())]
    return [*map(str, urls)]


def _joined(response: Response | None, url: str | None) -> str | None:
    """URL of an item; a relative one begins where its response is."""
    if response is None or url is None:
        return url
    try:
        return urljoin(response.url, url)
    except ValueError:
        return url


def _split(url: str) -> tuple[str, str, dict[str, list[str]]] | None:
    """Host, path and parameters of a URL; None where it has none."""
    if len(url) > MAX_URL_CHARS:
        return None
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
        port = parts.port
        parameters = parse_qs(parts.query, keep_blank_values=True)
    except ValueError:
        return None
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    return host, unquote(parts.path).rstrip("/"), parameters
