"""An extension of Scrapy that measures the crawl that it is in: event loop and memory."""

from __future__ import annotations

import asyncio
import resource
import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals

from benchmarks.processes import memory_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_PAUSE = 0.005  # seconds between two looks at the event loop
_MEMORY = 2.0  # seconds between two looks at the memory


class Meter:
    """Puts `meter/...` into the stats.

    `lag_p50`, `lag_p99` and `lag_max` are milliseconds for which the event loop did not come to
    what was due. `peak_mb` is the memory of the process and its children at most, shared pages
    counted once (PSS), in MB of 10^6 bytes. `own_ms` and `worker_ms` are the CPU milliseconds an
    item of the crawl's own process, from its start on, and of those that it has started.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._lags: list[float] = []
        self._task: asyncio.Task[None] | None = None
        self._peak = 0.0
        self._items = 0
        self._began = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the meter of a crawl."""
        meter = cls(crawler)
        crawler.signals.connect(meter._opened, signals.spider_opened)
        crawler.signals.connect(meter._left, signals.item_scraped)
        crawler.signals.connect(meter._left, signals.item_dropped)
        crawler.signals.connect(meter._closed, signals.spider_closed)
        return meter

    def _opened(self) -> None:
        self._began = time.process_time()
        self._task = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        looked = 0.0
        while True:
            due = time.perf_counter() + _PAUSE
            await asyncio.sleep(_PAUSE)
            self._lags.append(time.perf_counter() - due)
            if time.perf_counter() - looked > _MEMORY:
                self._peak = max(self._peak, await asyncio.to_thread(memory_of))
                looked = time.perf_counter()

    def _left(self) -> None:
        self._items += 1

    def _closed(self, **_: Any) -> None:
        if self._task is None or not self._lags:
            return
        self._task.cancel()
        lags = sorted(1000 * lag for lag in self._lags)
        stats = self._crawler.stats
        items = max(self._items, 1)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        own = time.process_time() - self._began
        stats.set_value("meter/own_ms", round(1000 * own / items, 2))
        workers = children.ru_utime + children.ru_stime
        stats.set_value("meter/worker_ms", round(1000 * workers / items, 2))
        for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1)):
            at = min(int(share * len(lags)), len(lags) - 1)
            stats.set_value(f"meter/lag_{name}", round(lags[at], 2))
        stats.set_value("meter/peak_mb", round(max(self._peak, memory_of()), 1))
