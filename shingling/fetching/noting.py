"""The spider middleware: which requests and items each page has brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from shingling.fetching.learning import MAX_LINKS
from shingling.fetching.middleware import FetchMiddleware
from shingling.fetching.requests import asked_for, is_page, mark
from shingling.plugin.middleware import is_parse_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Spider
    from scrapy.http import Response

_MAX_LINK_CHARS = 2_000


class NotingMiddleware(BaseSpiderMiddleware):
    """Notes each page when its callback has ended, with the requests that it has yielded."""

    def process_spider_output(
        self,
        response: Response | None,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> Iterator[Any]:
        """Pass on what a callback yields, and note the page."""
        seen = _Output(response)
        for one in result:
            seen.add(one)
            yield one
        self._end(seen)

    async def process_spider_output_async(
        self,
        response: Response | None,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> AsyncIterator[Any]:
        """Pass on what an asynchronous callback yields, and note the page."""
        seen = _Output(response)
        async for one in result:
            seen.add(one)
            yield one
        self._end(seen)

    def _end(self, seen: _Output) -> None:
        """Note a page. Where its callback has failed, its links are not known: it is not noted."""
        response = seen.response
        middleware = self.crawler.get_downloader_middleware(FetchMiddleware)
        if middleware is None or response is None or not is_page(response):
            return
        if is_parse_command(self.crawler.spider):
            return
        assert response.request is not None
        url, requested = asked_for(response.request)
        middleware.note(response, url, requested, tuple(seen.links), has_item=seen.has_item)


class _Output:
    """What the callback of a response has yielded so far."""

    def __init__(self, response: Response | None) -> None:
        self.response = response
        self.links: dict[str, None] = {}
        self.has_item = False

    def add(self, one: Any) -> None:
        """Take note of a request or an item."""
        if not isinstance(one, Request):
            self.has_item = self.has_item or one is not None
            return
        if self.response is not None:
            mark(one, self.response)
        if len(self.links) >= MAX_LINKS or len(one.url) > _MAX_LINK_CHARS:
            return
        if one.url.startswith(("http://", "https://")):
            self.links[one.url] = None
