"""Worker processes, seen from the parent: started, asked, watched, and started again.

Two pools are built of them, since they share no more than this. `extraction.pool` takes single
pages from the event loop, each with a time limit of its own, and starts a process when one is
needed. `bulk.signing` takes parts of files in their order, has a part repeated without
the row at which a worker ended, and loses no row.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct("<Q")
_WINDOWS_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)

_TRIM_THRESHOLD_BYTES = "131072"

MAX_START_SECONDS = 60.0
"""Seconds after which a worker that does not get ready is ended.

Most take less than one; with a language pack, on a machine that is busy, some take ten.
"""


class Work(Protocol):
    """What worker processes do; it is pickled on its way to them."""

    def prepare(self) -> Callable[[Any], Any]:
        """Make the process ready; returns the function that answers its messages."""


class LastAnswer(NamedTuple):
    """An answer of a worker process that is to be replaced, since it holds much memory."""

    answer: Any


class WorkerDiedError(Exception):
    """A worker process has ended in place of answering."""


class WorkerTimeoutError(WorkerDiedError):
    """A worker process was ended, since its answer took too long."""


class Worker:
    """A process of its own that answers messages: `extraction.worker` is its program.

    It imports this package, and what messages need: not the user's main module, which may lack
    the guard that multiprocessing needs.

    Args:
        modules: that it imports while it waits for its first message, which is a `Work`.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, *modules: str) -> None:
        if getattr(sys, "frozen", False):
            raise OSError("a frozen program cannot start workers")
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        # By itself, glibc keeps ever more of the memory that the largest pages have taken.
        environment.setdefault("MALLOC_TRIM_THRESHOLD_", _TRIM_THRESHOLD_BYTES)
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            # -P: the working directory is imported from only where our sys.path has it.
            [sys.executable, "-P", "-m", "shingling.extraction.worker", *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C is for the program itself, which then ends its workers.
            start_new_session=True,
            creationflags=_WINDOWS_FLAGS,
        )

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self._process.poll() is not None

    def cpu_seconds(self) -> float:
        """CPU time of the process; on systems other than Linux, time of the clock."""
        try:
            # The number that clock_getcpuclockid(3) gives.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        except (AttributeError, OSError):
            return time.monotonic()

    def start(self, work: Work) -> None:
        """Tell the process what it is to do, and wait until it is ready.

        Raises:
            WorkerTimeoutError: it was ended, since it did not get ready in `MAX_START_SECONDS`.
            WorkerDiedError: it has ended before.
        """
        began = time.monotonic()
        timer = threading.Timer(MAX_START_SECONDS, self.kill)
        timer.daemon = True
        timer.start()
        try:
            self.ask(work)
        except WorkerDiedError as error:
            self.end()  # its pipe may be closed a moment before the process has ended
            if time.monotonic() - began >= MAX_START_SECONDS:
                raise WorkerTimeoutError("a worker process did not get ready") from error
            raise
        finally:
            timer.cancel()

    def ask(self, message: Any) -> Any:
        """Send a message and wait for its answer; raise it if it is an exception.

        Raises:
            WorkerDiedError: the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            send(self._process.stdin, message)
            answer = receive(self._process.stdout)
        except (EOFError, OSError, ValueError) as error:  # ValueError: the pipe was closed
            raise WorkerDiedError("a worker process has ended") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and close its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a message that a dead process has not taken
                pipe.close()
        self._process.wait()


class WatchedWorker:
    """A worker process with a time limit, which can be started again after its end.

    One thread starts and asks it; another one, a `Watchdog`, looks at it.

    Args:
        work: what it does.
        timeout: seconds without progress after which it is ended.
        progress: how far it has come with an answer; by default the limit is for the whole of it.
    """

    def __init__(self, work: Work, timeout: float, progress: Callable[[], int] = lambda: 0) -> None:
        self._work = work
        self._timeout = timeout
        self._progress = progress
        self._lock = threading.Lock()
        self._worker: Worker | None = None
        self._asked: tuple[int, float] | None = None  # progress, and since when it is that
        self._took_too_long = False
        self.is_killed = False

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, or is about to."""
        return self._worker is None or self._took_too_long or self._worker.is_dead

    def start(self, worker: Worker) -> None:
        """Take a new process in place of the one before, and wait until it is ready.

        Raises:
            WorkerTimeoutError: it was ended, since it did not get ready.
            WorkerDiedError: it has ended before.
        """
        self.end()
        with self._lock:
            self._worker, self._took_too_long = worker, False
            if self.is_killed:
                worker.kill()
        worker.start(self._work)

    def ask(self, message: Any) -> Any:
        """Send a message and wait for its answer.

        Raises:
            WorkerTimeoutError: the process was ended, since it took too long.
            WorkerDiedError: the process has ended.
        """
        worker = self._worker
        assert worker is not None
        with self._lock:
            self._asked = self._progress(), time.monotonic()
        try:
            answer = worker.ask(message)
            if isinstance(answer, LastAnswer):
                worker.end()
                return answer.answer
            return answer
        except WorkerDiedError as error:
            worker.end()  # its pipe may be closed a moment before the process has ended
            if self._took_too_long:
                raise WorkerTimeoutError("an answer took too long") from error
            raise
        finally:
            with self._lock:
                self._asked = None

    def look(self) -> None:
        """End the process if it takes too long; a watchdog calls this."""
        with self._lock:
            if self._asked is None or self._took_too_long or self._worker is None:
                return
            before, since = self._asked
            now = self._progress()
            if now != before:
                self._asked = now, time.monotonic()
            elif time.monotonic() - since > self._timeout:
                self._took_too_long = True
                self._worker.kill()

    def kill(self) -> None:
        """End the process for good, also one that is just being started."""
        with self._lock:
            self.is_killed = True
            if self._worker is not None:
                self._worker.kill()

    def end(self) -> None:
        """End the process, and close its pipes."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


class Watchdog:
    """A thread that calls a function again and again.

    Args:
        name: of the thread.
        seconds: between two calls.
        look: is called.
    """

    def __init__(self, name: str, seconds: float, look: Callable[[], None]) -> None:
        self._seconds = seconds
        self._look = look
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            self._look()

    def stop(self) -> None:
        """End the thread, after a call that is under way."""
        self._stopped.set()
        self._thread.join()


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
