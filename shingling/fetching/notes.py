"""Pages that are being noted: extracted and decided, for what they tell of the site's URLs."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.plugin.items.extracting import detached_task

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_MAX_PAGES = 2_000
_MAX_BYTES = 32 * 1024 * 1024  # of their bodies
_FEW_PAGES = 32
_MAX_WAIT_SECONDS = 5.0


class PagesNoted:
    """Pages that are being noted, bounded by their number and bytes."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._bytes = 0
        self._are_few = asyncio.Event()
        self._are_few.set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, noting: Callable[[], Coroutine[Any, Any, None]], size: int, done: Callable[[], None]
    ) -> bool:
        """Note a page.

        Args:
            noting: notes it.
            size: of its body, in bytes.
            done: is called at the end.

        Returns:
            Whether there was room for it.
        """
        if len(self._tasks) >= _MAX_PAGES or self._bytes + size > _MAX_BYTES:
            return False
        task = detached_task(noting())
        self._tasks.add(task)
        self._bytes += size
        if len(self._tasks) > _FEW_PAGES:
            self._are_few.clear()
        task.add_done_callback(partial(self._end, size, done))
        return True

    async def wait_for_few(self) -> None:
        """Wait until at most 32 pages are being noted, for a moment at most.

        Where a site answers faster than pages can be extracted, most of what is requested in the
        meantime would repeat a page that is fetched but not yet known.
        """
        if not self._are_few.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._are_few.wait(), _MAX_WAIT_SECONDS)

    async def finish(self, seconds: float) -> None:
        """Wait for the last pages, and give up those that take longer."""
        if self._tasks:
            _, late = await asyncio.wait([*self._tasks], timeout=seconds)
            for task in late:
                task.cancel()

    def _end(self, size: int, done: Callable[[], None], task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._bytes -= size
        if len(self._tasks) <= _FEW_PAGES:
            self._are_few.set()
        done()
