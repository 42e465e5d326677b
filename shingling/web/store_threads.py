"""Threads that read and write the store, so that the event loop only waits for them."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from shingling.store.admin.looking.kept_pairs import KeptPairs
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.rules.rules import Rules

_T = TypeVar("_T")

THREADS = 2  # a list that takes long does not hold up a pair


class StoreThreads:
    """Sessions of one store, each used by one thread alone.

    Args:
        url: of the store, which exists.
        rules: by which pages that leave their group are decided again; None for those that the
            store is indexed for.
        read_only: whether the database is to refuse all changes.

    Attributes:
        kept: pairs of the store.
    """

    def __init__(self, url: str, rules: Rules | None, *, read_only: bool = False) -> None:
        self._url = url
        self._rules = rules
        self._read_only = read_only
        self.kept = KeptPairs(self._open)
        self._opened: list[Session] = []
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dedup-store")

    async def run(self, action: Callable[[Session], _T]) -> _T:
        """Run an action with the open store of a thread.

        Raises:
            ShinglingError: the action did.
        """
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._act, action)

    def _act(self, action: Callable[[Session], _T]) -> _T:
        session: Session | None = getattr(self._own, "session", None)
        if session is None:
            session = self._own.session = self._open()
            self._opened.append(session)
        return action(session)

    def _open(self) -> Session:
        return Session.open(self._url, rules=self._rules, create=False, read_only=self._read_only)

    def close(self) -> None:
        """Wait for what is under way, and close the store."""
        self._pool.shutdown()
        self.kept.close()
        for session in self._opened:
            session.close()
