"""The spider of these crawls, one item a page of a list, which notes what happens.

Each line of its file of events is a JSON object with `what` and `at`, the seconds of the machine's
monotonic clock, which other processes can compare. Nothing is kept in memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import signals

from shingling.plugin.report import DuplicatePage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from twisted.python.failure import Failure


PAUSE = 0.005  # seconds between two looks at the event loop
_LAGS_AT_ONCE = 200
_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]*)"')
_SHOWN = ("status", "reason", "original")  # of a verdict


@dataclass
class PageItem:
    """An item of a page; `dedup` takes the verdict."""

    number: int
    url: str
    text: str | None = None
    html: str | None = None
    dedup: dict[str, Any] | None = None


class ListSpider(scrapy.Spider):
    """Crawls the URLs of a file, in their order.

    Events are `response`, `out` (an item came out of all pipelines), `dropped`, `error`, `failed`
    (there is no response), and `lags` (milliseconds for which the event loop did not come to what
    was due).

    Args:
        urls: file of JSON lines: number, URL and use of a page. The use is `page`; `canonical`,
            where the item has the URL that the page declares; `text` or `html`, where the body
            is that field of the item.
        events: file of the events.
    """

    name = "list"

    def __init__(self, urls: str, events: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._urls = Path(urls)
        self._events = os.open(events, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Make the spider of a crawl, and have it told of what happens."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        for signal, method in (
            (signals.spider_opened, spider._opened),
            (signals.response_received, spider._response),
            (signals.item_scraped, spider._out),
            (signals.item_dropped, spider._dropped),
            (signals.item_error, spider._error),
            (signals.spider_closed, spider._closed),
        ):
            crawler.signals.connect(method, signal)
        return spider

    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Yield a request for each URL, no faster than they are crawled."""
        with self._urls.open(encoding="utf-8") as lines:
            for line in lines:
                number, url, use = json.loads(line)
                engine = self.crawler.engine
                if engine is not None and engine.needs_backout():
                    await self.crawler.signals.wait_for(signals.scheduler_empty)
                yield scrapy.Request(
                    url,
                    errback=self.failed,
                    cb_kwargs={"number": number, "use": use},
                    dont_filter=True,
                )

    def parse(self, response: Response, number: int, use: str) -> Iterator[PageItem]:
        """Yield the item of a page."""
        item = PageItem(number, response.url)
        if use == "canonical" and (found := _CANONICAL.search(response.body)):
            item.url = found[1].decode("utf-8", "replace")
        elif use in ("text", "html"):
            setattr(item, use, response.body.decode("utf-8", "replace"))
        yield item

    def failed(self, failure: Failure) -> None:
        """Note that there is no response to a request."""
        request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        error = type(failure.value).__name__
        self._note("failed", number=request.cb_kwargs["number"], error=error)

    def _note(self, what: str, **values: Any) -> None:
        # At once, so that a killed crawl has written all that it has done.
        line = json.dumps({"what": what, "at": time.monotonic(), **values}) + "\n"
        os.write(self._events, line.encode())

    def _opened(self) -> None:
        self._task = asyncio.ensure_future(self._look())

    def _response(self, response: Response, request: Request) -> None:
        self._note("response", number=request.cb_kwargs["number"], url=response.url)

    def _out(self, item: Any) -> None:
        verdict = item.dedup or {}
        shown = {name: verdict.get(name) for name in _SHOWN}
        self._note("out", number=item.number, url=item.url, **shown)

    def _dropped(self, item: Any, exception: Exception) -> None:
        shown = {"reason": type(exception).__name__}
        if isinstance(exception, DuplicatePage):
            verdict = exception.verdict.as_dict()
            shown = {name: verdict[name] for name in _SHOWN}
        self._note("dropped", number=item.number, url=item.url, **shown)

    def _error(self, item: Any, failure: Any) -> None:
        self._note("error", number=item.number, error=str(failure.value)[:300])

    async def _look(self) -> None:
        lags: list[float] = []
        try:
            while True:
                due = time.perf_counter() + PAUSE
                await asyncio.sleep(PAUSE)
                lags.append(round(1000 * (time.perf_counter() - due), 2))
                if len(lags) >= _LAGS_AT_ONCE or lags[-1] > 10:
                    self._note("lags", ms=lags)
                    lags = []
        finally:  # the end of the crawl
            self._note("lags", ms=lags)

    async def _closed(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
