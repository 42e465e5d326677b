"""Whether the items of originals come out of the pipelines behind this one.

A later pipeline may drop the item of an original, because a field is missing for instance. A copy
of it that is complete must not be lost with it: such an original is withdrawn from the store, and
a duplicate waits until it is known whether the item of its original has come out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING

from scrapy import signals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler


_MAX_LOST_URLS = 1000


class _Delivery:
    """The item of an original on its way through the later pipelines."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.has_come_out: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


_current: ContextVar[_Delivery | None] = ContextVar("delivery", default=None)


class Deliveries:
    """The items of originals that are on their way.

    Args:
        crawler: whose items they are.
        withdraw: takes the document of a URL out of the store.
        max_wait: seconds for which a duplicate waits for its original.
    """

    def __init__(
        self, crawler: Crawler, withdraw: Callable[[str], Awaitable[None]], max_wait: float
    ) -> None:
        self._withdraw = withdraw
        self._max_wait = max_wait
        self._under_way: dict[str, _Delivery] = {}
        self._lost: deque[str] = deque(
            maxlen=_MAX_LOST_URLS
        )  # for verdicts that are a moment older
        crawler.signals.connect(self._came_out, signal=signals.item_scraped)
        for signal in (signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._was_lost, signal=signal)

    def begin(self, url: str) -> None:
        """Note that the item of an original goes on to the later pipelines."""
        delivery = _Delivery(url)
        self._under_way[url] = delivery
        if url in self._lost:
            self._lost.remove(url)
        _current.set(delivery)

    def forget_last(self) -> None:
        """Note that an item without such a document comes: signals are not about the last one."""
        _current.set(None)

    async def comes_out(self, url: str) -> bool:
        """Whether the item of an original comes out, or did; waits for it while it may not.

        An original whose item takes too long counts as one that comes out.
        """
        delivery = self._under_way.get(url)
        if delivery is None:
            return url not in self._lost
        try:
            return await asyncio.wait_for(asyncio.shield(delivery.has_come_out), self._max_wait)
        except TimeoutError:
            return True

    async def _came_out(self) -> None:
        self._end(came_out=True)

    async def _was_lost(self) -> None:
        delivery = _current.get()
        if delivery is not None and not delivery.has_come_out.done():
            try:
                await self._withdraw(delivery.url)
            finally:
                self._end(came_out=False)

    def _end(self, *, came_out: bool) -> None:
        delivery = _current.get()
        if delivery is None or delivery.has_come_out.done():
            return
        delivery.has_come_out.set_result(came_out)
        if not came_out:
            self._lost.append(delivery.url)
        if self._under_way.get(delivery.url) is delivery:
            del self._under_way[delivery.url]
