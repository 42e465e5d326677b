"""Which requests may be skipped, and requests as JSON.

Only what a callback has asked for may be skipped, as it asked for it: such requests are marked.
Start requests, those that redirects and retries make, robots.txt, media, and what a callback
downloads by itself (`engine.download_async`) have no mark of their own URL. A request that carries
data is never skipped: what is carried would be lost, even where the page is known.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from shingling.fetching.rows import MAX_REQUEST_CHARS
from shingling.plugin.items.carried import carries_data
from shingling.store import site_of

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.http import Response

_MARK = "dedup_followed"
_FROM_ELSEWHERE = "dedup_from_elsewhere"
_SITEMAPS = (".xml", ".xml.gz")
_SECRET_META = {"proxy", "_auth_proxy"}
_ATTRIBUTES = ("callback", "errback", "meta", "cb_kwargs", "priority", "flags", "encoding")


def mark(request: Request, page: str) -> None:
    """Mark a request that a callback has yielded, before it is scheduled.

    Args:
        request: to be marked.
        page: URL of the page that it was found on.
    """
    request.meta[_MARK] = _state(request)
    if site_of(page) == site_of(request.url):
        request.meta.pop(_FROM_ELSEWHERE, None)
    else:
        request.meta[_FROM_ELSEWHERE] = True


def is_from_elsewhere(request: Request) -> bool:
    """Whether the URL of a request was found on a page of another site, which may have made it."""
    return request.meta.get(_FROM_ELSEWHERE) is True


def _state(request: Request) -> list[Any]:
    """Take what tells a request from those that are made of it, and of its metadata."""
    meta = request.meta
    return [request.url, meta.get("retry_times", 0), len(meta.get("redirect_urls", ()))]


def asked_for(request: Request) -> tuple[str, tuple[str, ...]]:
    """URL that a callback has asked for, and the URLs that were redirected on the way."""
    redirected = tuple(map(str, request.meta.get("redirect_urls", ())))
    marked = request.meta.get(_MARK)
    if isinstance(marked, list) and len(marked) == 3 and isinstance(marked[2], int):
        own = redirected[marked[2] :]  # what is before came with somebody else's metadata
        if marked[0] == next(iter(own), request.url):
            return marked[0], own
    return next(iter(redirected), request.url), redirected


def may_be_skipped(request: Request) -> bool:
    """Whether a request may be skipped, whatever its URL is."""
    meta = request.meta
    return (
        meta.get(_MARK) == _state(request)
        and request.method == "GET"
        and not request.body
        and not request.dont_filter
        and request.callback is not NO_CALLBACK
        and meta.get("dedup") is not False
        and not meta.get("dedup_fetch")
        and request.url.startswith(("http://", "https://"))
        and not _is_sitemap(request)
        and not carries_data(request)
    )


def _is_sitemap(request: Request) -> bool:
    if getattr(request.callback, "__name__", None) == "_parse_sitemap":
        return True
    return urlsplit(request.url).path.lower().endswith(_SITEMAPS)


def is_page(response: Response) -> bool:
    """Whether a response may be noted: fetched by HTTP, complete, not opted out."""
    request = response.request
    return (
        request is not None
        and response.status == 200
        and request.method == "GET"
        and not request.body
        and response.url.startswith(("http://", "https://"))
        and request.meta.get("dedup") is not False
    )


def to_json(request: Request, spider: Spider) -> str | None:
    """Write a request as JSON, without its URL.

    Returns:
        None where it cannot be made again of JSON, is large, or may hold secrets: cookies,
        headers other than `Referer`, a proxy.
    """
    if type(request) is not Request or request.cookies or _SECRET_META & {*request.meta}:
        return None
    headers = {*request.headers.keys()}
    if headers - {b"Referer"}:
        return None
    try:
        values = request.to_dict(spider=spider)
        kept = {name: values[name] for name in _ATTRIBUTES}
        kept["meta"] = {name: one for name, one in kept["meta"].items() if name != _MARK}
        if referer := request.headers.get(b"Referer"):
            kept["referer"] = referer.decode("latin-1")
        written = json.dumps(kept)
        same = json.loads(written) == kept
    except (ValueError, TypeError, RecursionError):
        return None
    return written if same and len(written) <= MAX_REQUEST_CHARS else None


def from_json(written: str | None, url: str, spider: Spider) -> Request | None:
    """Make a request again.

    Args:
        written: what `to_json` wrote.
        url: of the request.
        spider: whose methods its callbacks are.

    Returns:
        None where that is not possible: a callback no longer exists, say.
    """
    try:
        values = json.loads(written or "")
        given = {name: values[name] for name in _ATTRIBUTES}
        for name in ("callback", "errback"):
            given[name] = _method(spider, given[name])
        given["meta"] = {
            name: one for name, one in given["meta"].items() if name not in _SECRET_META
        }
        if values.get("referer"):
            given["headers"] = {"Referer": str(values["referer"])}
        return Request(url, **given)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _method(spider: Spider, name: object) -> Any:
    """Find a method of a spider.

    Raises:
        AttributeError, TypeError: it has none of this name.
    """
    if name is None:
        return None
    if not isinstance(name, str) or name.startswith("__"):
        raise TypeError
    method = getattr(spider, name)
    if getattr(method, "__self__", None) is not spider:
        raise TypeError
    return method
