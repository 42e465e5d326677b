"""Which requests may be skipped.

Only what a callback has asked for may be skipped, as it asked for it: such requests are marked.
Start requests, those that redirects and retries make, robots.txt, media, and what a callback
downloads by itself (`engine.download_async`) have no mark of their own URL. A request that carries
data is never skipped: what is carried would be lost, even if the page is known.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from shingling.fetching.learning import MAX_LINKS, site_name
from shingling.fetching.learning.parts import split
from shingling.plugin.items.carried import carries_data

if TYPE_CHECKING:
    from scrapy.http import Response

    from shingling.fetching.learning.recent import Table

_MARK = "dedup_followed"
_FROM_ELSEWHERE = "dedup_from_elsewhere"
_FOUND_ON = "dedup_found_on"
_OF_ONE_FETCH = ("dedup_", "redirect_", "retry_")  # metadata
_MAX_LINK_CHARS = 2_000
_SITEMAPS = (".xml", ".xml.gz")


def mark(request: Request, page: Response, folders: Table) -> None:
    """Mark a request that a callback has yielded, before it is scheduled.

    Args:
        request: to be marked.
        page: that it was found on.
        folders: that sites have linked to themselves, to which those of the request are added if
            they are not made up.
    """
    request.meta[_MARK] = _state(request)
    is_own = site_name(page.url) == site_name(request.url)
    request.meta[_FOUND_ON] = page.url if is_own else ""
    is_made_up = not is_own or _repeats_what_is_made_up(request.url, page, folders)
    request.meta[_FROM_ELSEWHERE] = is_made_up
    parts = split(request.url)
    if parts and not is_made_up:
        for path in (parts.segments, parts.segments[:-1]):
            folders.put(hash((site_name(request.url), path)), 1)


def _repeats_what_is_made_up(url: str, page: Response, folders: Table) -> bool:
    """Whether a URL repeats a part of its page's URL that another site may have made up.

    A page may write parameters of its URL into its links. A relative link repeats its folders,
    which are not made up if the site has linked to them elsewhere.
    """
    if page.request is None or not is_from_elsewhere(page.request):
        return False
    own, made_up = split(url), split(page.url)
    if not own or not made_up or not {*made_up.query}.isdisjoint(own.query):
        return True
    pairs = zip(own.segments, made_up.segments, strict=False)
    repeated = tuple(segment for segment, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return bool(repeated) and folders.get(hash((site_name(url), repeated))) is None


def is_from_elsewhere(request: Request) -> bool:
    """Whether another site has had a part in the URL of a request, which it may have made up.

    It was found on a page of that site, or a URL of that site was redirected to it.
    """
    redirected = {site_name(url) for url in request.meta.get("redirect_urls", ())}
    return bool(redirected - {site_name(request.url)}) or request.meta.get(_FROM_ELSEWHERE) is True


def found_on(request: Request) -> str:
    """URL of the page of its site that has asked for a request; empty if none has."""
    return str(request.meta.get(_FOUND_ON, ""))


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


def second_look(request: Request, url: str) -> Request:
    """Copy a request, to fetch its page or another one of its site once more, for nobody.

    Args:
        request: that has fetched a page.
        url: of the page to fetch. Headers and cookies are for one host alone.
    """
    is_same_host = urlsplit(url)[:2] == urlsplit(request.url)[:2]
    own = request.meta.items()
    return request.replace(
        url=url,
        callback=NO_CALLBACK,
        errback=None,
        cb_kwargs=None,
        dont_filter=True,
        headers=request.headers if is_same_host else None,
        cookies=request.cookies if is_same_host else None,
        meta={name: value for name, value in own if not str(name).startswith(_OF_ONE_FETCH)},
    )


def may_be_skipped(request: Request) -> bool:
    """Whether a request may be skipped, if its URL is known to repeat a page."""
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


class Yielded:
    """What the callback of a response has yielded so far: requests, which are marked, and items.

    Args:
        response: None if there is none, as for the requests of `start`.
        folders: of the crawl, as in `mark`; without it, nothing is marked.
    """

    def __init__(self, response: Response | None, folders: Table | None = None) -> None:
        self.response = response
        self._folders = folders
        self.links: dict[str, None] = {}
        self.items = 0

    def add_output(self, output: Any) -> None:
        """Take note of a request or an item."""
        if not isinstance(output, Request):
            self.items += output is not None
            return
        if self.response is not None and self._folders is not None:
            mark(output, self.response, self._folders)
        if len(self.links) >= MAX_LINKS or len(output.url) > _MAX_LINK_CHARS:
            return
        if output.url.startswith(("http://", "https://")):
            self.links[output.url] = None
