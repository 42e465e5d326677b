"""Workers that sign parts of inputs; a row that ends its worker or hangs is left out."""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from shingling.bulk.signing.sign_part import PLACE, reason_shown, sign_part
from shingling.errors import BulkError
from shingling.extraction.processes import (
    Watchdog,
    WatchedWorker,
    Worker,
    WorkerDiedError,
    WorkerTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.bulk.signing.sign_part import Signer, Task

_WATCH_SECONDS = 0.5  # between two looks for rows that take too long
_MAX_WAIT_SECONDS = 0.5  # for room in the queue of parts
_MAX_TRIES = 3  # of a worker to get ready, and of a row at which workers end


class SigningPool:
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
        self._watchdog = Watchdog("bulk-watch", _WATCH_SECONDS, self._watch)

    def submit(self, task: Task) -> bool:
        """Hand in a part; False if there is no room for it yet."""
        try:
            self._tasks.put(task, timeout=_MAX_WAIT_SECONDS)
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
        self._watchdog.stop()

    def _watch(self) -> None:
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
        self._signer = signer
        self._deaths: Counter[tuple[int, int]] = Counter()  # of workers, by part and row
        self._worker: WatchedWorker | None = None
        if process:
            self._row_file = signer.folder / f"worker-{number}.row"
            self._row_file.unlink(missing_ok=True)  # a worker of a killed run may still note rows
            work = replace(signer, progress=self._row_file)
            self._worker = WatchedWorker(work, timeout, self._row)

    def run(self) -> None:
        """Sign parts until a None comes."""
        try:
            if self._worker is not None:
                self._start(self._worker)
            while (task := self._tasks.get()) is not None:
                self._tell(self._sign(task))
        except Exception as error:  # whatever it is, the run must hear of it
            if self._worker is None or not self._worker.is_killed:
                self._tell(error)
                while self._tasks.get() is not None:  # nobody waits for room
                    pass
        finally:
            if self._worker is not None:
                self._worker.end()

    def kill(self) -> None:
        """End the process, whatever it does."""
        if self._worker is not None:
            self._worker.kill()

    def look(self) -> None:
        """End a process whose row takes too long."""
        if self._worker is not None:
            self._worker.look()

    def _sign(self, task: Task) -> int:
        """Have a part signed, without the rows at which workers end."""
        if self._worker is None:
            return sign_part(task, self._signer, lambda _: None)
        while True:
            if self._worker.has_ended:
                self._start(self._worker)
            self._write_row(-1)
            try:
                number: int = self._worker.ask(task)
            except WorkerDiedError as error:
                if self._worker.is_killed:
                    raise
                self._note_death(task, took_too_long=isinstance(error, WorkerTimeoutError))
            else:
                return number

    def _note_death(self, task: Task, *, took_too_long: bool) -> None:
        """Leave out the row that a worker hung at, or at which one after the other died.

        Raises:
            BulkError: they die before they come to a row.
        """
        row = self._row()
        self._deaths[task.number, row] += 1
        if row >= 0 and took_too_long:
            task.skipped[row] = "timeout"
        elif self._deaths[task.number, row] == _MAX_TRIES:
            if row < 0:
                raise BulkError("worker processes die before they read a row")
            task.skipped[row] = reason_shown("worker_died")

    def _start(self, worker: WatchedWorker) -> None:
        """Start a process.

        Raises:
            BulkError: it does not get ready.
            OSError: it cannot be started.
        """
        for _ in range(_MAX_TRIES):
            self._write_row(-1)
            with contextlib.suppress(WorkerDiedError):
                worker.start(Worker())
                return
            if worker.is_killed:
                break
        raise BulkError("worker processes do not start; their errors are above")

    def _row(self) -> int:
        row: int = PLACE.unpack(self._row_file.read_bytes())[0]
        return row

    def _write_row(self, row: int) -> None:
        self._row_file.write_bytes(PLACE.pack(row))
