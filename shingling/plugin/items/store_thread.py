"""The store on a thread of its own, which decides pages in small batches."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shingling.errors import NoStoreError, StoreError, StoreGoneError, StoreUnavailableError
from shingling.store import Store
from shingling.store.admin.queries import page_by_url, pages_by_body
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import Page, Run, Verdict

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
    """A store, opened, used and closed on one thread, in batches (group commit)."""

    def __init__(self, settings: DedupSettings) -> None:
        self._settings = settings
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dedup-store")
        self._session: Session | None = None
        self._store: Store | None = None
        self._run: Run | None = None
        self._shown: tuple[str, dict[str, Any]] = "", {}  # the spider and settings of the run
        self._dry_run = False
        self._scheme: Scheme | None = None  # that pages are signed under
        self._gone: StoreGoneError | None = None
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
            StoreError, SchemeError, BandingError: the store cannot be used.
        """
        self._shown, self._dry_run = (spider, shown), dry_run
        self._scheme = await self._call(self._open)
        return self._scheme

    def _open(self, run: Run | None = None) -> Scheme:
        """Open the store, and begin a run unless there is one."""
        settings, dry_run = self._settings, self._dry_run
        scheme = self._scheme or settings.scheme
        open_session = partial(Session.open, scheme=scheme, rules=settings.rules)
        try:
            session = open_session(settings.store_url, create=not dry_run)
        except NoStoreError:
            session = open_session("sqlite://")  # in memory
        store = Store(session)
        try:
            if self._scheme not in (None, store.scheme):
                raise StoreError(f"{store.url}: another store, whose signatures are others")
            store.require(settings.rules)
            session.compare_by(settings.extractor, dry_run=dry_run)
            if not dry_run:
                self._run = run or store.start_run(*self._shown)
        except BaseException:
            store.close()
            raise
        self._session, self._store = session, store
        return store.scheme

    def _reopen(self, gone: StoreGoneError) -> None:
        """Open the store again that was deleted or replaced, or make it again.

        Raises:
            StoreError: it cannot be made now; the next batch tries again.
        """
        old = self._session
        assert old is not None
        if self._gone is None:
            self._gone = gone
            logger.error("Dedup lost its store: %s", gone)
        rescued = old.database.rescue()
        old.close()
        self._open(self._run if rescued else None)
        self._gone = None
        if rescued:
            logger.warning("%s: written again, with all its pages", old.database.where)
        else:
            logger.error(
                "%s: opened again; pages that were in the former store and are not in this one"
                " are not known any more",
                old.database.where,
            )

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
        if self._gone is not None:
            raise self._gone
        page: Page | None = await self._call(page_by_url, self._session, url, scope)
        return page

    async def forget(self, url: str) -> None:
        """Remove what is stored under a URL.

        Raises:
            StoreError: the database failed.
        """
        if self._gone is not None:
            raise self._gone
        if self._store is not None and not self._dry_run:
            await self._call(self._store.admin.forget, [url])

    async def run(self, action: Callable[[Session], _Out]) -> _Out:
        """Do something with the open store, on its thread, and return what comes of it.

        Raises:
            StoreError: the database failed.
        """
        done: _Out = await self._call(self._surviving, self._with_session, action)
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
        if self._store is None:
            return
        try:
            if self._run is not None:
                self._finish(self._run, outcome)
        finally:
            self._store.close()

    def _finish(self, run: Run, outcome: str) -> None:
        assert self._store is not None
        gone = self._gone
        if gone is None:
            try:
                self._store.finish_run(run, outcome)
            except StoreGoneError as error:
                gone = error
        if gone is not None:
            self._reopen(gone)
            assert self._run is not None
            self._store.finish_run(self._run, outcome)

    async def _check(self, batch: list[Page]) -> list[Verdict]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            verdicts: list[Verdict] = await self._call(self._surviving, self._decide_now, batch)
        finally:
            self.seconds += loop.time() - began
            self.batches += 1
        return verdicts

    def _surviving(self, action: Callable[..., _Out], *args: Any) -> _Out:
        """Do something; where the store was lost, with the one that is opened or made again."""
        if self._gone is None:
            try:
                return action(*args)
            except StoreGoneError as gone:
                if self._settings.on_error == "close":
                    raise
                self._reopen(gone)
        else:
            self._reopen(self._gone)
        return action(*args)

    def _decide_now(self, batch: list[Page]) -> list[Verdict]:
        assert self._store is not None
        rules, run = self._settings.rules, self._run
        return self._store.check(batch, rules=rules, run=run, dry_run=self._dry_run)

    async def _by_body(self, keys: list[bytes]) -> list[Page | None]:
        if self._gone is not None:
            raise self._gone
        found: dict[bytes, Page] = await self._call(pages_by_body, self._session, keys)
        return [found.get(key) for key in keys]

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)
