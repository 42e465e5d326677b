"""An extension of Scrapy that writes down what happens in a crawl, and when.

Each line of the file `WATCH_FILE` is a JSON object with `what` and `at`, the seconds of the
machine's monotonic clock, which other processes can compare. Nothing is kept in memory.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
import tracemalloc
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

import psutil
from scrapy import signals

from shingling.plugin.duplicate import DuplicatePage

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

PAUSE = 0.005  # seconds between two looks at the event loop
_LAGS_AT_ONCE = 200
_TOP = 25  # lines of code and types that are named


class Watch:
    """Writes events.

    `response`, `out` (an item came out of all pipelines), `dropped`, `failed`, `lags` (milliseconds
    for which the event loop did not come to what was due), and with the setting `WATCH_EVERY`, a
    number of items, `memory` after so many. With `WATCH_TRACE`, another number of items,
    `trace` says what takes it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._file = os.open(
            crawler.settings["WATCH_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644
        )
        self._every = crawler.settings.getint("WATCH_EVERY")
        self._traces = crawler.settings.getint("WATCH_TRACE")
        self._items = 0
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the watch of a crawl."""
        watch = cls(crawler)
        for signal, method in (
            (signals.spider_opened, watch._opened),
            (signals.response_received, watch._response),
            (signals.item_scraped, watch._out),
            (signals.item_dropped, watch._dropped),
            (signals.item_error, watch._error),
            ("benchmark_failed", watch._failed),
            (signals.spider_closed, watch._closed),
        ):
            crawler.signals.connect(method, signal)
        return watch

    def _write(self, what: str, **values: Any) -> None:
        # At once, so that a killed crawl has written all that it has done.
        line = json.dumps({"what": what, "at": time.monotonic(), **values}) + "\n"
        os.write(self._file, line.encode())

    def _opened(self) -> None:
        if self._traces:
            tracemalloc.start()
        self._write("opened", pid=os.getpid())
        self._task = asyncio.ensure_future(self._look())

    def _response(self, response: Response, request: Request) -> None:
        self._write("response", number=request.cb_kwargs["number"], url=response.url)

    async def _out(self, item: Any) -> None:
        verdict = item.dedup or {}
        named = {name: verdict.get(name) for name in ("status", "reason", "original")}
        self._write("out", number=item.number, url=item.url, **named)
        await self._count()

    async def _dropped(self, item: Any, exception: Exception) -> None:
        named = {"reason": type(exception).__name__}
        if isinstance(exception, DuplicatePage):
            verdict = exception.verdict.as_dict()
            named = {name: verdict[name] for name in ("status", "reason", "original")}
        self._write("dropped", number=item.number, url=item.url, **named)
        await self._count()

    def _error(self, item: Any, failure: Any) -> None:
        self._write("error", number=item.number, error=str(failure.value)[:300])

    def _failed(self, number: int, error: str) -> None:
        self._write("failed", number=number, error=error)

    async def _count(self) -> None:
        self._items += 1
        if self._every and self._items % self._every == 0:
            items = self._items
            self._write("memory", items=items, **await asyncio.to_thread(_memory))
            if self._traces and items % self._traces == 0:
                self._write("trace", items=items, lines=_lines(), types=_types())

    async def _look(self) -> None:
        lags: list[float] = []
        try:
            while True:
                due = time.perf_counter() + PAUSE
                await asyncio.sleep(PAUSE)
                lags.append(round(1000 * (time.perf_counter() - due), 2))
                if len(lags) >= _LAGS_AT_ONCE or lags[-1] > 10:
                    self._write("lags", ms=lags)
                    lags = []
        finally:  # the end of the crawl
            self._write("lags", ms=lags)

    async def _closed(self, reason: str) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._write("closed", reason=reason)


def _memory() -> dict[str, float]:
    """MB of the crawl's own process, and of all that it has started: shared pages in parts."""
    own = psutil.Process()
    found = {"own": _pss(own), "workers": 0.0}
    for child in own.children(recursive=True):
        try:
            found["workers"] += _pss(child)
        except psutil.NoSuchProcess:
            continue
    return {name: round(value, 2) for name, value in found.items()}


def _pss(process: psutil.Process) -> float:
    memory = process.memory_full_info()
    return float(getattr(memory, "pss", memory.rss)) / 1e6


def _lines() -> dict[str, int]:
    """Bytes by the lines of code that have allocated most."""
    found = tracemalloc.take_snapshot().statistics("lineno")
    shown = {str(one.traceback): one.size for one in found[:_TOP]}
    return {"all": sum(one.size for one in found), **shown}


def _types() -> dict[str, int]:
    """Numbers of objects, of the types that have most."""
    gc.collect()
    counted = Counter(
        f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.get_objects()
    )
    return dict(counted.most_common(_TOP))
