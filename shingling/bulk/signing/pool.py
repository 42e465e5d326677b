"""Workers that sign parts of inputs; a row that ends its worker or hangs is left out."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from shingling.bulk.signing.sign_part import PLACE, reason_shown, sign_part
from shingling.errors import BulkError
from shingling.extraction.processes import Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.bulk.signing.sign_part import Signer, Task

_LOOK = 0.5  # seconds between two looks for rows that take too long
_TRIES = 3  # of a worker to get ready, and of a row at which workers end


class Pool:
    """Signs parts side by side.

    Args:
        signer: how.
        workers: number of processes; 0 is a thread of this one.
        timeout: seconds after which a row is given up, in processes.
    """

    def __init__(self, signer: Signer, workers: int, timeout: float) -> None:
        if getattr(sys, "frozen", False):
            workers = 0  # a frozen program cannot start them
        self.done: queue.SimpleQueue[int | Exception] = queue.SimpleQueue()
        self._tasks: queue.Queue[Task | None] = queue.Queue(maxsize=2 * max(workers, 1))
        self._lanes = [
            _Lane(number, signer, self._tasks, self.done.put, timeout, process=workers > 0)
            for number in range(max(workers, 1))
        ]
        for lane in self._lanes:
            lane.start()
        self._closed = threading.Event()
        self._watchdog = threading.Thread(target=self._watch, name="bulk-watch", daemon=True)
        self._watchdog.start()

    def submit(self, task: Task) -> bool:
        """Hand in a part; return whether there was room for it."""
        try:
            self._tasks.put(task, timeout=_LOOK)
        except queue.Full:
            return False
        return True

    def close(self, *, kill: bool = False) -> None:
        """Sign what has been handed in, or leave it, and end the workers."""
        if kill:
            with contextlib.suppress(queue.Empty):
                while True:
                    self._tasks.get_nowait()
            for lane in self._lanes:
                lane.kill()
        for _ in self._lanes:
            self._tasks.put(None)
        for lane in self._lanes:
            lane.join()
        self._closed.set()
        self._watchdog.join()

    def _watch(self) -> None:
        while not self._closed.wait(_LOOK):
            for lane in self._lanes:
                lane.look()


class _Lane(threading.Thread):
    """A thread that has one part after the other signed by its process, or does it itself."""

    def __init__(
        self,
        number: int,
        signer: Signer,
        tasks: queue.Queue[Task | None],
        tell: Callable[[int | Exception], None],
        timeout: float,
        *,
        process: bool,
    ) -> None:
        super().__init__(name=f"bulk-{number}", daemon=True)
        self._tasks = tasks
        self._tell = tell
        self._timeout = timeout
        self._signer = signer
        self._worker: Worker | None = None
        self._lock = threading.Lock()  # between this thread and the watchdog
        self._at: tuple[int, float] | None = None  # the row, and since when
        self._given_up = False
        self._ended = False
        self._deaths: Counter[tuple[int, int]] = Counter()  # of workers, by part and row
        self._uses_process = process
        if process:
            self._signer = replace(signer, progress=signer.folder / f"worker-{number}.row")

    def run(self) -> None:
        """Sign parts until a None comes."""
        try:
            if self._uses_process:
                self._start_worker()
            while (task := self._tasks.get()) is not None:
                self._tell(self._sign(task))
        except Exception as error:  # whatever it is, the run must hear of it
            if not self._ended:
                self._tell(error)
                while self._tasks.get() is not None:  # nobody waits for room
                    pass
        finally:
            self._end_worker()

    def kill(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._ended = True
            if self._worker is not None:
                self._worker.kill()

    def look(self) -> None:
        """End a process whose row takes too long."""
        with self._lock:
            if self._at is None or self._given_up or self._worker is None:
                return
            row, since = self._at
            now = self._row()
            if now != row:
                self._at = now, time.monotonic()
            elif time.monotonic() - since > self._timeout:
                self._given_up = True
                self._worker.kill()

    def _sign(self, task: Task) -> int | Exception:
        if not self._uses_process:
            return sign_part(task, self._signer, lambda _: None)
        while True:
            with self._lock:
                self._write_row(-1)
                self._at = -1, time.monotonic()
            try:
                assert self._worker is not None
                done: int | Exception = self._worker.ask(task)
            except (EOFError, OSError):
                if self._ended:
                    raise
                self._note_death(task)
                self._start_worker()
            else:
                return done
            finally:
                with self._lock:
                    self._at = None

    def _note_death(self, task: Task) -> None:
        """Leave out the row that a worker hung at, or at which one after the other died.

        Raises:
            BulkError: they die before they come to a row.
        """
        with self._lock:
            row, given_up = self._row(), self._given_up
            self._given_up = False
        self._deaths[task.number, row] += 1
        if row >= 0 and given_up:
            task.skipped[row] = "timeout"
        elif self._deaths[task.number, row] == _TRIES:
            if row < 0:
                raise BulkError("worker processes die before they read a row")
            task.skipped[row] = reason_shown("worker_died")

    def _start_worker(self) -> None:
        for _ in range(_TRIES):
            self._end_worker()
            self._write_row(-1)
            worker = Worker("shingling.bulk.signing.worker")
            with self._lock:
                self._worker = worker
                if self._ended:
                    worker.kill()
            with contextlib.suppress(EOFError, OSError):
                worker.ask(self._signer)
                return
            if self._ended:
                break
        raise BulkError("worker processes do not start; their errors are above")

    def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _row(self) -> int:
        assert self._signer.progress is not None
        row: int = PLACE.unpack(self._signer.progress.read_bytes())[0]
        return row

    def _write_row(self, row: int) -> None:
        assert self._signer.progress is not None
        self._signer.progress.write_bytes(PLACE.pack(row))
