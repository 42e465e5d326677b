"""The spider of the benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

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
        return Request(url, self.parse, errback=self.skipped)

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
