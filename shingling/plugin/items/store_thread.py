"""The store on a thread of its own, which decides pages in small batches."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shingling.errors import NoStoreError, StoreError, StoreUnavailableError
from shingling.plugin.items.former import fit, log_former_rules, warn_of
from shingling.store.decide.check import check_batch
from shingling.store.queries import page_by_url, pages_by_body
from shingling.store.runs import end_run, insert_run
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Awaitable, Callable, Iterator

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import Index, Page, Run, Verdict

logger = logging.getLogger(__name__)

_MAX_BATCH = 64  # pages in one transaction
_MAX_RESULTS_AT_ONCE = 4  # handed out before the event loop does something else
_MAX_WAIT_SECONDS = 0.05  # of a page for others of its batch

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class _Batches(Generic[_In, _Out]):
    """Does work in batches: what comes in while one batch is done makes up the next.

    Args:
        work: does a batch. If that fails, each one is done by itself, so that one which fails
            does not take the others with it.
        expected: how many are on their way, which a batch waits for, for a moment.
    """

    def __init__(
        self,
        work: Callable[[list[_In]], Awaitable[list[_Out]]],
        expected: Callable[[], int] = lambda: 0,
    ) -> None:
        self._work = work
        self._expected = expected
        self._waiting: list[tuple[_In, asyncio.Future[_Out]]] = []
        self._task: asyncio.Task[None] | None = None
        self._enough: asyncio.Future[None] | None = None

    async def do(self, one: _In) -> _Out:
        """Have one done; raises what the work raises for this one alone."""
        outcome: asyncio.Future[_Out] = asyncio.get_running_loop().create_future()
        self._waiting.append((one, outcome))
        if self._is_enough():
            self._go_on()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        return await outcome

    async def _run(self) -> None:
        while self._waiting:
            await self._wait_for_others()
            batch, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
            if not await self._do(batch):
                for single in batch:
                    await self._do([single])

    async def _wait_for_others(self) -> None:
        """Wait until all that is on its way is here, a batch is full, or a moment has passed."""
        if self._is_enough():
            return
        loop = asyncio.get_running_loop()
        self._enough = loop.create_future()
        timer = loop.call_later(_MAX_WAIT_SECONDS, self._go_on)
        await self._enough
        timer.cancel()
        self._enough = None

    def _is_enough(self) -> bool:
        return not self._expected() or len(self._waiting) >= _MAX_BATCH

    def _go_on(self) -> None:
        if self._enough is not None and not self._enough.done():
            self._enough.set_result(None)

    async def _do(self, batch: list[tuple[_In, asyncio.Future[_Out]]]) -> bool:
        """Do a batch; False if it failed and has to be tried one by one."""
        try:
            results = await self._work([one for one, _ in batch])
        except Exception as error:  # every failure goes to the one that it belongs to
            if len(batch) > 1 and not isinstance(error, StoreUnavailableError):
                return False
            for _, outcome in batch:
                if not outcome.done():
                    outcome.set_exception(error)
            return True
        for number, ((_, outcome), result) in enumerate(zip(batch, results, strict=True), 1):
            if not outcome.done():
                outcome.set_result(result)
            if number % _MAX_RESULTS_AT_ONCE == 0:
                await asyncio.sleep(0)  # what follows on all of them would take the loop long
        return True


class StoreThread:
    """A store, opened, used and closed on one thread, in batches (group commit).

    Args:
        settings: of the crawl.
        gone: URLs whose pages have answered that they are gone; the store takes them out.
    """

    def __init__(self, settings: DedupSettings, gone: deque[str]) -> None:
        self._gone = gone
        self._settings = settings
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dedup-store")
        self._session: Session | None = None
        self._index: Index | None = None  # of the store, as the crawl has last seen it
        self._run: Run | None = None
        self._dry_run = False
        self._checks = _Batches(self._check, lambda: self._expected)
        self._expected = 0
        self._bodies = _Batches(self._by_body)
        self.seconds = 0.0
        self.batches = 0

    @contextmanager
    def expecting(self) -> Iterator[None]:
        """Tell batches that a page is on its way to `check`: they wait for it, for a moment."""
        self._expected += 1
        try:
            yield
        finally:
            self._expected -= 1

    async def open(self, spider: str, shown: dict[str, Any], *, dry_run: bool = False) -> Scheme:
        """Open the store and begin a run.

        Args:
            spider: its name.
            shown: what the run keeps of the settings.
            dry_run: decide without changing the store, nor making one.

        Returns:
            The scheme that pages are signed under.

        Raises:
            StoreError, SchemeError: the store cannot be used.
        """
        self._dry_run = dry_run
        scheme: Scheme = await self._call(self._open, spider, shown)
        return scheme

    def _open(self, spider: str, shown: dict[str, Any]) -> Scheme:
        settings, dry_run = self._settings, self._dry_run
        open_session = partial(Session.open, scheme=settings.scheme, rules=settings.rules)
        try:
            session = open_session(settings.store_url, create=not dry_run)
        except NoStoreError:
            session = open_session("sqlite://")  # in memory
        try:
            session.compare_by(settings.extractor, dry_run=dry_run)
            log_former_rules(session, settings.rules)
            if not dry_run:
                begin = partial(insert_run, spider=spider, settings=shown, is_crawl=True)
                self._run = session.write(begin)
        except BaseException:
            session.close()
            raise
        fit(session, settings.rules, None if self._run is None else self._run.id)
        self._session, self._index = session, session.index
        return session.scheme

    async def check(self, page: Page) -> Verdict:
        """Decide a page, and wait until it is committed.

        Raises:
            StoreError: the database failed; the page is not stored.
        """
        return await self._checks.do(page)

    async def by_body(self, key: bytes) -> Page | None:
        """Page that was extracted from a body before; None also if the database fails.

        Then `check`, which needs the database, waits for it or says what is wrong.
        """
        try:
            return await self._bodies.do(key)
        except StoreError:
            return None

    async def as_read(self, url: str, scope: str) -> Page | None:
        """Page under a URL as it was stored.

        Raises:
            StoreError: the database failed.
        """
        page: Page | None = await self._call(page_by_url, self._session, url, scope)
        return page

    async def forget(self, url: str) -> None:
        """Remove what is stored under a URL.

        Raises:
            StoreError: the database failed.
        """
        from shingling.store.forgetting import Chosen, forget  # few crawls need it

        if self._session is not None and not self._dry_run:
            await self._call(forget, self._session, Chosen([url]))

    async def run(self, action: Callable[[Session], _Out]) -> _Out:
        """Do something with the open store, on its thread, and return what comes of it.

        Raises:
            StoreError: the database failed.
        """
        done: _Out = await self._call(self._with_session, action)
        return done

    def _with_session(self, action: Callable[[Session], _Out]) -> _Out:
        assert self._session is not None
        return action(self._session)

    def count(self, **counts: int) -> None:
        """Add to the counts of the run, which are written when it ends."""
        if self._run is not None:
            self._run.counts.update(counts)

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing is to be written."""
        return self._dry_run

    @property
    def full_keys(self) -> int:
        """How often a key was met that has more pages than are looked at."""
        return 0 if self._run is None else self._run.counts["full_keys"]

    @property
    def damaged(self) -> int:
        """How many damaged rows were met."""
        return 0 if self._session is None else self._session.database.damage.number

    async def close(self, outcome: str) -> None:
        """End the run and close the store."""
        try:
            await self._call(self._close, outcome)
        finally:
            self._executor.shutdown()

    def _close(self, outcome: str) -> None:
        if self._session is None:
            return
        try:
            self._note_gone(self._session)
            if self._run is not None:
                end = partial(end_run, run=self._run, outcome=outcome)
                self._session.database.write(end)
        finally:
            self._session.close()

    async def _check(self, batch: list[Page]) -> list[Verdict]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            verdicts: list[Verdict] = await self._call(self._decide_now, batch)
        finally:
            self.seconds += loop.time() - began
            self.batches += 1
        return verdicts

    def _decide_now(self, batch: list[Page]) -> list[Verdict]:
        rules, run = self._settings.rules, self._run
        session, dry_run = self._session, self._dry_run
        assert session is not None
        self._note_gone(session)
        verdicts = check_batch(session, batch, rules, run=run, dry_run=dry_run, any_index=True)
        if session.index != self._index:
            self._index = session.index
            if self._index.shortfall(rules):
                warn_of(session, rules, "another process has made it during the crawl")
        return verdicts

    def _note_gone(self, session: Session) -> None:
        """Have pages that are gone not be met in the crawl before."""
        urls = [self._gone.popleft() for _ in range(len(self._gone))]
        if urls and not self._dry_run:
            from shingling.store.forgetting import note_gone  # few crawls need it

            note_gone(session, urls)

    async def _by_body(self, keys: list[bytes]) -> list[Page | None]:
        found: dict[bytes, Page] = await self._call(pages_by_body, self._session, keys)
        return [found.get(key) for key in keys]

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)
