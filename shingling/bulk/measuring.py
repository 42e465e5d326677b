"""Pairs of rows whose texts are compared, and the choice of a row's original among them.

Measuring is most of what deciding costs: worker processes do it ahead, for a whole block of rows.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.extraction.limits import limit_memory
from shingling.extraction.processes import Worker
from shingling.similarity import Overlap, overlap, unless_forged
from shingling.similarity.following import MAX_CANDIDATES_MEASURED
from shingling.similarity.measures import ranked
from shingling.sketch import FUNCTIONS, fingerprint_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shingling.arrays import Fingerprints, Integers
    from shingling.bulk.signed_rows import SignedRows
    from shingling.similarity.following import Following
    from shingling.sketch import Scheme

_FINGERPRINTS_BYTES = 1 << 26  # remembered
_MIN_PAIRS_FOR_WORKERS = 1 << 8  # fewer are measured sooner than workers are asked


class Pairs(NamedTuple):
    """Pairs of a row and an earlier original that are worth measuring, sorted by both."""

    rows: Integers
    originals: Integers
    equal: Integers  # minima

    @classmethod
    def none(cls) -> Pairs:
        """No pairs."""
        return cls(*(np.empty(0, np.int64) for _ in cls._fields))

    def cut(self, number: int) -> list[Pairs]:
        """Cut the pairs into parts of about the same size; the pairs of a row stay together."""
        ends = np.linspace(0, len(self.rows), number + 1).astype(np.int64)[1:-1]
        bounds = [0, *np.searchsorted(self.rows, self.rows[ends]).tolist(), len(self.rows)]
        return [Pairs(*(column[first:last] for column in self)) for first, last in pairwise(bounds)]


def by_row(rows: Integers) -> Iterator[tuple[int, slice]]:
    """Yield each of rising rows with its places."""
    bounds = np.flatnonzero(np.diff(rows)) + 1
    firsts = [0, *bounds.tolist()] if len(rows) else []
    for first, last in zip(firsts, [*bounds.tolist(), len(rows)], strict=False):
        yield int(rows[first]), slice(first, last)


class Measurer:
    """Chooses originals, and remembers recent measures and fingerprints.

    Args:
        signed: the rows.
        scheme: of the fingerprints.
        following: which original a row follows.
        worker_memory: bytes that a worker process may take; 0 is no limit.
    """

    def __init__(
        self, signed: SignedRows, scheme: Scheme, following: Following, worker_memory: int = 0
    ) -> None:
        self._signed = signed
        self._scheme = scheme
        self._following = following
        self._worker_memory = worker_memory
        self._measured: dict[tuple[int, int], Overlap] = {}
        self._fingerprints: OrderedDict[int, Fingerprints] = OrderedDict()
        self._size = 0

    def prepare(self) -> Callable[[Pairs], Integers]:
        """Make a worker process ready that measures pairs: fingerprints are of one process."""
        self._fingerprints.clear()
        self._size = 0
        limit_memory(self._worker_memory)
        return self.measure

    def choose(
        self, row: int, originals: Sequence[int], equal: Sequence[int]
    ) -> tuple[int, Overlap] | None:
        """Choose the original of a row: the most similar one, or None if none is similar enough.

        Args:
            row: to be decided.
            originals: in rising order.
            equal: number of minima of each that are equal to those of the row.
        """
        best = self._following.best(
            ranked(np.asarray(equal) / FUNCTIONS, self._following.worth, MAX_CANDIDATES_MEASURED),
            originals,
            lambda place: self._overlap(row, originals[place]),
        )
        return None if best is None else (originals[best[0]], best[1])

    def measure(self, pairs: Pairs) -> Integers:
        """Measure all pairs that choosing the originals of their rows needs.

        Those of a row for which there is not enough memory are left out.

        Returns:
            Row, original and the counts of `Overlap` of each measured pair: int64[n, 5].

        Raises:
            BulkError: a file has changed meanwhile.
        """
        self._measured.clear()
        self._signed.prefetch(np.union1d(pairs.rows, pairs.originals))
        for row, part in by_row(pairs.rows):
            try:
                self.choose(row, pairs.originals[part].tolist(), pairs.equal[part].tolist())
            except MemoryError:
                self._fingerprints.clear()
                self._size = 0
        found = [(*pair, both.shared, both.a, both.b) for pair, both in self._measured.items()]
        return np.array(found, np.int64).reshape(-1, 5)

    def learn(self, measured: Integers) -> None:
        """Replace the remembered measures by those of workers."""
        self._measured = {
            (row, other): Overlap(*counts) for row, other, *counts in measured.tolist()
        }

    def _overlap(self, row: int, other: int) -> Overlap:
        known = self._measured.get((row, other))
        if known is None:
            known = overlap(self._fingerprints_of(row), self._fingerprints_of(other))
            if not self._following.least:
                first, second = self._signed.text(row), self._signed.text(other)
                known = unless_forged(known, first, second, self._scheme)
            self._measured[row, other] = known
        return known

    def _fingerprints_of(self, row: int) -> Fingerprints:
        known = self._fingerprints.get(row)
        if known is not None:
            self._fingerprints.move_to_end(row)
            return known
        made = fingerprint_set(self._signed.text(row), self._scheme)
        self._fingerprints[row] = made
        self._size += made.nbytes
        while self._size > _FINGERPRINTS_BYTES and len(self._fingerprints) > 1:
            self._size -= self._fingerprints.popitem(last=False)[1].nbytes
        return made


class MeasuringPool:
    """Worker processes that measure pairs ahead, once there are many.

    What is left out by one that dies, does not start or has not enough memory is measured when it
    is asked for: verdicts do not depend on workers.

    Args:
        measurer: as which they measure.
        workers: number of processes; with 0 nothing is measured ahead.
    """

    def __init__(self, measurer: Measurer, workers: int) -> None:
        self._measurer = measurer
        self._workers: list[Worker | None] = [None] * workers

    def measure(self, pairs: Pairs) -> None:
        """Measure pairs in the workers, for the measurer to remember."""
        if not self._workers or len(pairs.rows) < _MIN_PAIRS_FOR_WORKERS:
            self._measurer.learn(np.empty((0, 5), np.int64))
            return
        with ThreadPoolExecutor(len(self._workers)) as threads:
            parts = pairs.cut(len(self._workers))
            answers = [*threads.map(self._ask, range(len(self._workers)), parts)]
        self._measurer.learn(np.concatenate(answers))

    def close(self) -> None:
        """End the processes."""
        for place in range(len(self._workers)):
            self._end(place)

    def _ask(self, place: int, pairs: Pairs) -> Integers:
        try:
            worker = self._workers[place]
            if worker is None:
                worker = self._workers[place] = Worker()
                worker.start(self._measurer)
            measured: Integers = worker.ask(pairs)
        except Exception:  # it died, or a row is at fault, of which measuring it here tells
            self._end(place)
            return np.empty((0, 5), np.int64)
        if worker.has_grown:
            self._end(place)
        return measured

    def _end(self, place: int) -> None:
        """End a process; another one takes its place when pairs are measured again."""
        worker, self._workers[place] = self._workers[place], None
        if worker is not None:
            worker.end()
