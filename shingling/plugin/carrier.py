"""The spider middleware that tells the pipeline which response an item came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class ResponseCarrier(BaseSpiderMiddleware):
    """Remembers the response of every item on its way to the pipelines.

    Scrapy hands a pipeline the item only. The item itself is not touched: responses are
    kept by the identity of the item, until it is taken, or until all items of the response
    have left the pipelines (an earlier pipeline may have dropped or replaced it).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._responses: dict[int, tuple[Any, Response]] = {}
        # Items that are under way, by response.
        self._under_way: WeakKeyDictionary[Response, list[int]] = WeakKeyDictionary()
        self._left: WeakKeyDictionary[Response, int] = WeakKeyDictionary()
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_left, signal=signal)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Remember the response of an item."""
        if response is not None:
            self._responses[id(item)] = item, response
            self._under_way.setdefault(response, []).append(id(item))
        return item

    def take(self, item: Any) -> Response | None:
        """Return the response that an item came from, and forget it."""
        _, response = self._responses.pop(id(item), (None, None))
        return response

    def _item_left(self, response: Response | None) -> None:
        if response is None or response not in self._under_way:
            return
        self._left[response] = self._left.get(response, 0) + 1
        if self._left[response] == len(self._under_way[response]):
            for key in self._under_way.pop(response):
                _, owner = self._responses.get(key, (None, None))
                if owner is response:
                    del self._responses[key]
            del self._left[response]
