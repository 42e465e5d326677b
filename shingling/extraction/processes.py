"""Worker processes, seen from the parent: started, asked, and ended in time.

Two pools are built of them, because they share no more than this. `extraction.pool` takes single
pages from the event loop, each with a time limit of its own, and starts a process when one is
needed. `bulk.signing` takes parts of files in their order, has a part repeated without
the row at which a worker ended, and loses no row.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_WINDOWS_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)

_TRIM_THRESHOLD_BYTES = "131072"

_LOOK_SECONDS = 0.5  # between two looks at a process that has a time limit

MAX_START_SECONDS = 60.0
"""Seconds after which a worker that does not get ready is ended.

Most take less than one; with a language pack, on a machine that is busy, some take ten.
"""


class Work(Protocol):
    """What worker processes do; it is pickled on its way to them."""

    def prepare(self) -> Callable[[Any], Any]:
        """Make the process ready; returns the function that answers its messages."""


class Answer(NamedTuple):
    """An answer of a worker process, and whether the process holds much memory after it."""

    made: Any
    has_grown: bool = False


class WorkerDiedError(Exception):
    """A worker process ended without an answer."""


class WorkerTimeoutError(WorkerDiedError):
    """A worker process was ended, because its answer took too long."""


class Worker:
    """A process of its own that answers messages: `extraction.worker` is its program.

    It imports this package, and what messages need: not the user's main module, which may lack
    the guard that multiprocessing needs.

    Args:
        modules: that it imports while it waits for its first message, which is a `Work`.

    Attributes:
        has_grown: whether it is to be replaced, because it holds much memory.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, *modules: str) -> None:
        self.has_grown = False
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        # By itself, glibc keeps ever more of the memory that the largest pages have taken.
        environment.setdefault("MALLOC_TRIM_THRESHOLD_", _TRIM_THRESHOLD_BYTES)
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            # -P: the working directory is imported from only if our sys.path has it.
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
            WorkerTimeoutError: it was ended, because it did not get ready in `MAX_START_SECONDS`.
            WorkerDiedError: it has ended before.
        """
        try:
            self.ask(work, MAX_START_SECONDS)
        except WorkerDiedError:
            self.end()  # its pipe may be closed a moment before the process has ended
            raise

    def ask(
        self,
        message: Any,
        timeout: float | None = None,
        progress: Callable[[], int] = lambda: 0,
    ) -> Any:
        """Send a message and wait for its answer; raise it if it is an exception.

        Args:
            message: is pickled.
            timeout: seconds without progress after which the process is ended; None is no limit.
            progress: how far it has come; by default the limit is for the whole of it.

        Raises:
            WorkerTimeoutError: the process was ended, because it took too long.
            WorkerDiedError: the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        limit = None if timeout is None else _TimeLimit(self, timeout, progress)
        try:
            send(self._process.stdin, message)
            answer: Answer = receive(self._process.stdout)
        except (EOFError, OSError, ValueError) as error:  # ValueError: the pipe was closed
            if limit is not None and limit.is_over:
                raise WorkerTimeoutError("a worker process took too long") from error
            raise WorkerDiedError("a worker process has ended") from error
        finally:
            if limit is not None:
                limit.stop()
        self.has_grown = answer.has_grown
        if isinstance(answer.made, Exception):
            raise answer.made
        return answer.made

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


class _TimeLimit:
    """A thread that ends a worker process which makes no progress for some time."""

    def __init__(self, worker: Worker, seconds: float, progress: Callable[[], int]) -> None:
        self.is_over = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._watch, args=(worker, seconds, progress), daemon=True
        )
        self._thread.start()

    def _watch(self, worker: Worker, seconds: float, progress: Callable[[], int]) -> None:
        before, since = progress(), time.monotonic()
        while not self._stopped.wait(min(seconds, _LOOK_SECONDS)):
            now = progress()
            if now != before:
                before, since = now, time.monotonic()
            elif time.monotonic() - since > seconds:
                self.is_over = True
                worker.kill()
                return

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join()


def send(pipe: IO[bytes], message: Any) -> None:
    """Write one message to the other end of a pipe."""
    # Nothing is written of a message that cannot be pickled.
    raw = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(raw)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one message.

    Raises:
        EOFError: the other end is closed.
    """
    try:
        return pickle.load(pipe)  # noqa: S301 (from this program's own processes)
    except pickle.UnpicklingError as error:  # the other end was closed within the message
        raise EOFError from error
