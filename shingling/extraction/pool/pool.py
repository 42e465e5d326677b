"""Worker processes, or a thread, that extract pages away from the event loop.

A page is slow when it takes more than 2 seconds. Slow pages share one lane, however many there
are, so that the pages behind them go on:

    waiting --> one of the ordinary lanes --> answered
                    | the page is slow, and others wait
                    v
                waiting for the slow lane --> the slow lane --> answered, or given up
                (only so many; the others are given up)

The lane of the first slow page becomes the slow lane, and a new one, which was started a second
before, takes its place; it ends when no slow page is left. Meanwhile
the process of another slow page is ended, and the page is tried again in the slow lane. So there is
one process more than `workers`, at most.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from shingling.errors import ExtractionError
from shingling.extraction.pool.jobs import BodiesGivenUp, Job
from shingling.extraction.processes import (
    Watchdog,
    WatchedWorker,
    Worker,
    WorkerDiedError,
    WorkerTimeoutError,
)

if TYPE_CHECKING:
    from shingling.extraction.html import Head, MainText
    from shingling.extraction.pages import Extraction, Fetched, PageExtractor

logger = logging.getLogger(__name__)

SLOW_SECONDS = 2.0
"""Seconds after which a page is slow."""

_SLOW_SECONDS_UNDER_ATTACK = 1.0  # while there is a slow lane
_MAX_SLOW_PAGES = 16  # that wait for the slow lane
# Of those and of the one in the slow lane; Scrapy fetches nothing while it works on 5 MB.
_MAX_SLOW_BYTES = 4_000_000
_PATIENCE_GAINED = 1.01  # by a page that is answered; one that is given up halves it
_MAX_WATCH_SECONDS = 0.25  # between two looks for pages that take too long


def start_worker() -> Worker | None:
    """Start a process for a pool that is made later; None if processes cannot be started."""
    try:
        return Worker("shingling.extraction.pages")
    except OSError:
        return None


class _Lane(threading.Thread):
    """A thread that has one page after the other extracted by its process, or by itself.

    Its pool guards `job`, `since` and the flags by a lock.
    """

    def __init__(self, number: int, pool: ExtractionPool, process: Worker | None) -> None:
        super().__init__(name=f"dedup-extract-{number}", daemon=True)
        self.job: Job | None = None  # that is extracted; None also when it was taken away
        self.since = 0.0
        self.is_slow = False
        self.is_lost = False  # a thread whose page cannot be ended: another one replaces it
        self.worker: WatchedWorker | None = None
        self._pool = pool
        self._process = process

    def run(self) -> None:
        """Extract pages for as long as the pool has one for this lane."""
        if self._process is not None:
            self._start(WatchedWorker(self._pool.extractor, self._pool.timeout), self._process)
        while (job := self._pool.next_job(self)) is not None:
            try:
                outcome = self._answer(job)
            except Exception as error:  # whatever it is, the page must hear of it
                outcome = error
            # Not where an extractor calls sys.exit in this thread: the watchdog gives the page up.
            self._pool.end_job(self, job, outcome)
            if self.worker is not None and self.worker.has_ended:
                if self.is_slow:
                    break
                self._start(self.worker, start_worker())
        if self.worker is not None:
            self.worker.end()
        self._pool.leave(self)

    def _answer(self, job: Job) -> Any:
        self._pool.given_up.check(job)
        if self.worker is None:
            return self._pool.answer_in_thread(job)
        try:
            return self._pool.given_up.note(job, self.worker.ask(job.question))
        except WorkerTimeoutError as error:
            raise _timeout() from error
        except WorkerDiedError as error:
            self._pool.given_up.add(job, "worker_died")
            raise ExtractionError("worker_died", "the worker process died of it") from error

    def _start(self, worker: WatchedWorker, process: Worker | None) -> None:
        """Go on with a new process; without one if it cannot be started, or does not get ready."""
        self.worker = None
        if process is None:
            worker.end()
            return
        try:
            worker.start(process)
        except WorkerDiedError:
            logger.warning("A worker process did not start; pages are extracted in a thread")
            worker.end()
        else:
            self.worker = worker


def _timeout() -> ExtractionError:
    return ExtractionError("timeout", "the page took too long")


class ExtractionPool:
    """Extracts pages in worker processes, or in one thread where `workers` is 0.

    A process is started when a page finds all others busy: small crawls need only one.

    Args:
        extractor: of the pages.
        workers: number of processes at most, without that of the slow lane.
        timeout: seconds after which a page is given up; fewer while pages are given up.
        first: a worker process that was started before.
        slow_seconds: after which a page is slow; infinite where no page waits for another one.
    """

    def __init__(
        self,
        extractor: PageExtractor,
        workers: int,
        timeout: float,
        *,
        first: Worker | None = None,
        slow_seconds: float = SLOW_SECONDS,
    ) -> None:
        self.extractor = extractor
        self.timeout = timeout
        self.given_up = BodiesGivenUp()
        self.seconds = 0.0  # that all lanes together have spent on pages
        self._slow_seconds = slow_seconds
        self._patience = timeout  # seconds that a page has at this moment
        self._changed = threading.Condition()  # guards all that follows
        self._waiting: deque[Job] = deque()
        self._waiting_slow: deque[tuple[Job, float]] = deque()  # and since when
        self._lanes: list[_Lane] = []  # ordinary ones
        self._slow_lane: _Lane | None = None
        self._is_closed = False
        self._has_warned = False  # of pages that need a process
        self._max_lanes = workers
        if workers and first is None:
            first = start_worker()
        if first is None:
            if workers:
                logger.warning(
                    "Worker processes cannot be started; pages are extracted in a thread"
                )
            self._max_lanes = 1
            # It reports every page without main text as an error; the verdict says it too.
            logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
        self._uses_processes = first is not None
        self._add_lane(first)
        self._watchdog = Watchdog("dedup-watch", min(_MAX_WATCH_SECONDS, timeout / 4), self._watch)

    @property
    def has_slow_page(self) -> bool:
        """Whether a page is slow that is extracted, or waits for the slow lane."""
        with self._changed:
            if self._slow_lane is not None or self._waiting_slow:
                return True
            began_before = time.monotonic() - self._slow_seconds
            return any(lane.job is not None and lane.since < began_before for lane in self._lanes)

    async def extract(self, fetched: Fetched) -> Extraction:
        """Extract and sign the main text of a page.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        extraction: Extraction = await self._ask("extract", fetched)
        return extraction

    async def head(self, fetched: Fetched) -> Head:
        """Extract what a page says of itself; it raises what `extract` does."""
        head: Head = await self._ask("head", fetched)
        return head

    async def main_text(self, fetched: Fetched) -> MainText | None:
        """Extract the text that people read, by trafilatura; None where there is none.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        main: MainText | None = await self._ask("main_text", fetched)
        return main

    async def _ask(self, name: str, fetched: Fetched) -> Any:
        job = Job((name, fetched), Future())
        with self._changed:
            self._waiting.append(job)
            busy = sum(lane.job is not None for lane in self._lanes)
            needs_lane = len(self._lanes) < min(len(self._waiting) + busy, self._max_lanes)
            self._changed.notify_all()
        if needs_lane:
            process = start_worker()
            if process is not None:
                self._add_lane(process)
        return await asyncio.wrap_future(job.result)

    def close(self) -> None:
        """Extract what has been handed in, then end the workers."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            while self._lanes or self._slow_lane is not None or self._waiting_slow:
                self._changed.wait()
        self._watchdog.stop()

    # Called by lanes.

    def next_job(self, lane: _Lane) -> Job | None:
        """Wait for a page for a lane; None if there will be none."""
        with self._changed:
            while not lane.is_lost:
                if lane.is_slow:
                    job = self._waiting_slow.popleft()[0] if self._waiting_slow else None
                elif self._has_lane_to_spare():
                    self._lanes.remove(lane)
                    return None
                elif self._waiting:
                    job = self._take_waiting()
                elif self._is_closed:
                    job = None
                else:
                    self._changed.wait()
                    continue
                lane.job, lane.since = job, time.monotonic()
                if job is None and lane is self._slow_lane:
                    self._slow_lane = None  # from now on, the next one can be it
                return job
            return None

    def end_job(self, lane: _Lane, job: Job, outcome: Any) -> None:
        """Hand over what has become of a page, unless it was taken away from the lane."""
        with self._changed:
            if lane.job is not job:
                return
            lane.job = None
            self.seconds += time.monotonic() - lane.since
            self._patience = min(self.timeout, self._patience * _PATIENCE_GAINED)
        job.finish(outcome)

    def answer_in_thread(self, job: Job) -> Any:
        """Extract a page without a process, unless that could hold up the event loop."""
        from shingling.extraction.pages import check_for_thread  # it takes long to import

        try:
            check_for_thread(job.question[1])
        except ExtractionError:
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "Pages that could hold up the crawl are not extracted in a thread, and are"
                    " skipped (needs_worker): they need DEDUP_WORKERS = 1 or more"
                )
            raise
        return self.extractor.answer(job.question)

    def leave(self, lane: _Lane) -> None:
        """Note that a lane has ended."""
        with self._changed:
            if lane in self._lanes:
                self._lanes.remove(lane)
            if lane is self._slow_lane:
                self._slow_lane = None
            self._changed.notify_all()

    def _has_lane_to_spare(self) -> bool:
        """Whether a lane was started for a page that was not slow after all."""
        if len(self._lanes) <= self._max_lanes:
            return False
        began_before = time.monotonic() - self._slow_seconds / 2
        return all(lane.job is None or lane.since > began_before for lane in self._lanes)

    def _take_waiting(self) -> Job:
        """Page that waits longest; while there is a slow lane, the smallest one.

        A page that takes a parser long is a large one, in general: others need not wait for it.
        """
        place = 0
        if self._slow_lane is not None:
            place = min(range(len(self._waiting)), key=lambda place: self._waiting[place].size)
        job = self._waiting[place]
        del self._waiting[place]
        return job

    # Called by the watchdog.

    def _watch(self) -> None:
        """Put slow pages aside, and give up those that take too long."""
        given_up: list[Job] = []
        with self._changed:
            lanes = min(len(self._lanes), self._max_lanes)
            for lane in [*self._lanes, *filter(None, [self._slow_lane])]:
                self._look(lane, given_up)
            now = time.monotonic()
            while self._waiting_slow and now - self._waiting_slow[0][1] > self.timeout:
                given_up.append(self._waiting_slow.popleft()[0])
            missing = lanes + self._needs_spare_lane() - len(self._lanes)
            needs_slow_lane = self._slow_lane is None and bool(self._waiting_slow)
            self._changed.notify_all()
        for job in given_up:
            self.given_up.add(job, "timeout")
            job.finish(_timeout())
        for _ in range(missing):
            self._add_lane(self._new_process())
        if needs_slow_lane:
            self._add_lane(self._new_process(), is_slow=True)

    def _needs_spare_lane(self) -> bool:
        """Whether a page may soon be slow: the lane that takes its place is started before."""
        if self._slow_lane is not None or not self._waiting:
            return False
        began_before = time.monotonic() - self._slow_seconds / 2
        return any(lane.job is not None and lane.since < began_before for lane in self._lanes)

    def _look(self, lane: _Lane, given_up: list[Job]) -> None:
        """Look at one lane; a page to be given up is put into the list."""
        job, seconds = lane.job, time.monotonic() - lane.since
        if job is None:
            return
        if seconds > self._patience:
            self._patience = max(self._patience / 2, min(self._slow_seconds, self.timeout))
            given_up.append(job)
            self._end(lane)
            return
        limit = self._slow_seconds
        if self._slow_lane is not None:
            limit = min(limit, _SLOW_SECONDS_UNDER_ATTACK)
        if lane.is_slow or seconds <= limit or not self._waiting:
            return
        if self._slow_lane is None:
            lane.is_slow, self._slow_lane = True, lane
            self._lanes.remove(lane)
            return
        if lane.worker is not None and self._has_room(job):
            self._waiting_slow.append((job, time.monotonic()))
        else:
            given_up.append(job)
        self._end(lane)

    def _has_room(self, job: Job) -> bool:
        """Whether one more page may wait for the slow lane."""
        held = [waiting.size for waiting, _ in self._waiting_slow]
        if self._slow_lane is not None and self._slow_lane.job is not None:
            held.append(self._slow_lane.job.size)
        return len(held) <= _MAX_SLOW_PAGES and sum(held) + job.size <= _MAX_SLOW_BYTES

    def _end(self, lane: _Lane) -> None:
        """Take its page away from a lane; if no process can be ended, the lane is lost."""
        job, lane.job = lane.job, None
        self.seconds += time.monotonic() - lane.since
        if lane.worker is not None:
            lane.worker.interrupt()
            return
        assert job is not None
        lane.is_lost = True
        if lane is self._slow_lane:
            self._slow_lane = None
        else:
            self._lanes.remove(lane)

    def _new_process(self) -> Worker | None:
        return start_worker() if self._uses_processes else None

    def _add_lane(self, process: Worker | None, *, is_slow: bool = False) -> None:
        with self._changed:
            lane = _Lane(len(self._lanes) + is_slow, self, process)
            if is_slow:
                lane.is_slow, self._slow_lane = True, lane
            else:
                self._lanes.append(lane)
        lane.start()
