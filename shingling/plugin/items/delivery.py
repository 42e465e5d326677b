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


# URL of the original whose item the pipelines work on, and whether that has come out.
_current: ContextVar[tuple[str, asyncio.Future[bool]] | None] = ContextVar("current", default=None)


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
        self._under_way: dict[str, asyncio.Future[bool]] = {}
        self._lost: deque[str] = deque(maxlen=_MAX_LOST_URLS)  # for verdicts that are older
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._ended, signal=signal)

    def begin(self, url: str) -> None:
        """Note that the item of an original goes on to the later pipelines."""
        has_come_out = self._under_way[url] = asyncio.get_running_loop().create_future()
        if url in self._lost:
            self._lost.remove(url)
        _current.set((url, has_come_out))

    def forget_last(self) -> None:
        """Note that an item without such a document comes: signals are not about the last one."""
        _current.set(None)

    async def comes_out(self, url: str) -> bool:
        """Whether the item of an original comes out, or did; waits for it while it may not.

        An original whose item takes too long counts as one that comes out.
        """
        has_come_out = self._under_way.get(url)
        if has_come_out is None:
            return url not in self._lost
        await asyncio.wait([has_come_out], timeout=self._max_wait)
        return has_come_out.result() if has_come_out.done() else True

    async def _ended(self, signal: object) -> None:
        """Note what has become of the item of an original, and withdraw one that was lost."""
        url, has_come_out = _current.get() or ("", None)
        if has_come_out is None or has_come_out.done():
            return
        came_out = signal is signals.item_scraped
        try:
            if not came_out:
                await self._withdraw(url)
        finally:
            has_come_out.set_result(came_out)
            if not came_out:
                self._lost.append(url)
            if self._under_way.get(url) is has_come_out:
                del self._under_way[url]
