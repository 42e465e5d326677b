"""Do not fetch again what gave an item: scrapy-deltafetch, written anew from its description."""

from __future__ import annotations

import dbm
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class DeltaFetch(BaseSpiderMiddleware):
    """Remembers fingerprints of requests whose responses gave an item, in a file."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        assert crawler.request_fingerprinter is not None
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._seen = dbm.open(str(Path("deltafetch").absolute()), "c")  # noqa: SIM115

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        crawler.signals.connect(middleware._close, signal=signals.spider_closed)
        return middleware

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        return None if self._fingerprint(request) in self._seen else request

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        if response is not None and response.request is not None:
            self._seen[self._fingerprint(response.request)] = b""
        return item

    def _close(self) -> None:
        self._seen.close()
