"""The worker process: messages come on standard input and go to standard output."""

from __future__ import annotations

import logging
import os

import trafilatura  # noqa: F401 (this and the next are imported while the crawl opens its store)

import shingling.extraction.reader  # noqa: TC001 (the reader that comes is of it)
from shingling.extraction.processes import pipes_of_worker, receive, send

_NICE = 5  # below the crawl's own process: its event loop does not wait for a core


def main() -> None:
    """Read contents until the parent closes the pipe, or is gone."""
    source, target = pipes_of_worker()
    logging.disable()
    try:
        reader: shingling.extraction.reader.Reader = receive(source)
        reader.warm_up()
        send(target, None)  # ready
        if hasattr(os, "nice"):  # the first page of a crawl waited for the start
            os.nice(_NICE)
        while True:
            send(target, reader.read(receive(source)))
    except (EOFError, BrokenPipeError):
        os._exit(0)  # the parent is gone; there is nobody left to flush to


if __name__ == "__main__":
    main()
