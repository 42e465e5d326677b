"""Find the response that an item came from, and whether it was the only item of this response.

Scrapy gives a pipeline only the item. A spider middleware sees item and response together. The
first of all pipelines remembers the response for those after it. So an item that a pipeline in
between has copied or replaced still has its response.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextvars import ContextVar
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.settings import default_settings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from shingling.plugin.items.carried import Carried
from shingling.plugin.waiting import UnderWay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_MAX_BACKLOG = 256  # documents
_MAX_GONE = 10_000  # URLs that the store has not been told of
_MAX_ITEMS_OF_START = 1000  # of `Spider.start()`, on their way to the pipelines
_LOOK_SECONDS = 0.05

ITEMS_AT_ONCE = 16
"""`CONCURRENT_ITEMS`, if nobody sets it: Scrapy keeps so many tasks for each response until its
items have left the pipelines, and here they wait for their verdicts."""

WEAK_PRIORITY = 5
"""Priority of a setting that everybody may set, except Scrapy's own defaults."""

CLOSE_REASON = "dedup_error"
"""Why a spider is closed that cannot be deduplicated."""


class ItemSource(NamedTuple):
    """Where an item came from.

    Args:
        response: that its callback was called with; None for an item of `Spider.start()`.
        is_only_item: whether the callback yielded no other item.
        carried: objects that the request of the response carried; None if there were none.
        arrived: when the response came to the spider, seconds since 1970; None if not known.
    """

    response: Response | None
    is_only_item: bool
    carried: Carried | None = None
    arrived: float | None = None


_current: ContextVar[ItemSource | None] = ContextVar("source", default=None)


def current_source() -> ItemSource | None:
    """Source of the item that the pipelines work on; None if it is not known."""
    return _current.get()


