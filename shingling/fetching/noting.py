"""The spider middleware: which requests and items each page has brought."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from shingling.fetching.learning.recent import Table
from shingling.fetching.middleware import FetchMiddleware
from shingling.fetching.requests import Yielded
from shingling.plugin.middleware import is_parse_command

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class NotingMiddleware(BaseSpiderMiddleware):
    """Notes each page when its callback has ended, with the requests that it has yielded."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._folders = Table(16)  # 65,536 paths and folders that sites link to themselves, 1 MB

    def process_spider_output(
        self,
        response: Response | None,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> Iterator[Any]:
        """Pass on what a callback yields, and note the page."""
        seen = Yielded(response, self._folders)
        for output in result:
            seen.add_output(output)
            yield output
        self._end(seen)

    async def process_spider_output_async(
        self,
        response: Response | None,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> AsyncIterator[Any]:
        """Pass on what an asynchronous callback yields, and note the page."""
        seen = Yielded(response, self._folders)
        async for output in result:
            seen.add_output(output)
            yield output
        self._end(seen)

    def _end(self, seen: Yielded) -> None:
        """Note a page. Where its callback has failed, its links are not known: it is not noted."""
        middleware = self.crawler.get_downloader_middleware(FetchMiddleware)
        if middleware is not None and not is_parse_command(self.crawler.spider):
            middleware.note_yielded(seen)
