"""The program of a worker process: messages come on standard input, answers go to standard output.

    python -m shingling.extraction.worker [MODULE ...]

The modules are imported while it waits for its first message, the `Work` that it is to do.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from importlib import import_module
from typing import IO, TYPE_CHECKING

from shingling.errors import ShinglingError
from shingling.extraction.limits import has_grown
from shingling.extraction.processes import Answer, receive, send

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.extraction.processes import Work

logger = logging.getLogger(__name__)

_PARENT_CHECK_SECONDS = 1.0


def main(modules: Sequence[str]) -> None:
    """Answer messages until the parent closes the pipe, or has ended.

    An answer may be an exception, which the parent raises. A process that has grown says so with
    its answer, and one that gets no memory for it ends.
    """
    source, target = _pipes()
    logging.disable()
    try:
        for module in modules:
            import_module(module)
        work: Work = receive(source)
        answer = work.prepare()
        send(target, Answer(None))  # ready
        while True:
            message = receive(source)
            try:
                send(target, Answer(answer(message), has_grown()))
            except MemoryError:
                os._exit(1)  # only so is all of it given back
            except (OSError, ShinglingError) as error:
                send(target, Answer(error))
            except Exception as error:  # a fault of ours
                logging.disable(logging.NOTSET)
                logger.exception("A worker process has failed")
                send(target, Answer(RuntimeError(f"{type(error).__name__}: {error}")))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent has ended; there is nobody left to flush to


def _pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Where messages come from and answers go to; from now on this ends with its parent."""
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
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
