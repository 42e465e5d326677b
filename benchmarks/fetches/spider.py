"""The spider of the benchmark, and the peers as a user would put them into Scrapy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from courlan import clean_url
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure


class FetchesSpider(Spider):
    """Follows all links; each page is an item.

    Args:
        start: URL to begin with.
    """

    name = "fetches"

    def __init__(self, start: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._start = start

    async def start(self) -> AsyncIterator[Request]:
        """Ask for the first page."""
        yield self._request(self._start)

    def parse(self, response: Response) -> Iterator[Request | dict[str, str]]:
        """Yield the page and its links."""
        yield {"url": response.url}
        for url in response.css("nav a::attr(href)").getall():
            yield self._request(url)

    def _request(self, url: str) -> Request:
        # `avoid_dup_content` is how undercrawler tells MaybeDont which requests it may skip.
        meta = {"avoid_dup_content": url != self._start}
        return Request(url, self.parse, errback=self.skipped, meta=meta)

    def skipped(self, failure: Failure) -> None:
        """Count what was skipped, and note how many pages were fetched before the first one."""
        stats = self.crawler.stats
        if not isinstance(failure.value, IgnoreRequest):
            stats.inc_value(f"fetches/failed/{type(failure.value).__name__}")
            return
        stats.inc_value("fetches/skipped")
        if stats.get_value("fetches/before_first_skip") is None:
            pages = stats.get_value("response_received_count", 0)
            stats.set_value("fetches/before_first_skip", pages)


class CourlanMiddleware:
    """Skips a URL that is the same as a former one for courlan, with its fixed lists."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def process_request(self, request: Request) -> None:
        """Let a request be made, or not.

        Raises:
            IgnoreRequest: its cleaned URL was requested before.
        """
        cleaned = clean_url(request.url) or request.url
        if cleaned in self._seen and not request.meta.get("redirect_urls"):
            raise IgnoreRequest(cleaned)
        self._seen.add(cleaned)


class WouldSkip:
    """Writes what `observe` would skip, with the page that it would repeat, for the truth.

    It stands behind the plugin's middleware, so it sees each request that was decided.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        file = Path(crawler.settings["FETCHES_WOULD_SKIP"])
        self._file = file.open("w", encoding="utf-8")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware of a crawl."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Write the decision on a request, where there is one."""
        from shingling.plugin.fetching.middleware import FetchMiddleware

        middleware = self._crawler.get_downloader_middleware(FetchMiddleware)
        skip = None if middleware is None else middleware._decided.get(request.url)
        if skip is not None:
            self._file.write(json.dumps([request.url, skip.page]) + "\n")
            self._file.flush()
