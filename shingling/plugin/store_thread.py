"""The store on a thread of its own, which decides pages in small batches."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.errors import StoreUnavailableError
from shingling.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Page, Run, Verdict

_BATCH = 64  # pages in one transaction


class StoreThread:
    """A store, opened, used and closed on one thread.

    While a batch is decided, the pages that come in make up the next one (group commit).
    """

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dedup-store")
        self._store: Store | None = None
        self._run: Run | None = None
        self._waiting: list[tuple[Page, asyncio.Future[Verdict]]] = []
        self._task: asyncio.Task[None] | None = None
        self.seconds = 0.0
        self.batches = 0

    async def open(self, spider: str, shown: dict[str, Any]) -> None:
        """Open the store and begin a run.

        Raises:
            StoreError, SchemeError: the store cannot be used.
        """
        try:
            await self._call(self._open, spider, shown)
        except BaseException:
            self._executor.shutdown()
            raise

    def _open(self, spider: str, shown: dict[str, Any]) -> None:
        settings = self._settings
        store = Store.open(settings.store_url, scheme=settings.scheme, rules=settings.rules)
        try:
            store.require(settings.rules)
            self._run = store.start_run(spider, shown)
        except BaseException:
            store.close()
            raise
        self._store = store

    async def check(self, page: Page) -> Verdict:
        """Return the verdict on a page, once it is committed.

        Raises:
            StoreError: the database failed; the page is not stored.
        """
        verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting.append((page, verdict))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await verdict

    @property
    def full_keys(self) -> int:
        """Return how often a key was met that has more pages than are looked at."""
        return 0 if self._run is None else self._run.counts["full_keys"]

    async def close(self, outcome: str) -> None:
        """End the run and close the store."""
        try:
            await self._call(self._close, outcome)
        finally:
            self._executor.shutdown()

    def _close(self, outcome: str) -> None:
        if self._store is None or self._run is None:
            return
        try:
            self._store.finish_run(self._run, outcome)
        finally:
            self._store.close()

    async def _work(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            if not await self._decide(batch):
                # One page must not take the others with it.
                for single in batch:
                    await self._decide([single])

    async def _decide(self, batch: list[tuple[Page, asyncio.Future[Verdict]]]) -> bool:
        """Decide a batch; return False where it failed and has to be tried one by one."""
        assert self._store is not None
        decide = partial(
            self._store.check,
            [page for page, _ in batch],
            rules=self._settings.rules,
            run=self._run,
        )
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            verdicts = await self._call(decide)
        except Exception as error:  # every failure goes to the page that it belongs to
            shared = isinstance(error, StoreUnavailableError)
            if len(batch) > 1 and not shared:
                return False
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return True
        finally:
            self.seconds += loop.time() - began
            self.batches += 1
        for (_, future), verdict in zip(batch, verdicts, strict=True):
            if not future.done():
                future.set_result(verdict)
        return True

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)
