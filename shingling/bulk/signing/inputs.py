"""Sign all inputs: their parts are handed to the workers, and the chunks are counted."""

from __future__ import annotations

import hashlib
import pickle
import queue
from typing import TYPE_CHECKING

from shingling.bulk.options import Options, Progress
from shingling.bulk.signing.chunks import ChunkHeader, read_header
from shingling.bulk.signing.pool import SigningPool
from shingling.bulk.signing.sign_part import Signer, Task
from shingling.errors import BulkError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import PageExtractor
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from shingling.bulk.files.payloads import Payload
    from shingling.bulk.files.sources import Source
    from shingling.sketch.banding import Banding


def sign_all(
    sources: Sequence[Source],
    options: Options,
    banding: Banding | None,
    folder: Path,
    progress: Callable[[Progress], None],
) -> int:
    """Sign all rows of all inputs; parts that are signed already stay.

    Args:
        sources: the inputs.
        options: how.
        banding: what candidates are found by, or None.
        folder: of the chunks.
        progress: is told how far it has come.

    Returns:
        The number of chunks.

    Raises:
        BulkError: a part could not be signed, or one row of a strict run.
        OSError: the disk is full, or the like.
    """
    found = find_extractor(options.extractor)
    found.load()  # a wrong one is said before anything is read
    extractor = PageExtractor(
        options.scheme, found, options.max_bytes, worker_memory=options.worker_memory
    )
    signer = Signer(extractor, options.fields, banding, folder)
    pool = SigningPool(signer, options.workers, options.timeout)
    try:
        number = _Signing(sources, options, folder, pool, progress).run()
    except BaseException:
        pool.close(kill=True)
        raise
    pool.close()
    return number


class _Signing:
    def __init__(
        self,
        sources: Sequence[Source],
        options: Options,
        folder: Path,
        pool: SigningPool,
        progress: Callable[[Progress], None],
    ) -> None:
        self._sources = sources
        self._strict = options.strict
        self._folder = folder
        self._pool = pool
        self._progress = progress
        self._waiting = 0  # parts with the workers
        self._rows = 0
        self._share: float | None = None
        self._first_bad: int | None = None  # chunk, in a strict run
        self._done: set[int] = set()  # chunks, of which those before `_all_done` are left out
        self._all_done = 0

    def run(self) -> int:
        number = 0
        sizes = [source.size for source in self._sources]
        total = sum(size or 0 for size in sizes)
        known = None not in sizes and total > 0
        before = 0
        for place, source in enumerate(self._sources):
            for payload, share in source.parts():
                if known:
                    self._share = (before + (share or 0.0) * (source.size or 0)) / total
                self._hand_in(Task(number, place, payload, _digest(source, payload)), source)
                number += 1
            before += source.size or 0
        while self._waiting:
            self._take(wait=True)
        return number

    def _hand_in(self, task: Task, source: Source) -> None:
        """Have a part signed, unless it is."""
        made = read_header(self._folder, task.number)
        if made is not None:
            if made.digest != task.digest:
                raise BulkError(
                    f"{plain_line(source.name)}: it gives other rows than before the interruption;"
                    " --restart begins anew"
                )
            self._note(task.number, made)
            return
        while not self._pool.submit(task):
            self._take(wait=False)
        self._waiting += 1
        self._take(wait=False)

    def _take(self, *, wait: bool) -> None:
        """Take up what the workers have done."""
        while self._waiting:
            try:
                done = self._pool.done.get(block=wait)
            except queue.Empty:
                return
            self._waiting -= 1
            if isinstance(done, OSError):
                done.filename = done.filename or str(self._folder)
                raise done
            if isinstance(done, Exception):
                raise done if isinstance(done, BulkError) else BulkError(str(done)) from done
            header = read_header(self._folder, done)
            assert header is not None
            self._note(done, header)

    def _note(self, number: int, header: ChunkHeader) -> None:
        self._rows += header.rows
        self._progress(Progress("signing", self._rows, self._share))
        if not self._strict:
            return
        if header.bad and (self._first_bad is None or number < self._first_bad):
            self._first_bad = number
        self._done.add(number)
        while self._all_done in self._done:
            self._done.remove(self._all_done)
            self._all_done += 1
        if self._first_bad is not None and self._all_done > self._first_bad:
            self._refuse(self._first_bad)

    def _refuse(self, number: int) -> None:
        """Stop at the first bad row of all.

        Raises:
            BulkError: always.
        """
        headers = [read_header(self._folder, place) for place in range(number + 1)]
        *before, own = [header for header in headers if header is not None]
        line, reason = own.bad[0]
        line += sum(header.lines for header in before if header.source == own.source)
        name = plain_line(self._sources[own.source].name)
        raise BulkError(f"{name}, line {line:,}: {reason} (--strict)")


def _digest(source: Source, payload: Payload) -> str | None:
    """Hash of a part; None if the identity of its input already tells whether it is the same."""
    if source.identity is not None:
        return None
    return hashlib.blake2b(pickle.dumps(payload), digest_size=16).hexdigest()
