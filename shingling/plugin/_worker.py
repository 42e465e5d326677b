"""The worker process: messages come on standard input and go to standard output."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

from shingling.plugin.workers import STARTED, receive, send

if TYPE_CHECKING:
    from shingling.reading import Reader


_LOOK = 1.0  # seconds between two looks for the parent
_NICE = 5  # below the crawl's own process: its event loop does not wait for a core


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, also in the middle of a content."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)


def main() -> None:
    """Read contents until the parent closes the pipe, or is gone."""
    if hasattr(os, "getppid"):
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    source = sys.stdin.buffer
    # Whatever else writes to standard output must not get between the messages.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.disable()
    try:
        reader: Reader = receive(source)
        reader.warm_up()
        target.write(STARTED)
        target.flush()
        while True:
            send(target, reader.read(receive(source)))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent is gone; there is nobody left to flush to


if __name__ == "__main__":
    main()
