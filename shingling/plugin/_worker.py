"""The worker process: messages come on standard input and go to standard output."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from shingling.processes import pipes_of_worker, receive, send

if TYPE_CHECKING:
    from shingling.reading import Reader


_NICE = 5  # below the crawl's own process: its event loop does not wait for a core


def main() -> None:
    """Read contents until the parent closes the pipe, or is gone."""
    source, target = pipes_of_worker()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    logging.disable()
    try:
        reader: Reader = receive(source)
        reader.warm_up()
        send(target, None)  # ready
        while True:
            send(target, reader.read(receive(source)))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent is gone; there is nobody left to flush to


if __name__ == "__main__":
    main()
