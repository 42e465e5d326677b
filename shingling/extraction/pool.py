"""Worker processes, or a thread, that extract pages away from the event loop."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import ExtractionError
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

_MAX_WATCH_SECONDS = 0.25  # between two looks for pages that take too long


def start_worker() -> Worker | None:
    """Start a process for a pool that is made later; None if processes cannot be started."""
    try:
        return Worker("shingling.extraction.pages")
    except OSError:
        return None


class _Job(NamedTuple):
    question: tuple[str, Fetched]
    result: Future[Any]

    def finish(self, outcome: Any) -> None:
        if self.result.done():  # given up before
            return
        if isinstance(outcome, Exception):
            self.result.set_exception(outcome)
        else:
            self.result.set_result(outcome)


class _Lane(threading.Thread):
    """A thread that has one page after the other extracted by its process.

    Without a process it extracts them by itself; if a page takes too long, another lane replaces
    it, since a thread cannot be ended.
    """

    def __init__(
        self,
        number: int,
        extractor: PageExtractor,
        jobs: queue.SimpleQueue[_Job | None],
        timeout: float,
        *,
        process: Worker | None,
    ) -> None:
        super().__init__(name=f"dedup-extract-{number}", daemon=True)
        self.number = number
        self.seconds = 0.0  # spent on pages
        self._extractor = extractor
        self._jobs = jobs
        self._timeout = timeout
        self._lock = threading.Lock()  # between this thread and the watchdog
        self._current: tuple[_Job, float] | None = None  # and since when
        self._is_replaced = False
        self._process = process
        self._worker: WatchedWorker | None = None

    def run(self) -> None:
        """Extract pages until a None comes, or until another lane has taken over."""
        if self._process is not None:
            self._start(WatchedWorker(self._extractor, self._timeout), self._process)
        while (job := self._jobs.get()) is not None:
            began = time.monotonic()
            with self._lock:
                self._current = job, began
            try:
                outcome = self._answer(job)
            except Exception as error:  # whatever it is, the page must hear of it
                outcome = error
            # Not where an extractor calls sys.exit in this thread: the watchdog gives the page up.
            with self._lock:
                self._current = None
                job.finish(outcome)
            self.seconds += time.monotonic() - began
            if self._is_replaced:
                return
            if self._worker is not None and self._worker.has_ended:
                self._start(self._worker, start_worker())
        if self._worker is not None:
            self._worker.end()

    def must_be_replaced(self) -> bool:
        """Give up a page that takes too long; if no process can be ended, the lane is lost."""
        worker = self._worker
        if worker is not None:
            worker.look()
            return False
        with self._lock:
            if self._current is None or self._is_replaced:
                return False
            job, since = self._current
            if time.monotonic() - since > self._timeout:
                self._is_replaced = True
                job.finish(_timeout())
            return self._is_replaced

    def _answer(self, job: _Job) -> Any:
        if self._worker is None:
            return self._extractor.answer(job.question)
        try:
            return self._worker.ask(job.question)
        except WorkerTimeoutError as error:
            raise _timeout() from error
        except WorkerDiedError as error:
            raise ExtractionError("worker_died", "the worker process died of it") from error

    def _start(self, worker: WatchedWorker, process: Worker | None) -> None:
        """Go on with a new process; without one if it cannot be started, or does not get ready."""
        self._worker = None
        if process is None:
            worker.end()
            return
        try:
            worker.start(process)
        except WorkerDiedError:
            logger.warning("A worker process did not start; pages are extracted in a thread")
            worker.end()
        else:
            self._worker = worker


def _timeout() -> ExtractionError:
    return ExtractionError("timeout", "the page took too long")


class ExtractionPool:
    """Extracts pages in worker processes, or in one thread where `workers` is 0.

    A process is started when a page finds all others busy: small crawls need only one.

    Args:
        extractor: of the pages.
        workers: number of processes at most.
        timeout: seconds after which a page is given up.
        first: a worker process that was started before.
    """

    def __init__(
        self, extractor: PageExtractor, workers: int, timeout: float, *, first: Worker | None = None
    ) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._new_lane = partial(_Lane, extractor=extractor, jobs=self._jobs, timeout=timeout)
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
        self._lanes: list[_Lane] = []
        self._lock = threading.Lock()  # of the list of lanes
        self._under_way = 0
        self._add_lane(first)
        self._watchdog = Watchdog("dedup-watch", min(_MAX_WATCH_SECONDS, timeout / 4), self._watch)

    def _add_lane(self, process: Worker | None) -> None:
        lane = self._new_lane(len(self._lanes), process=process)
        with self._lock:
            self._lanes.append(lane)
        lane.start()

    @property
    def seconds(self) -> float:
        """Seconds that all lanes together have spent on pages."""
        return sum(lane.seconds for lane in self._lanes)

    async def extract(self, fetched: Fetched) -> Extraction:
        """Extract and sign the main text of a page.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        extraction: Extraction = await self._answer("extract", fetched)
        return extraction

    async def head(self, fetched: Fetched) -> Head:
        """Extract what a page says of itself; it raises what `extract` does."""
        head: Head = await self._answer("head", fetched)
        return head

    async def main_text(self, fetched: Fetched) -> MainText | None:
        """Extract the text that people read, by trafilatura; None where there is none.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        main: MainText | None = await self._answer("main_text", fetched)
        return main

    async def _answer(self, name: str, fetched: Fetched) -> Any:
        result: Future[Any] = Future()
        self._under_way += 1
        self._jobs.put(_Job((name, fetched), result))
        if len(self._lanes) < min(self._under_way, self._max_lanes):
            process = start_worker()
            if process is not None:
                self._add_lane(process)
        try:
            return await asyncio.wrap_future(result)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Extract what has been handed in, then end the workers."""
        for _ in self._lanes:
            self._jobs.put(None)
        for lane in self._lanes:
            lane.join()
        self._watchdog.stop()

    def _watch(self) -> None:
        with self._lock:
            lanes = [*self._lanes]
        for place, lane in enumerate(lanes):
            if lane.must_be_replaced():
                self._lanes[place] = self._new_lane(lane.number, process=None)
                self._lanes[place].start()
