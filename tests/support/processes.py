"""Processes of tests, and waiting for what they do.

They are forked from one that has imported what they need: to import Scrapy and this package takes
longer than what most of them do.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PATIENCE = 300  # seconds after which what has not happened never will, on a slow machine as well
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.support.preloaded", "tests.support.crawls"])


ANEW = """
import sys

for name in [*sys.modules]:
    if name.partition(".")[0] in ("shingling", "tests"):
        del sys.modules[name]
"""
"""Begins a program of a fork that is to import another copy of the package, from its folder."""


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


def _python(
    folder: Path,
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    files: tuple[Path, Path],
    before: Callable[[], None] | None,
) -> None:
    """Run what Python would run with these arguments, in this process."""
    os.setpgid(0, 0)
    for number, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.chdir(folder)
    os.environ.update(environment)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [str(folder), *(path for path in paths if path)]
    warnings.simplefilter("error", ResourceWarning)
    if before is not None:
        before()
    option, what, *rest = arguments
    sys.argv = [what if option == "-m" else option, *rest]
    if option == "-c":
        exec(what, {"__name__": "__main__"})  # noqa: S102 (as Python does)
        return
    assert (option, what) == ("-m", "scrapy")

    from scrapy.cmdline import execute

    execute()


class Fork:
    """Python in a process that is forked from one that has imported Scrapy and this package.

    It is used as a `Popen` is, and is the first of a group of processes.

    Args:
        folder: in which it runs.
        arguments: of Python: `-m scrapy` or `-c` and a program, and what follows them.
        environment: is added to that of the tests.
        files: of the standard output, and of the errors.
        before: is called first, in the new process.
    """

    def __init__(
        self,
        folder: Path,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        files: tuple[Path, Path],
        before: Callable[[], None] | None = None,
    ) -> None:
        # The process that it is forked from may have been started with another environment.
        environment = {**os.environ, **environment}
        self._process = PROCESSES.Process(
            target=_python, args=(folder, arguments, environment, files, before)
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit status; None while the process lives."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Exit status; None while the process lives."""
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process lives."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process, and return its exit status."""
        self._process.join(timeout)
        status = self.returncode
        if status is None:
            raise subprocess.TimeoutExpired("python", timeout or 0)
        return status


def run_fork(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with `-m scrapy` or `-c` in a folder, as a fork."""
    with TemporaryDirectory() as temporary:
        files = Path(temporary, "output"), Path(temporary, "errors")
        process = Fork(folder, arguments, environment or {}, files)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            raise
        output, errors = (file.read_text(encoding="utf-8") for file in files)
        return subprocess.CompletedProcess(arguments, status, output, errors)


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


@contextmanager
def dedup_serve(
    folder: Path, store: str, *options: str, forked: bool = True
) -> Iterator[tuple[int, str]]:
    """Run `scrapy dedup serve`; the id of its process, and its address without a `/`.

    Args:
        folder: in which it runs.
        store: its URL.
        options: more of them.
        forked: whether it is forked, where nobody measures what a process of its own takes.
    """
    command = ("-m", "scrapy", "dedup", "serve", "--port", "0", "--json", "--store", store)
    with TemporaryDirectory() as temporary:
        printed, errors = Path(temporary, "printed"), Path(temporary, "errors")
        printed.touch()
        process: Fork | subprocess.Popen[bytes]
        if forked:
            process = Fork(folder, (*command, *options), {}, (printed, errors))
        else:
            with printed.open("wb") as out, errors.open("wb") as err:
                process = subprocess.Popen(
                    [sys.executable, *command, *options], cwd=folder, stdout=out, stderr=err
                )
        try:
            assert so_within(PATIENCE, lambda: printed.read_text().count("\n") >= 3)
            yield process.pid, json.loads(printed.read_text())["url"].rstrip("/")
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0, errors.read_text()
