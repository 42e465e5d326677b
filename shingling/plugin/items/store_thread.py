"""The store on a thread of its own, which decides pages in small batches."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from shingling.errors import NoStoreError, StoreUnavailableError
from shingling.extraction.limits import call_libc, share_heap
from shingling.plugin.waiting import UnderWay
from shingling.store.decide.check import check_batch
from shingling.store.known import has_no_pages
from shingling.store.runs import end_run, insert_run, resume_run
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store.index import Index
    from shingling.store.model import Page, Verdict
    from shingling.store.runs import Run

    _Waiting = tuple[Page, asyncio.Future[Verdict]]

logger = logging.getLogger(__name__)

_RUNS = "dedup_runs"  # in the state of a job
_MAX_BATCH = 64  # pages in one transaction
_MAX_RESULTS_AT_ONCE = 4  # handed out before the event loop does something else
_ENOUGH = 16  # pages, with which a batch waits for no others
_PAUSE_SECONDS, _MAX_PAUSES = 0.05, 5  # in which a page waits for others of its batch
_BATCHES_UNTIL_TRIMMED = 64
_LEAST_MEMORY_BYTES = 1 << 28  # that a crawl must be able to get: stacks of threads, and tables

_T = TypeVar("_T")


class StoreThread:
    """A store, opened, used and closed on one thread, in batches (group commit).

    Args:
        settings: of the crawl.
        gone: URLs whose pages have answered that they are gone; the store takes them out.

    Attributes:
        expected: pages on their way to `check`: a batch waits for them, for a moment.
        was_empty: whether the store had no pages when it was opened.
    """

    def __init__(self, settings: DedupSettings, gone: deque[str]) -> None:
        self._gone = gone
        self._settings = settings
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dedup-store")
        self._session: Session | None = None
        self._index: Index | None = None  # of the store, as the crawl has last seen it
        self._run: Run | None = None
        self._waiting: list[_Waiting] = []
        self._deciding: asyncio.Task[None] | None = None
        self.expected = UnderWay(0)
        self._seconds = 0.0
        self._batches = 0
        self.is_dry_run = self.was_empty = False

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
        self.is_dry_run = dry_run
        share_heap()  # before there are threads
        return await self._call(self._open, spider, shown)

    def _open(self, spider: str, shown: dict[str, Any]) -> Scheme:
        settings, dry_run = self._settings, self.is_dry_run
        bytes(_LEAST_MEMORY_BYTES)  # not written to: better refused now than for each page
        open_session = partial(Session.open, scheme=settings.scheme, rules=settings.rules)
        try:
            session = open_session(settings.store_url, create=not dry_run)
        except NoStoreError:
            session = open_session("sqlite://")  # in memory
        try:
            self.was_empty = session.database.read(has_no_pages)
            session.compare_by(settings.extractor, dry_run=dry_run)
            if not dry_run:
                begin = partial(insert_run, spider=spider, settings=shown, is_crawl=True)
                self._run = session.write(begin)
        except BaseException:
            session.close()
            raise
        if session.index.shortfall(settings.rules):
            from shingling.plugin.items.index_fitting import fit  # few crawls need it

            fit(session, settings.rules, None if self._run is None else self._run.id)
        self._session, self._index = session, session.index
        return session.scheme

    async def resume(self, job: dict[str, Any]) -> None:
        """Go on with the runs of a job that was paused.

        Args:
            job: what Scrapy keeps of it (`JOBDIR`): here, the numbers of its runs.
        """
        if self._session is not None and self._run is not None:
            earlier = job.get(_RUNS, ())
            await self._call(
                self._session.database.read, partial(resume_run, run=self._run, earlier=earlier)
            )
            job[_RUNS] = [*self._run.parts]

    async def check(self, page: Page) -> Verdict:
        """Decide a page, and wait until it is committed.

        What comes in while one batch is decided makes up the next.

        Raises:
            StoreError: the database failed; the page is not stored.
        """
        verdict: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        self._waiting.append((page, verdict))
        if self._deciding is None or self._deciding.done():
            self._deciding = asyncio.create_task(self._decide_waiting())
        return await verdict

    async def _decide_waiting(self) -> None:
        while self._waiting:
            for _ in range(_MAX_PAUSES):
                if len(self._waiting) < _ENOUGH:
                    await self.expected.wait(_PAUSE_SECONDS)  # not at all if none is expected
            batch, self._waiting = self._waiting[:_MAX_BATCH], self._waiting[_MAX_BATCH:]
            if not await self._decide(batch):
                for single in batch:  # one that fails does not take the others with it
                    await self._decide([single], again=True)

    async def _decide(self, batch: list[_Waiting], *, again: bool = False) -> bool:
        """Decide a batch; False if that failed, and its pages have to be tried one by one.

        Of those, it is not known what is stored by then: none repeats what was met before.
        """
        began = time.monotonic()
        try:
            verdicts = await self._call(self._decide_now, [page for page, _ in batch])
        except Exception as error:  # every failure goes to the page that it belongs to
            if len(batch) > 1 and not isinstance(error, StoreUnavailableError):
                return False
            for _, verdict in batch:
                if not verdict.done():
                    verdict.set_exception(error)
            return True
        finally:
            self._seconds += time.monotonic() - began
            self._batches += 1
        for number, ((_, verdict), decided) in enumerate(zip(batch, verdicts, strict=True), 1):
            if not verdict.done():
                verdict.set_result(replace(decided, repeats=None) if again else decided)
            if number % _MAX_RESULTS_AT_ONCE == 0:
                await asyncio.sleep(0)  # what follows on all of them would take the loop long
        return True

    async def run(self, action: Callable[[Session], _T]) -> _T:
        """Do something with the open store, on its thread, and return what comes of it.

        Raises:
            StoreError: the database failed.
        """
        assert self._session is not None
        return await self._call(action, self._session)

    def count(self, **counts: int) -> None:
        """Add to the counts of the run, which are written when it ends."""
        if self._run is not None:
            self._run.counts.update(counts)

    def stats(self) -> dict[str, float]:
        """Stats of the store of a crawl, by key."""
        return {
            "time/store": round(self._seconds, 3),
            "batches": self._batches,
            # How often a key was met that has more pages than are looked at.
            "full_keys": 0 if self._run is None else self._run.counts["full_keys"],
        }

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
                self._warn_of_sites(self._session)
                end = partial(end_run, run=self._run, outcome=outcome)
                self._session.database.write(end)
        finally:
            self._session.close()

    def _warn_of_sites(self, session: Session) -> None:
        """Warn of preferred sites that no page is of: their names may be misspelt."""
        for site in self._settings.rules.prefer_sites:
            from shingling.store.store import Store  # few crawls need it

            if not [*Store(session).pages(limit=1, site=site)]:
                logger.warning(
                    "DEDUP_PREFER_SITES names %s: neither this crawl nor the store has a page of it"
                    " (each sub-domain is a site of its own)",
                    site,
                )

    def _decide_now(self, batch: list[Page]) -> list[Verdict]:
        rules, run = self._settings.rules, self._run
        session, dry_run = self._session, self.is_dry_run
        assert session is not None
        self._note_gone(session)
        verdicts = check_batch(session, batch, rules, run=run, dry_run=dry_run, any_index=True)
        if session.index != self._index:
            self._index = session.index
            if self._index.shortfall(rules):
                from shingling.plugin.items.index_fitting import warn_of  # few crawls need it

                warn_of(session, rules, "another process has made it during the crawl")
        if not self._batches % _BATCHES_UNTIL_TRIMMED:
            _trim_memory()
        return verdicts

    def _note_gone(self, session: Session) -> None:
        """Have pages that are gone not be met in the crawl before."""
        urls = [self._gone.popleft() for _ in range(len(self._gone))]
        if urls and not self.is_dry_run:
            from shingling.store.forgetting import note_gone  # few crawls need it

            note_gone(session, urls)

    async def _call(self, function: Callable[..., _T], *args: Any) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *args)


def _trim_memory() -> None:
    """Give free memory of the process back to the system: glibc keeps ever more of it."""
    if sys.platform == "linux":
        call_libc("malloc_trim", 0)
