"""Processes of tests, and waiting for what they do.

They are forked from one that has imported what they need: to import Scrapy and this package takes
longer than what most of them do.
"""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.support.preloaded", "tests.support.crawls", "filelock"])


class Child:
    """A process that does something, and tells of it through a pipe.

    Args:
        work: called with its end of the pipe and the arguments; of a module that imports little.
        arguments: can be pickled.
    """

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self.pipe, other = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=work, args=(other, *arguments), daemon=True)
        self._process.start()
        other.close()

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join()

    def end(self) -> tuple[int | None, list[Any]]:
        """Wait for its end; return the exit status, and what was told but not yet heard."""
        heard = []
        try:
            while True:
                heard.append(self.pipe.recv())
        except EOFError:
            self._process.join()
            return self._process.exitcode, heard


def processes_with(mark: str) -> list[int]:
    """Return the ids of the live processes that were started with this in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and mark.encode() in (
                (folder / "environ").read_bytes().split(b"\0")
            ):
                found.append(int(folder.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


def so_within(seconds: float, sign: Callable[[], bool]) -> bool:
    """Wait until a condition holds, for some seconds; False if it never did."""
    end = time.monotonic() + seconds
    while not sign():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
