"""The argument `limit` of the spiders: no page is asked for beyond it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import signals
from scrapy.core.scheduler import Scheduler
from scrapy.exceptions import CloseSpider

from crawler.arguments import page_limit
from crawler.items import PageItem

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request


class LimitedScheduler(Scheduler):
    """Scrapy's scheduler, which holds requests back while those under way may reach the limit.

    A page that fails, redirects or is no HTML gives its place to the next request. What is
    left at the end stays in the queue, and so in `JOBDIR` for the next crawl.
    """

    spider: LimitedSpider

    def next_request(self) -> Request | None:
        """Return the next request, or None if it may turn out to be one too many."""
        assert self.crawler is not None
        assert self.crawler.engine is not None
        slot = self.crawler.engine._slot
        assert slot is not None
        # From here until the items of its response have left the pipelines: only Scrapy itself
        # knows when a request is done with, whatever becomes of it.
        if len(slot.inprogress) >= self.spider.pages_left:
            return None
        return super().next_request()

    def has_pending_requests(self) -> bool:
        """Return whether there is anything that will be asked for."""
        return self.spider.pages_left > 0 and super().has_pending_requests()


class LimitedSpider(scrapy.Spider):
    """A spider with the argument `limit`: pages that it yields at most.

    It ends with the reason `limit` once it has yielded that many.
    """

    custom_settings = {"SCHEDULER": LimitedScheduler}  # noqa: RUF012 (Scrapy's own attribute)

    def __init__(self, limit: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pages_left = page_limit(self.name, limit)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider of a crawl."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider._give_reason, signal=signals.spider_idle)
        return spider

    def page(self, url: str, **fields: Any) -> PageItem:
        """Return the item of a page, which counts."""
        self.pages_left -= 1
        return PageItem(url=url, **fields)

    def _give_reason(self) -> None:
        if not self.pages_left:
            raise CloseSpider("limit")
