"""Threads that read and write the store, so that the event loop only waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Generic, TypeVar

from shingling.errors import ShinglingError
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.rules.rules import Rules

_T = TypeVar("_T")

THREADS = 2  # a list that takes long does not hold up a pair
PATIENCE = 0.5
"""Seconds that a page waits for what is being counted."""

_KEPT_TIMES_READING = 20  # so that reading takes no more than a twentieth of the time


@dataclass
class StoreThreads:
    """Sessions of one store, each used by one thread alone.

    Args:
        url: of the store, which exists.
        rules: by which pages that leave their group are decided again; None for those that the
            store is indexed for.
        read_only: whether the database is to refuse all changes.
    """

    url: str
    rules: Rules | None
    read_only: bool = False
    _opened: list[Session] = field(default_factory=list)
    _own: threading.local = field(default_factory=threading.local)
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, thread_name_prefix="dedup-store")
    )
    _long: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="dedup-long")
    )
    _counting: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="dedup-counting")
    )
    _stopped: threading.Event = field(default_factory=threading.Event)

    async def run(self, action: Callable[[Session], _T]) -> _T:
        """Run an action with the open store of a thread.

        Raises:
            ShinglingError: the action did.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._act, action)

    def begin(self, action: Callable[[Callable[[], Session], threading.Event], None]) -> None:
        """Have an action that takes minutes run in a thread of its own, after those begun before.

        Args:
            action: is told how to open the store, and what is set when it is to end early.
        """
        self._long.submit(action, self._session, self._stopped)

    def count(self, action: Callable[[Session], _T]) -> Future[_T]:
        """Have an action that takes seconds run in a thread of its own."""
        return self._counting.submit(self._act, action)

    def _act(self, action: Callable[[Session], _T]) -> _T:
        return action(self._session())

    def _session(self) -> Session:
        """Open store of this thread."""
        session: Session | None = getattr(self._own, "session", None)
        if session is None:
            session = self._own.session = Session.open(
                self.url, rules=self.rules, create=False, read_only=self.read_only
            )
            self._opened.append(session)
        return session

    def close(self) -> None:
        """Wait for what is under way, which ends early if it takes long, and close the store."""
        self._stopped.set()
        for pool in (self._pool, self._long, self._counting):
            pool.shutdown(cancel_futures=True)
        for session in self._opened:
            session.close()


@dataclass
class LongRead:
    """What takes minutes to read, in the background, as far as it is known.

    Args:
        begun: when it did.
        is_running: whether it has not ended.
        done: how much is done.
        total: of how much.
        ended: when it did.
        problem: why it failed.
    """

    begun: datetime = field(default_factory=lambda: datetime.now(UTC))
    is_running: bool = True
    done: int = 0
    total: int = 0
    ended: datetime | None = None
    problem: str = "the store could not be read"
    over: threading.Event = field(default_factory=threading.Event, repr=False)

    def read(self, session: Session, show: Callable[[int, int], None]) -> None:
        """Read it, and tell how far that is."""
        raise NotImplementedError

    def run(self, opened: Callable[[], Session], stopped: threading.Event) -> None:
        """Read it; end early if that is to stop."""

        def show(done: int, total: int) -> None:
            self.done, self.total = done, total
            if stopped.is_set():
                raise ShinglingError("this was stopped")

        try:
            self.read(opened(), show)
        except ShinglingError as error:
            self.problem = str(error)
        finally:
            self.ended, self.is_running = datetime.now(UTC), False
            self.over.set()


class CountingError(ShinglingError):
    """What is asked for is still being counted, and is there a moment later."""


@dataclass
class Kept(Generic[_T]):
    """What takes long to read from a large store, and is kept for a while.

    Args:
        stores: whose thread reads it.
        read: reads it.
    """

    stores: StoreThreads
    read: Callable[[Session], _T]
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _reading: Future[_T] | None = None
    _kept: _T | None = None
    _until: float = 0.0

    def get(self) -> _T:
        """Take what was read a while ago, or have it read again and wait for that a little.

        Raises:
            CountingError: it was never read before, and that takes longer.
        """
        with self._starting:
            if self._reading is None and time.monotonic() > self._until:
                self._reading = self.stores.count(self._read)
            reading = self._reading
        if reading is not None:
            try:
                return reading.result(PATIENCE)
            except TimeoutError:
                pass
        if self._kept is None:
            raise CountingError("the pages are being counted for the first time: a moment")
        return self._kept

    def _read(self, session: Session) -> _T:
        begun = time.monotonic()
        try:
            self._kept = self.read(session)
            return self._kept
        finally:
            ended = time.monotonic()
            self._until = ended + _KEPT_TIMES_READING * (ended - begun)
            self._reading = None
