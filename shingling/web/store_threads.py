"""Threads that read and write the store, so that the event loop only waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shingling.errors import ShinglingError
from shingling.store.session import Session
from shingling.web.requests import RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.rules.rules import Rules
    from shingling.store.indexing import Steps

_T = TypeVar("_T")

PATIENCE = 0.4
"""Seconds that a page waits for what is being counted."""

FIRST_PATIENCE = 5.0
"""The same, for what was never counted before: a small store is busy only while a crawl writes."""

_KEPT_TIMES_READING = 20  # so that reading takes no more than a twentieth of the time
_MOST_KEPT = 20
_QUICK = 0.1  # seconds


class StoreThreads:
    """Sessions of one store, each used by one thread alone.

    Args:
        url: of the store, which exists.
        rules: by which pages that leave their group are decided again; None for those that the
            store is indexed for.
        name: what the store is called on every page: its URL without the password.
        read_only: whether the database is to refuse all changes.
    """

    def __init__(
        self, url: str, rules: Rules | None, name: str = "", *, read_only: bool = False
    ) -> None:
        self.name, self.read_only = name, read_only
        self._open = partial(Session.open, url, rules=rules, create=False, read_only=read_only)
        self._own = threading.local()
        self._opened: list[Session] = []
        self._stopped = threading.Event()
        # A list that takes long does not hold up a pair, nor does a dry run, nor what is counted.
        self._pages, self._long, self._counting = map(ThreadPoolExecutor, (2, 1, 1))

    async def run(self, action: Callable[[Session], _T]) -> _T:
        """Run an action with the open store of a thread.

        Raises:
            StoreError: the store cannot be opened, or the action has failed.
        """
        return await asyncio.wrap_future(self._pages.submit(self._act, action))

    def begin(self, read: Callable[[Session, Steps], _T], requested: Any) -> LongRead[_T]:
        """Begin to read what takes minutes, after what was begun before.

        Args:
            read: reads it, and tells how far that is.
            requested: what it is asked for, such as a threshold.
        """
        begun = LongRead[_T](requested)

        def show(done: int, total: int) -> None:
            begun.done, begun.total = done, total
            if self._stopped.is_set():
                raise ShinglingError("this was stopped")

        begun.future = self._long.submit(self._act, lambda session: read(session, show))
        return begun

    def count(self, action: Callable[[Session], _T]) -> Future[_T]:
        """Have an action that takes seconds run in a thread of its own."""
        return self._counting.submit(self._act, action)

    def _act(self, action: Callable[[Session], _T]) -> _T:
        if not hasattr(self._own, "session"):
            self._own.session = self._open()
            self._opened.append(self._own.session)
        return action(self._own.session)

    def close(self) -> None:
        """Wait for what is under way, which ends early if it takes long, and close the store."""
        self._stopped.set()
        for pool in (self._pages, self._long, self._counting):
            pool.shutdown(cancel_futures=True)
        for session in self._opened:
            session.close()


@dataclass
class LongRead(Generic[_T]):
    """What takes minutes to read, in the background, as far as it is known.

    Args:
        requested: what it is asked for, such as a threshold.
        begun: when it did.
        done: how much is done.
        total: of how much.
        future: has it at the end.
    """

    requested: Any
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))
    done: int = 0
    total: int = 0
    future: Future[_T] = field(default_factory=Future)

    def found(self, seconds: float = 0) -> tuple[_T | None, str]:
        """Take what was read, or why that failed: neither if it takes longer than some seconds."""
        if not wait([self.future], seconds).done:
            return None, ""
        error = self.future.exception()
        return (self.future.result(), "") if error is None else (None, str(error))


class CountingError(RequestError):
    """What is asked for is still being counted, and is there a moment later."""


class Kept:
    """What takes long to read from a large store, and is then kept for a while.

    Args:
        stores: whose thread reads it.
    """

    def __init__(self, stores: StoreThreads) -> None:
        self._stores = stores
        self._starting = threading.Lock()
        self._reading: dict[str, Future[Any]] = {}
        self._read: dict[str, tuple[Any, float]] = {}

    def get(self, name: str, read: Callable[[Session], Any]) -> Any:
        """Take what was read a while ago, or have it read again and wait for that a little.

        Raises:
            CountingError: it was never read before, and that takes longer.
        """
        value, until = self._read.get(name, (None, 0.0))
        if time.monotonic() > until:
            with self._starting:
                reading = self._reading.get(name)
                if reading is None or reading.done():
                    reading = self._stores.count(partial(self._read_now, name, read))
                    self._reading[name] = reading
            with suppress(TimeoutError):
                value = reading.result(FIRST_PATIENCE if value is None else PATIENCE)
        if value is None:
            raise CountingError("the pages are being counted for the first time: a moment", 503)
        return value

    def forget(self) -> None:
        """Forget what was read: something has changed."""
        self._read.clear()

    def _read_now(self, name: str, read: Callable[[Session], Any], session: Session) -> Any:
        begun = time.monotonic()
        value = read(session)
        ended = time.monotonic()
        if ended - begun > _QUICK:  # otherwise it is read each time
            self._read[name] = value, ended + _KEPT_TIMES_READING * (ended - begun)
        for old in [*self._reading][:-_MOST_KEPT]:
            self._reading.pop(old, None)
            self._read.pop(old, None)
        return value
