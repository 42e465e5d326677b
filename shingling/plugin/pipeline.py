"""The item pipeline: drops or tags items whose document is a duplicate."""

from __future__ import annotations

import asyncio
import gc
import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import is_asyncio_available

from shingling.errors import SettingsError, ShinglingError, StoreError
from shingling.extraction.pool import start_worker
from shingling.plugin.middleware import (
    SourceMiddleware,
    SourcePipeline,
    current_source,
    is_crawl,
    is_parse_command,
)
from shingling.plugin.report import Report
from shingling.plugin.settings import DedupSettings
from shingling.plugin.waiting import UnderWay
from shingling.rooms import hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler

    from shingling.plugin.items.decider import ItemDecider

logger = logging.getLogger(__name__)

_NO_SOURCE = (
    "Dedup: SourceMiddleware or SourcePipeline is missing, so items are compared only by a text of"
    " their own, not by their pages. Add SPIDER_MIDDLEWARES = {'shingling.SourceMiddleware': 10}"
    " and ITEM_PIPELINES = {'shingling.SourcePipeline': -1_000_000, …}; or replace all three by the"
    " add-on: ADDONS = {'shingling.Addon': 500}"
)


class DedupPipeline:
    """Drops or tags items by the verdicts of the signature store on their documents.

    A crawl opens the store before its first request. Commands that only look at pages do so when
    an item comes, or a room asks for it (`loaded`).

    Attributes:
        before_close: is awaited when the crawl ends, while the store is still open.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._report = Report(crawler, settings)
        self._decider: ItemDecider | None = None
        self._loading = asyncio.Lock()
        self._items = UnderWay(0)
        self.before_close: Callable[[], Awaitable[None]] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline of a crawl.

        Raises:
            SettingsError: a `DEDUP_*` setting is not accepted.
            NotConfigured: `DEDUP_ENABLED` is False.
        """
        try:
            settings = DedupSettings.from_settings(crawler.settings)
            if settings.enabled and not is_asyncio_available():
                raise SettingsError(
                    "scrapy-shingling needs asyncio: leave TWISTED_REACTOR at its default,"
                    " or set TWISTED_REACTOR_ENABLED = False"
                )
        except SettingsError as error:
            logger.error("%s", error)
            raise
        if not settings.enabled:
            raise NotConfigured("DEDUP_ENABLED = False")
        pipeline = cls(crawler, settings)
        crawler.signals.connect(pipeline._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(pipeline._spider_closed, signal=signals.spider_closed)
        return pipeline

    async def open_spider(self) -> None:
        """Log how the crawl is deduplicated, and open the store.

        Raises:
            StoreError: it cannot be opened: Scrapy ends the crawl before the first request.
        """
        self._report.start()
        if not is_crawl(self._crawler):
            return
        middleware = self._crawler.get_spider_middleware(SourceMiddleware)
        if middleware is None or self._crawler.get_item_pipeline(SourcePipeline) is None:
            self._report.log_once("unknown response", _NO_SOURCE)
        try:
            decider = await self.loaded()
            await decider.checker.opened()
        except (ShinglingError, ImportError, OSError, MemoryError, RuntimeError) as error:
            self._decider = None
            message = f"Dedup cannot start, nothing is fetched: {str(error) or repr(error)}"
            logger.error("%s", message, extra={"spider": self._crawler.spider})
            raise StoreError(message) from None

    async def process_item(self, item: Any) -> Any:
        """Drop or tag an item by the verdict on its document.

        Raises:
            DuplicatePage: the document is a duplicate, and `DEDUP_ACTION` is `drop`.
        """
        source = current_source()
        with self._items.one():
            decider = await self.loaded()
            return await decider.decide(item, source)

    async def loaded(self) -> ItemDecider:
        """Load what decides items, when it is first asked for."""
        async with self._loading:  # it lets items through in their order
            if self._decider is None:
                self._decider = await self._load()
        return self._decider

    async def _load(self) -> ItemDecider:
        """Import what takes long beside the event loop, while the first worker starts."""
        first = start_worker() if self._settings.workers else None
        try:
            module = await asyncio.to_thread(import_module, "shingling.plugin.items.decider")
        except BaseException:
            if first is not None:
                first.end()
            raise
        action = self._settings.action
        if action == "drop" and is_parse_command(self._crawler.spider):
            action = "tag"  # nobody would see a verdict on an item that is gone
        decider: ItemDecider = module.ItemDecider(
            self._crawler, self._settings, self._report, action, first
        )
        return decider

    async def close_spider(self) -> None:
        """Wait for the items that are under way, end the workers, and log what became of all."""
        await self._items.wait()  # `scrapy parse` does not wait for its items
        if self.before_close is not None:
            await self.before_close()
        if self._decider is not None:
            await self._decider.checker.close()
            self._report.end()

    async def _spider_opened(self) -> None:
        if self._decider is None:
            return
        await self._decider.checker.resume()
        # Modules are most of the objects that a full collection goes through. What another crawl is
        # working on comes and goes, so only the first one has what is there passed over.
        if not _open:
            gc.freeze()
        _open.add(self)

    async def _spider_closed(self, reason: str) -> None:
        """End the run; pipelines are not told why a crawl ends, signal handlers are."""
        if self._decider is None:
            return
        _open.discard(self)
        if not _open:
            gc.unfreeze()
        try:
            await self._decider.checker.close_store(reason)
        except ShinglingError as error:
            logger.error("Dedup could not record the end of the run: %s", error)
        has_run = self._crawler.stats.get_value("dedup/batches")
        if has_run and not is_parse_command(self._crawler.spider):
            for finish in hooks("finish_crawl"):
                await asyncio.to_thread(finish, self._settings, self._crawler.spider)


_open: WeakSet[DedupPipeline] = WeakSet()
"""Of all crawls of the process that are ready, and have not ended."""
