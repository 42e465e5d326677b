"""Worker processes, or a thread, that read contents away from the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sys
import threading
import time
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from shingling.errors import ExtractionError
from shingling.extraction.processes import Worker

if TYPE_CHECKING:
    from shingling.extraction.reader import Content, Reader, Reading

logger = logging.getLogger(__name__)

_LOOK = 0.25  # seconds between two looks for contents that take too long


class _Job(NamedTuple):
    content: Content
    result: Future[Reading]


class _Lane(threading.Thread):
    """A thread that takes one content after the other, and has each read by its process.

    A lane without a process reads by itself.
    """

    def __init__(
        self,
        number: int,
        reader: Reader,
        jobs: queue.SimpleQueue[_Job | None],
        timeout: float,
        *,
        worker: Worker | None,
    ) -> None:
        super().__init__(name=f"dedup-read-{number}", daemon=True)
        self.number = number
        self.busy = False
        self.seconds = 0.0  # spent on reading
        self._reader = reader
        self._jobs = jobs
        self._timeout = timeout
        self._lock = threading.Lock()  # between this thread and the watchdog
        self._job: _Job | None = None
        self._since = 0.0
        self._given_up = False
        self._replaced = False
        self._worker = worker
        if worker is not None:
            self._prepare(worker)

    def run(self) -> None:
        """Read contents until a None comes, or until another lane has taken over."""
        self._wait_until_started()
        while (job := self._jobs.get()) is not None:
            with self._lock:
                self._job, self._since, self.busy = job, time.monotonic(), True
            outcome: Reading | Exception
            try:
                outcome = self._read(job.content)
            except Exception as error:  # whatever it is, the page must hear of it
                outcome = error
            with self._lock:
                _finish(job, outcome)
                self.busy = False
                self.seconds += time.monotonic() - self._since
                given_up, self._given_up = self._given_up, False
            if self._replaced:
                return
            # Not before the content is done with: the watchdog must not end the new process.
            if self._worker is not None and (given_up or self._worker.is_dead):
                self._restart()
        self._end_worker()

    def look(self) -> bool:
        """Give up a content that takes too long; return whether another lane is needed."""
        with self._lock:
            if not self.busy or self._given_up or time.monotonic() - self._since < self._timeout:
                return False
            self._given_up = True
            if self._worker is not None:
                self._worker.kill()
                return False
            assert self._job is not None
            self._replaced = True
            _finish(self._job, ExtractionError("timeout", "reading took too long"))
            return True

    def _read(self, content: Content) -> Reading:
        if self._worker is None:
            return self._reader.read(content)
        try:
            reading: Reading = self._worker.ask(content)
        except (EOFError, OSError) as error:
            self._worker.end()
            if self._given_up:
                raise ExtractionError("timeout", "reading took too long") from error
            raise ExtractionError("worker_died", "the worker process died of it") from error
        return reading

    def _prepare(self, worker: Worker) -> None:
        with contextlib.suppress(OSError):  # it is dead, which its first answer tells
            worker.send(self._reader)

    def _wait_until_started(self) -> None:
        if self._worker is None:
            return
        try:
            self._worker.receive()
        except EOFError:
            logger.warning("A worker process did not start; pages are read in a thread instead")
            self._end_worker()
            self._worker = None

    def _restart(self) -> None:
        self._end_worker()
        self._worker = spare_worker()
        if self._worker is not None:
            self._prepare(self._worker)
        self._wait_until_started()

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.end()


def _finish(job: _Job, outcome: Reading | Exception) -> None:
    if job.result.done():  # given up before
        return
    if isinstance(outcome, Exception):
        job.result.set_exception(outcome)
    else:
        job.result.set_result(outcome)


def spare_worker() -> Worker | None:
    """Start a worker process that a pool will use; None where none can be started."""
    if getattr(sys, "frozen", False):
        return None
    try:
        return Worker("shingling.extraction.worker")
    except OSError:
        return None


class ReadingPool:
    """Reads contents in worker processes, or in one thread where `workers` is 0.

    A process is started when a content finds all others busy: small crawls need only one.

    Args:
        reader: how contents are read.
        workers: number of processes at most.
        timeout: seconds after which a content is given up.
        first: a worker process that was started before.
    """

    def __init__(
        self, reader: Reader, workers: int, timeout: float, *, first: Worker | None = None
    ) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._new_lane = partial(_Lane, reader=reader, jobs=self._jobs, timeout=timeout)
        self._most = workers
        if workers and first is None:
            first = spare_worker()
        if first is None:
            if workers:
                logger.warning("Worker processes cannot be started; pages are read in a thread")
            self._most = 1
            # It reports every page without main text as an error; the verdict says it too.
            logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
        self._lanes: list[_Lane] = []
        self._lock = threading.Lock()  # of the list of lanes
        self._under_way = 0
        self._add_lane(first)
        self._timeout = timeout
        self._closed = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="dedup-watch", daemon=True)
        self._watchdog.start()

    def _add_lane(self, worker: Worker | None) -> None:
        lane = self._new_lane(len(self._lanes), worker=worker)
        with self._lock:
            self._lanes.append(lane)
        lane.start()

    @property
    def seconds(self) -> float:
        """Return the seconds that all lanes together have spent on reading."""
        return sum(lane.seconds for lane in self._lanes)

    async def read(self, content: Content) -> Reading:
        """Return the main text and the signature of a content.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        result: Future[Reading] = Future()
        self._under_way += 1
        self._jobs.put(_Job(content, result))
        if len(self._lanes) < min(self._under_way, self._most):
            worker = spare_worker()
            if worker is not None:
                self._add_lane(worker)
        try:
            return await asyncio.wrap_future(result)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Read what has been handed in, then end the workers."""
        for _ in self._lanes:
            self._jobs.put(None)
        for lane in self._lanes:
            lane.join()
        self._closed.set()
        self._watchdog.join()

    def _watch(self) -> None:
        while not self._closed.wait(min(_LOOK, self._timeout / 4)):
            with self._lock:
                lanes = [*self._lanes]
            for place, lane in enumerate(lanes):
                if lane.look():
                    self._lanes[place] = self._new_lane(lane.number, worker=None)
                    self._lanes[place].start()
