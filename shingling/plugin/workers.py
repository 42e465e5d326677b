"""Worker processes, or a thread, that read contents away from the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shingling.errors import ExtractionError

if TYPE_CHECKING:
    from shingling.reading import Content, Reader, Reading

logger = logging.getLogger(__name__)

_LENGTH = struct.Struct("<Q")
_WINDOWS_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)
STARTED = b"+"
_LOOK = 0.25  # seconds between two looks for contents that take too long


def send(pipe: IO[bytes], message: Any) -> None:
    """Write one message to the other end of a pipe."""
    raw = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(raw)))
    pipe.write(raw)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: the other end is closed.
    """
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    raw = pipe.read(length)
    if len(raw) < length:
        raise EOFError
    return pickle.loads(raw)  # noqa: S301 (from this program's own processes)


class _Job(NamedTuple):
    content: Content
    result: Future[Reading]


class _Lane(threading.Thread):
    """A thread that takes one content after the other, and has each read by its process.

    The process is a new interpreter that imports this package only: not the user's main
    module, which may lack the guard that multiprocessing needs. A lane without a process
    reads by itself.
    """

    def __init__(
        self,
        number: int,
        reader: Reader,
        jobs: queue.SimpleQueue[_Job | None],
        timeout: float,
        *,
        process: bool,
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
        self._process = self._launch() if process else None

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
            if self._process is not None and (given_up or self._process.poll() is not None):
                self._restart()
        self._end_process()

    def look(self) -> bool:
        """Give up a content that takes too long; return whether another lane is needed."""
        with self._lock:
            if not self.busy or self._given_up or time.monotonic() - self._since < self._timeout:
                return False
            self._given_up = True
            if self._process is not None:
                self._process.kill()
                return False
            assert self._job is not None
            self._replaced = True
            _finish(self._job, ExtractionError("timeout", "reading took too long"))
            return True

    def _read(self, content: Content) -> Reading:
        if self._process is None:
            return self._reader.read(content)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            send(self._process.stdin, content)
            reading: Reading = receive(self._process.stdout)
        except (EOFError, OSError) as error:
            self._process.wait()
            if self._given_up:
                raise ExtractionError("timeout", "reading took too long") from error
            raise ExtractionError("worker_died", "the worker process died of it") from error
        return reading

    def _launch(self) -> subprocess.Popen[bytes] | None:
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        try:
            process = subprocess.Popen(
                # -P: the working directory is imported from only where our sys.path has it.
                [sys.executable, "-P", "-m", "shingling.plugin._worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                # Ctrl-C is for the crawler, which then ends its workers.
                start_new_session=True,
                creationflags=_WINDOWS_FLAGS,
            )
            assert process.stdin is not None
            send(process.stdin, self._reader)
        except OSError:
            return None
        return process

    def _wait_until_started(self) -> None:
        if self._process is None:
            return
        assert self._process.stdout is not None
        if self._process.stdout.read(1) != STARTED:
            logger.warning("A worker process did not start; pages are read in a thread instead")
            self._end_process()
            self._process = None

    def _restart(self) -> None:
        self._end_process()
        self._process = self._launch()
        self._wait_until_started()

    def _end_process(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a part that a dead process has not taken
                pipe.close()
        self._process.wait()


def _finish(job: _Job, outcome: Reading | Exception) -> None:
    if job.result.done():  # given up before
        return
    if isinstance(outcome, Exception):
        job.result.set_exception(outcome)
    else:
        job.result.set_result(outcome)


class ReadingPool:
    """Reads contents in worker processes, or in one thread where `workers` is 0.

    Args:
        reader: how contents are read.
        workers: number of processes.
        timeout: seconds after which a content is given up.
    """

    def __init__(self, reader: Reader, workers: int, timeout: float) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._new_lane = partial(_Lane, reader=reader, jobs=self._jobs, timeout=timeout)
        process = workers > 0
        if process and getattr(sys, "frozen", False):
            logger.warning("A frozen program cannot start workers; pages are read in a thread")
            process, workers = False, 0
        if not process:
            # It reports every page without main text as an error; the verdict says it too.
            logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
        self._lanes = [self._new_lane(number, process=process) for number in range(workers or 1)]
        for lane in self._lanes:
            lane.start()
        self._timeout = timeout
        self._closed = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="dedup-watch", daemon=True)
        self._watchdog.start()

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
        self._jobs.put(_Job(content, result))
        return await asyncio.wrap_future(result)

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
            for place, lane in enumerate(self._lanes):
                if lane.look():
                    self._lanes[place] = self._new_lane(lane.number, process=False)
                    self._lanes[place].start()
