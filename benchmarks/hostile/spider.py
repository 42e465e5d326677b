"""The spider of these crawls: one item a page, of a list of URLs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

_CANONICAL = re.compile(rb'<link rel="canonical" href="([^"]*)"')


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

    Args:
        urls: file of JSON lines: number, URL and use of a page. The use is `page`; `canonical`,
            where the item has the URL that the page declares; `text` or `html`, where the body
            is that field of the item.
    """

    name = "list"

    def __init__(self, urls: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._urls = Path(urls)

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
        self.crawler.signals.send_catch_log(
            "benchmark_failed",
            number=request.cb_kwargs["number"],
            error=type(failure.value).__name__,
        )
