"""How parts of a crawl wait for each other: docs/explanation/architecture.md lists all waits."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from scrapy.http import Response

_T = TypeVar("_T")


class UnderWay:
    """Counts what is under way. Others wait while it is too much.

    Args:
        most: with so many under way, others still go on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._is_room = asyncio.Event()
        self._is_room.set()

    def add(self, change: int) -> None:
        """Count something that begins (1) or ends (-1)."""
        self._number += change
        if self._number <= self._most:
            self._is_room.set()
        else:
            self._is_room.clear()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count one more in the block."""
        self.add(1)
        try:
            yield
        finally:
            self.add(-1)

    async def wait(self, max_seconds: float | None = None) -> None:
        """Wait until there is room, or until the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max_seconds):
                await self._is_room.wait()


async def ends_within(future: asyncio.Future[Any], seconds: float) -> bool:
    """Wait for a future, which goes on if it takes longer; whether it has ended."""
    if not future.done():
        await asyncio.wait([future], timeout=seconds)
    return future.done()


class SharedTasks(Generic[_T]):
    """Work that is done once for a response and a key, for all that wait for its result."""

    def __init__(self) -> None:
        self._tasks: WeakKeyDictionary[Response, dict[str, asyncio.Task[_T]]]
        self._tasks = WeakKeyDictionary()

    async def result(
        self, response: Response, key: str, work: Callable[[], Coroutine[Any, Any, _T]]
    ) -> _T:
        """Wait for the result, which is kept as long as its response."""
        tasks = self._tasks.setdefault(response, {})
        if key not in tasks:
            tasks[key] = detached_task(work())
        return await asyncio.shield(tasks[key])


def detached_task(work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start a task whose context is empty: that of the item has the response in it.

    A task that is kept for as long as its response would keep the response for good.
    """
    return asyncio.create_task(work, context=Context())
