"""A process that stores pages all the while, as a crawl does."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.growth_pages import text_pages
from shingling import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Event

_PAGES_PER_BATCH, _BATCHES_PER_SECOND = 16, 5
_NUMBERS_OF_WRITER = 1 << 40  # of pages that are not stored yet


def _write(url: str, ended: Event) -> None:
    """Store pages at the pace of a crawl until told to end."""
    number = _NUMBERS_OF_WRITER + int(time.time()) * 1000
    with Store.open(url) as store:
        run = store.start_run("writer", {})
        while not ended.wait(1 / _BATCHES_PER_SECOND):
            store.check(text_pages(range(number, number + _PAGES_PER_BATCH)), run=run)
            number += _PAGES_PER_BATCH


@contextmanager
def writing(url: str) -> Iterator[None]:
    """Have a process store pages meanwhile."""
    context = multiprocessing.get_context("spawn")
    ended = context.Event()
    writer = context.Process(target=_write, args=(url, ended))
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join(30)
