"""Candidates of undecided rows, found under shared keys by Spark's workers.

The rows of a key come sorted, and only those that may still be candidates are held in memory: a
key that all rows share takes no more memory than any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.pairs import ranges
from shingling.bulk.spark.batches import of_columns
from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.arrays import Flags, Hashes, Integers, Minima
    from shingling.similarity.following import Following
    from shingling.sketch import Halves, Scheme

NO_CANDIDATE = -1
"""In place of the number of equal minima: the line has only the number of hidden rows."""

_MAX_PAIRS_COMPARED = 1 << 16  # at once
_MAX_KEYS_AT_ONCE = 1 << 18  # of a batch that Spark is handed
_STORED_KEYS = 2  # the first ones that `Halves.probes` gives: the row's own halves

PROBES = "row long, key long, stored boolean"

CANDIDATES = "row long, other long, equal int, original boolean, sure boolean, hidden long"


class Deciding(NamedTuple):
    """How rows are decided: what the workers need of the options.

    Args:
        scheme: of the fingerprints.
        following: which original a row follows.
        max_originals: number of originals under a key that are candidates, the oldest.
        max_measured: number of candidates of a row that are measured.
        halves: of SimHashes, under which rows are stored; None if they have other keys.
    """

    scheme: Scheme
    following: Following
    max_originals: int
    max_measured: int
    halves: Halves | None = None


class _Members(NamedTuple):
    """Rows under keys, by key and row."""

    key: Integers
    row: Integers
    stored: Flags
    undecided: Flags
    words: Integers
    simhash: Hashes
    minima: Minima
    sure: Flags

    @classmethod
    def of(cls, batch: Any) -> _Members:
        """Rows of a batch, none of which is sure yet."""
        minima = np.frombuffer(b"".join(batch.column("minima").to_pylist()), "<u4")
        names = "key", "row", "stored", "undecided", "words", "simhash"
        key, row, stored, undecided, words, simhash = (
            batch.column(name).to_numpy(zero_copy_only=False) for name in names
        )
        minima = minima.reshape(-1, FUNCTIONS)
        nothing = np.zeros(len(row), bool)
        return cls(key, row, stored, undecided, words, simhash.view(np.uint64), minima, nothing)

    def take(self, places: Any) -> _Members:
        """Select rows by their places, a slice or a mask."""
        return _Members(*(column[places] for column in self))

    def after(self, before: _Members) -> _Members:
        """Put these rows after others."""
        pairs = zip(before, self, strict=True)
        return _Members(*(np.concatenate([*both]) for both in pairs))


def probe_halves(batches: Iterable[Any], deciding: Deciding) -> Iterator[Any]:
    """List the keys that rows are looked up under; of these, two are stored.

    Args:
        batches: with the columns `row` and `simhash`.
        deciding: with the halves and the distance.

    Yields:
        Batches of the schema `PROBES`.
    """
    assert deciding.halves is not None
    distance = deciding.following.rules.simhash_distance
    at_once = max(_MAX_KEYS_AT_ONCE // (2 * len(deciding.halves.masks(distance))), 1)
    for whole in batches:
        for start in range(0, whole.num_rows, at_once):
            batch = whole.slice(start, at_once)
            rows, simhashes = (batch.column(name).to_numpy() for name in ("row", "simhash"))
            keys = deciding.halves.probes(simhashes.view(np.uint64), distance)
            is_stored = np.arange(keys.shape[1]) < _STORED_KEYS
            columns = (
                np.repeat(rows, keys.shape[1]),
                keys.reshape(-1),
                np.tile(is_stored, len(rows)),
            )
            yield of_columns(columns, PROBES)


def find_candidates(batches: Iterable[Any], deciding: Deciding, pivots: int) -> Iterator[Any]:
    """Pair undecided rows with candidates before them, for each key that they share.

    Candidates are rows that are stored under the key; others only look for them there. They are
    the oldest originals of the key, and its first undecided rows, the pivots. An
    original is `sure` if it stays among the oldest whatever becomes of the undecided rows. A line
    of its own has the number of `hidden` rows: the undecided ones between the pivots and the row
    that may become such originals.

    Args:
        batches: rows with their keys, sorted by key and row.
        deciding: says which pairs are worth measuring.
        pivots: number of undecided rows of a key that are candidates; with 0, no lines with
            hidden rows are made.

    Yields:
        Batches of the schema `CANDIDATES`.
    """
    finder = _Finder(deciding, pivots)
    for batch in batches:
        if batch.num_rows:
            yield from finder.add(_Members.of(batch))


class _Finder:
    """Finds candidates; between batches it holds those of the last key."""

    def __init__(self, deciding: Deciding, pivots: int) -> None:
        self._deciding = deciding
        self._pivots = pivots
        self._before: _Members | None = None  # that rows of the next batch may have
        self._key = 0
        self._originals = 0
        self._undecided = 0

    def add(self, own: _Members) -> Iterator[Any]:
        """Yield the candidates of the undecided rows of a batch."""
        max_originals = self._deciding.max_originals
        continues = self._before is not None and int(own.key[0]) == self._key
        starts = np.r_[0, np.flatnonzero(np.diff(own.key)) + 1]
        sizes = np.diff(np.r_[starts, len(own.key)])

        def before(marked: Flags, known: int) -> Integers:
            """Count the marked rows of the same key before each row."""
            sums: Integers = np.cumsum(marked) - marked
            counts: Integers = sums - np.repeat(sums[starts], sizes)
            counts[: sizes[0]] += known if continues else 0
            return counts

        originals = before(own.stored & ~own.undecided, self._originals)
        possible = originals < max_originals
        is_waiting = own.stored & own.undecided & possible
        undecided = before(is_waiting, self._undecided)
        is_candidate = own.stored & possible & (~own.undecided | (undecided < self._pivots))
        is_candidate &= own.words >= self._deciding.following.rules.min_words
        own = own._replace(sure=originals + undecided < max_originals)
        others = own.take(is_candidate)
        known = 0
        if continues and self._before is not None:
            others = others.after(self._before)
            known = len(self._before.row)
        counts = before(is_candidate, known)
        firsts = np.cumsum(is_candidate) - is_candidate + known - counts

        asks = np.flatnonzero(own.undecided)
        yield from self._pairs(own, others, asks, firsts[asks], counts[asks])
        if self._pivots:
            hidden = undecided[asks] - self._pivots
            yield _hidden(own.row[asks][hidden > 0], hidden[hidden > 0])

        self._key = int(own.key[-1])
        self._originals = int(originals[-1] + (own.stored[-1] and not own.undecided[-1]))
        self._undecided = int(undecided[-1] + is_waiting[-1])
        last = int(firsts[starts[-1]])
        self._before = others.take(slice(last, None))

    def _pairs(
        self,
        own: _Members,
        others: _Members,
        asks: Integers,
        firsts: Integers,
        counts: Integers,
    ) -> Iterator[Any]:
        ends = np.cumsum(counts)
        start = 0
        while start < len(asks):
            limit = (int(ends[start - 1]) if start else 0) + _MAX_PAIRS_COMPARED
            stop = max(int(np.searchsorted(ends, limit, side="right")), start + 1)
            part = slice(start, stop)
            left = own.take(np.repeat(asks[part], counts[part]))
            right = others.take(ranges(firsts[part], counts[part]))
            chosen, equal = self._select(left, right)
            if len(equal):
                columns = (
                    *(left.row[chosen], right.row[chosen], equal.astype(np.int32)),
                    *(~right.undecided[chosen], right.sure[chosen], np.zeros(len(equal), np.int64)),
                )
                yield of_columns(columns, CANDIDATES)
            start = stop

    def _select(self, left: _Members, right: _Members) -> tuple[Flags, Integers]:
        """Select the pairs that are worth measuring, as bulk on one machine does."""
        chosen, counts = self._deciding.following.worth_measuring(
            left.minima == right.minima, left.simhash, right.simhash
        )
        chosen &= left.row != right.row  # two of its keys may be equal by chance
        return chosen, counts[chosen]


def _hidden(rows: Integers, hidden: Integers) -> Any:
    none = np.full(len(rows), NO_CANDIDATE, np.int32)
    no = np.zeros(len(rows), bool)
    # Each line has another number in place of a candidate: equal ones would all go to one task.
    columns = rows, -1 - rows, none, no, no, hidden
    return of_columns(columns, CANDIDATES)
