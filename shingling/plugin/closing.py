"""Closes a spider that cannot be deduplicated, also where items come from `start()` alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine

CLOSE_REASON = "dedup_error"
"""Why a spider is closed that cannot be deduplicated."""

_LOOK_SECONDS = 0.5


async def close_spider(engine: ExecutionEngine) -> None:
    """Close the spider of an engine, as soon as its items have left the pipelines.

    Scrapy waits for them, but hears only of those that come from responses: an item that `start()`
    has yielded may be the last one, and the crawl would never end.
    """
    closing = asyncio.ensure_future(engine.close_spider_async(reason=CLOSE_REASON))
    while not (await asyncio.wait([closing], timeout=_LOOK_SECONDS))[0]:
        slot, spider = engine.scraper.slot, engine.crawler.spider
        end = None if slot is None or not slot.is_idle() else slot.closing
        if end is not None and spider is not None and not end.called:
            end.callback(spider)
    await closing