class SourceMiddleware(BaseSpiderMiddleware):
    """Notes the source of each item on its way from the spider to the pipelines.

    To know whether an item is the only one of its response, it holds the first one back until the
    next item, or the end of the callback. Requests pass at once.

    Attributes:
        gone: URLs of responses with status 404 or 410.
        is_closing: whether `Spider.start()` yields no more items.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Scrapy holds a response until all its items have left the pipelines, so that nothing is
        # kept for longer of items that never reach them.
        self._items: WeakKeyDictionary[Response, list[tuple[Any, bool]]] = WeakKeyDictionary()
        # What their requests have carried, and when they came.
        self._arrivals: WeakKeyDictionary[Response, tuple[Carried | None, float]]
        self._arrivals = WeakKeyDictionary()
        self._without_response: deque[Any] = deque(maxlen=_MAX_ITEMS_OF_START)
        self.gone: deque[str] = deque(maxlen=_MAX_GONE)
        self.is_closing = False
        self._parsed: Response | None = None  # by `scrapy parse`
        self._parsed_items = 0
        self._has_few_slots = crawler.settings.getpriority("CONCURRENT_ITEMS") == WEAK_PRIORITY

    def process_spider_input(self, response: Response) -> None:
        """Look at what the request has carried, before the callback changes it."""
        request = response.request
        carried = None if request is None else Carried.by(request, self.crawler)
        self._arrivals[response] = carried, time.time()
        if response.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            self.gone.append(response.url)
            if request is not None and request.url != response.url:
                self.gone.append(request.url)
        if is_parse_command(self.crawler.spider):  # it hands its items to pipelines itself
            self._parsed = response

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on what `Spider.start()` yields, until the spider is being closed."""
        async for output in super().process_start(start):
            if self.is_closing:
                return
            yield output

    def process_spider_output(
        self,
        response: Response | None,
        result: Iterable[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> Iterator[Any]:
        """Pass on what a callback yields, and note the items."""
        held = _Held(self, response)
        try:
            for output in result:
                yield from held.put(output)
        except Exception:
            yield from held.rest()
            raise
        yield from held.rest()

    async def process_spider_output_async(
        self,
        response: Response | None,
        result: AsyncIterator[Any],
        spider: Spider | None = None,  # noqa: ARG002 (as inherited)
    ) -> AsyncIterator[Any]:
        """Pass on what an asynchronous callback yields, and note the items."""
        held = _Held(self, response)
        try:
            async for output in result:
                for passed in held.put(output):
                    yield passed
        except Exception:
            for passed in held.rest():
                yield passed
            raise
        for passed in held.rest():
            yield passed

    def get_processed_item(self, item: Any, response: Response | None) -> Any:  # noqa: ARG002 (as inherited)
        """Note an item of `Spider.start()`."""
        self._without_response.append(item)
        return item

    def note_item(self, item: Any, response: Response, *, is_only_item: bool) -> None:
        """Note an item that the pipelines are about to get.

        From the first response on with more items than slots, Scrapy has as many slots as without
        the add-on: a later pipeline may take long for each item.
        """
        noted = self._items.setdefault(response, [])
        noted.append((item, is_only_item))
        if self._has_few_slots and len(noted) > ITEMS_AT_ONCE:
            self._has_few_slots = False
            assert self.crawler.engine is not None
            self.crawler.engine.scraper.concurrent_items = default_settings.CONCURRENT_ITEMS

    def take(self, item: Any) -> ItemSource | None:
        """Source of an item, which is then forgotten; None if it is not known."""
        for response, noted in self._items.items():
            for place, (waiting, is_only_item) in enumerate(noted):
                if waiting is item:
                    del noted[place]
                    if not noted:
                        del self._items[response]
                    return self._source(response, is_only_item=is_only_item)
        for place, waiting in enumerate(self._without_response):
            if waiting is item:
                del self._without_response[place]
                return ItemSource(None, is_only_item=True)
        return None

    async def take_parsed(self) -> ItemSource | None:
        """Source of an item of `scrapy parse`; None in a crawl."""
        if self._parsed is None:
            return None
        self._parsed_items += 1
        await asyncio.sleep(0)  # the command hands in all its items at the same moment
        return self._source(self._parsed, is_only_item=self._parsed_items == 1)

    def _source(self, response: Response, *, is_only_item: bool) -> ItemSource:
        return ItemSource(response, is_only_item, *self._arrivals.get(response, (None, None)))


class _Held:
    """The first item of a response, until it is known whether there is another one."""

    def __init__(self, middleware: SourceMiddleware, response: Response | None) -> None:
        self._middleware = middleware
        self._response = response
        self._items: list[Any] = []
        self._several = False

    def put(self, output: Any) -> Iterator[Any]:
        """Yield what can go on, now that the callback has yielded this."""
        if output is None or isinstance(output, Request) or self._response is None:
            yield output
            return
        self._items.append(output)
        if len(self._items) > 1 or self._several:
            self._several = True
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        """Yield the items that are held."""
        items, self._items = self._items, []
        for item in items:
            assert self._response is not None
            self._middleware.note_item(item, self._response, is_only_item=not self._several)
            yield item


class BacklogMiddleware:
    """A downloader middleware that holds responses back while many documents wait to be decided.

    Otherwise Scrapy goes on until the responses under way have 5 MB. That is 5,000 small ones, for
    each of which it has tasks that take 100 kB.

    Attributes:
        documents: that are being decided.
    """

    def __init__(self) -> None:
        self.documents = UnderWay(_MAX_BACKLOG - 1)

    async def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 (as Scrapy calls it)
        """Pass on a response when there is room for its documents."""
        await self.documents.wait()
        return response


class SourcePipeline:
    """The first of all pipelines: it tells the others the source of the item."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline of a crawl."""
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Note the source of an item for the pipelines behind."""
        middleware = self._crawler.get_spider_middleware(SourceMiddleware)
        source = None
        if middleware is not None:
            source = middleware.take(item) or await middleware.take_parsed()
        _current.set(source)
        return item


def is_parse_command(spider: Spider | None) -> bool:
    """Whether `scrapy parse` runs the spider: it puts a `start` of its own in its place."""
    return _module_of_start(spider) == "scrapy.commands.parse"


def is_crawl(crawler: Crawler) -> bool:
    """Whether a spider crawls, and not a command of Scrapy looks at a page: `shell`, `fetch`."""
    module = _module_of_start(crawler.spider)
    return crawler.crawling and not module.startswith("scrapy.commands.")


def _module_of_start(spider: Spider | None) -> str:
    return getattr(getattr(type(spider), "start", None), "__module__", None) or ""


async def close_spider(crawler: Crawler) -> None:
    """Close the spider of a crawl that cannot be deduplicated.

    Scrapy waits for the items that are in the pipelines, but hears only of the end of those that
    come from responses. So the engine is paused, and closed when all items are through.
    """
    engine = crawler.engine
    if engine is None or engine.spider is None:
        return
    if middleware := crawler.get_spider_middleware(SourceMiddleware):
        middleware.is_closing = True
    engine.pause()
    while (slot := engine.scraper.slot) is not None and not slot.is_idle():
        await asyncio.sleep(_LOOK_SECONDS)
    if engine.spider is not None:
        await engine.close_spider_async(reason=CLOSE_REASON)
