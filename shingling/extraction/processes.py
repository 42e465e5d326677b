"""Worker processes of this package: how they are started, and how messages go to and fro."""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shingling.errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct("<Q")
_WINDOWS_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)
_LOOK = 1.0  # seconds between two looks for the parent


class Worker:
    """A module of this package that runs in a process of its own, and answers messages.

    It imports this package only: not the user's main module, which may lack the guard that
    multiprocessing needs.

    Args:
        module: to be run; what it does is `serve`, or the like.

    Raises:
        OSError: it cannot be started.
    """

    def __init__(self, module: str) -> None:
        if getattr(sys, "frozen", False):
            raise OSError("a frozen program cannot start workers")
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            # -P: the working directory is imported from only where our sys.path has it.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # Ctrl-C is for the program itself, which then ends its workers.
            start_new_session=True,
            creationflags=_WINDOWS_FLAGS,
        )

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._process.pid

    @property
    def is_dead(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def send(self, message: Any) -> None:
        """Hand in a message.

        Raises:
            OSError: the process is dead.
        """
        assert self._process.stdin is not None
        send(self._process.stdin, message)

    def receive(self) -> Any:
        """Return the next answer.

        Raises:
            EOFError: the process is dead.
        """
        assert self._process.stdout is not None
        return receive(self._process.stdout)

    def ask(self, message: Any) -> Any:
        """Return the answer to a message.

        Raises:
            EOFError, OSError: the process is dead.
        """
        self.send(message)
        return self.receive()

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and let go of what is its."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a message that a dead process has not taken
                pipe.close()
        self._process.wait()


def serve(prepare: Callable[[Any], Callable[[Any], Any]]) -> None:
    """Answer messages until the parent closes the pipe, or is gone; the answer may be an error.

    Args:
        prepare: makes of the first message what answers those behind it.
    """
    source, target = pipes_of_worker()
    logging.disable()
    try:
        answer = prepare(receive(source))
        send(target, None)  # ready
        while True:
            message = receive(source)
            try:
                send(target, answer(message))
            except (OSError, BulkError) as error:
                send(target, error)
            except Exception as error:  # a fault of ours: the parent says which
                logging.disable(logging.NOTSET)
                logging.getLogger(__name__).exception("A worker process has failed")
                send(target, RuntimeError(f"{type(error).__name__}: {error}"))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent is gone; there is nobody left to flush to


def pipes_of_worker() -> tuple[IO[bytes], IO[bytes]]:
    """Return where a worker's messages come from and go to; it ends when its parent has ended."""
    if hasattr(os, "getppid"):
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    source = sys.stdin.buffer
    # Whatever else writes to standard output must not get between the messages.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return source, target


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, also in the middle of its work."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)


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
