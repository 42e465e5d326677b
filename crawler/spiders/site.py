"""`scrapy crawl site -a url=https://example.com/`: the pages of one site, link by link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from crawler.arguments import start_url
from crawler.limit import LimitedSpider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response


class SiteSpider(LimitedSpider):
    """Follows the links of a site, on its own host only.

    Args:
        url: where to start.
        limit: pages at most, of those that were fetched and are HTML.
    """

    name = "site"

    def __init__(self, url: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._url = start_url(self.name, url)
        self._host = urlsplit(self._url).netloc
        self._links = LinkExtractor()
        self.allowed_domains = [urlsplit(self._url).hostname or ""]

    async def start(self) -> AsyncIterator[Any]:
        """Request the first page."""
        yield scrapy.Request(self._url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page, and requests for what it links to."""
        if not isinstance(response, HtmlResponse):
            return
        yield self.page(response.url)
        # The links of the last page too: a crawl that goes on with the same JOBDIR needs them.
        for link in self._links.extract_links(response):
            if urlsplit(link.url).netloc == self._host:
                yield response.follow(link)
