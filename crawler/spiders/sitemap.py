"""`scrapy crawl sitemap -a url=https://example.com/sitemap.xml`: the pages of a sitemap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from scrapy.http import HtmlResponse
from scrapy.spiders import SitemapSpider as ScrapySitemapSpider

from crawler.arguments import page_limit, start_url
from crawler.items import PageItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response


class SitemapSpider(ScrapySitemapSpider):
    """Crawls the pages that a sitemap names, also through sitemap indexes.

    Args:
        url: of a sitemap, or of a `robots.txt` that names sitemaps; of a site without a
            path, its `robots.txt`.
        limit: pages at most.
    """

    name = "sitemap"

    def __init__(self, url: str | None = None, limit: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        address = start_url(self.name, url)
        if urlsplit(address).path in ("", "/"):
            address = urljoin(address, "/robots.txt")
        self.sitemap_urls = [address]
        self._left = page_limit(self.name, limit)

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield entries until the limit; sitemaps that an index names do not count."""
        pages = getattr(entries, "type", None) == "urlset"
        for entry in entries:
            if pages and self._left <= 0:
                return
            self._left -= pages
            yield entry

    def parse(self, response: Response) -> Iterator[PageItem]:
        """Yield the page."""
        if isinstance(response, HtmlResponse):
            yield PageItem(url=response.url)
