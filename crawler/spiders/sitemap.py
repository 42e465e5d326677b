"""`scrapy crawl sitemap -a url=https://example.com/sitemap.xml`: the pages of a sitemap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy.http import HtmlResponse
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.arguments import start_url
from crawler.limit import LimitedSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawler.items import PageItem


class SitemapSpider(LimitedSpider, ScrapySitemapSpider):
    """Crawls the pages that a sitemap names, in its order, also through sitemap indexes.

    Args:
        url: of a sitemap, or of a `robots.txt` that names sitemaps; of a site without a
            path, its `robots.txt`.
        limit: pages at most, of those that were fetched and are HTML; sitemaps do not count.
    """

    name = "sitemap"
    custom_settings = {  # noqa: RUF012 (Scrapy's own attribute)
        **LimitedSpider.custom_settings,
        # Pages in the order of their sitemap, and no further sitemap while pages are waiting.
        "DEPTH_PRIORITY": -1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    }

    def __init__(self, url: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        address = start_url(self.name, url)
        if urlsplit(address).path in ("", "/"):
            address = urljoin(address, "/robots.txt")
        self.sitemap_urls = [address]

    def parse(self, response: Response) -> Iterator[PageItem]:
        """Yield the page."""
        if isinstance(response, HtmlResponse):
            yield self.page(response.url)
