"""The worker process: messages come on standard input and go to standard output."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

from shingling.plugin.workers import STARTED, receive, send

if TYPE_CHECKING:
    from shingling.reading import Reader


def main() -> None:
    """Read contents until the parent closes the pipe, or is gone."""
    source = sys.stdin.buffer
    # Whatever else writes to standard output must not get between the messages.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    logging.disable()
    try:
        reader: Reader = receive(source)
        target.write(STARTED)
        target.flush()
        while True:
            send(target, reader.read(receive(source)))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent is gone; there is nobody left to flush to


if __name__ == "__main__":
    main()
