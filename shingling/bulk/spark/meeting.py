"""Which rows meet under their keys, as Spark's workers find it.

The rows of a key come as they are sorted, and no more of them are held than may be met still: a
key that all rows have takes no more memory than any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.buckets import ranges
from shingling.bulk.measuring import worth_measuring
from shingling.bulk.spark.batches import of_columns
from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from shingling.sketch import Scheme
    from shingling.store import Ranking, Rules

NOBODY = -1
"""In place of minima in common: there is no other row."""

_PAIRS = 1 << 16  # compared at a time

MET = "row long, other long, equal int, original boolean, sure boolean, hidden long"


class Deciding(NamedTuple):
    """How rows are decided, as workers are told.

    Args:
        scheme: of the fingerprints.
        ranking: of candidates.
        rules: what decides.
        most: originals looked at under one key, the oldest.
        measured: candidates of a row measured at most.
    """

    scheme: Scheme
    ranking: Ranking
    rules: Rules
    most: int
    measured: int


class _Members(NamedTuple):
    """Rows under keys, by key and row."""

    key: NDArray[np.int64]
    row: NDArray[np.int64]
    undecided: NDArray[np.bool_]
    words: NDArray[np.int64]
    simhash: NDArray[np.uint64]
    minima: NDArray[np.uint32]
    sure: NDArray[np.bool_]

    @classmethod
    def of(cls, batch: Any) -> _Members:
        """Return the rows of a batch, of which nothing is sure yet."""
        minima = np.frombuffer(b"".join(batch.column("minima").to_pylist()), "<u4")
        key, row, undecided, words, simhash = (
            batch.column(name).to_numpy(zero_copy_only=False)
            for name in ("key", "row", "undecided", "words", "simhash")
        )
        minima = minima.reshape(-1, FUNCTIONS)
        nothing = np.zeros(len(row), bool)
        return cls(key, row, undecided, words, simhash.view(np.uint64), minima, nothing)

    def take(self, places: Any) -> _Members:
        """Return some of the rows."""
        return _Members(*(column[places] for column in self))

    def behind(self, before: _Members) -> _Members:
        """Return these rows behind others."""
        pairs = zip(before, self, strict=True)
        return _Members(*(np.concatenate([*both]) for both in pairs))


def meet(batches: Iterable[Any], deciding: Deciding, pivots: int) -> Iterator[Any]:
    """Find whom undecided rows meet: `MET`, once for each key, for members by key and row.

    The others are the oldest originals of the key before the row, which are `sure` if they are
    among the oldest whatever becomes of the undecided, and the first undecided rows, its pivots.
    How many undecided rows there are behind the pivots that may become such originals is `hidden`,
    in a line of its own.

    Args:
        batches: members of keys.
        deciding: which pairs are worth measuring.
        pivots: undecided rows of a key that others meet; with 0 nothing is hidden.
    """
    meeting = _Meeting(deciding, pivots)
    for batch in batches:
        if batch.num_rows:
            yield from meeting.add(_Members.of(batch))


class _Meeting:
    """What is known of the key that the last batch ended with."""

    def __init__(self, deciding: Deciding, pivots: int) -> None:
        self._deciding = deciding
        self._pivots = pivots
        self._before: _Members | None = None  # those whom others may meet
        self._key = 0
        self._originals = 0
        self._undecided = 0

    def add(self, own: _Members) -> Iterator[Any]:
        """Yield whom the undecided of a batch meet."""
        most = self._deciding.most
        goes_on = self._before is not None and int(own.key[0]) == self._key
        starts = np.r_[0, np.flatnonzero(np.diff(own.key)) + 1]
        sizes = np.diff(np.r_[starts, len(own.key)])

        def before(marked: NDArray[np.bool_], known: int) -> NDArray[np.int64]:
            """Return how many marked rows of its key are before each row."""
            sums: NDArray[np.int64] = np.cumsum(marked) - marked
            counts: NDArray[np.int64] = sums - np.repeat(sums[starts], sizes)
            counts[: sizes[0]] += known if goes_on else 0
            return counts

        originals = before(~own.undecided, self._originals)
        possible = originals < most
        undecided = before(own.undecided & possible, self._undecided)
        met = possible & (~own.undecided | (undecided < self._pivots))
        met &= own.words >= self._deciding.rules.min_words
        own = own._replace(sure=originals + undecided < most)
        others = own.take(met)
        known = 0
        if goes_on and self._before is not None:
            others = others.behind(self._before)
            known = len(self._before.row)
        counts = before(met, known)
        firsts = np.cumsum(met) - met + known - counts

        asks = np.flatnonzero(own.undecided)
        yield from self._pairs(own, others, asks, firsts[asks], counts[asks])
        if self._pivots:
            hidden = undecided[asks] - self._pivots
            yield _hidden(own.row[asks][hidden > 0], hidden[hidden > 0])

        self._key = int(own.key[-1])
        self._originals = int(originals[-1] + (not own.undecided[-1]))
        self._undecided = int(undecided[-1] + (own.undecided[-1] and possible[-1]))
        last = int(firsts[starts[-1]])
        self._before = others.take(slice(last, None))

    def _pairs(
        self,
        own: _Members,
        others: _Members,
        asks: NDArray[np.int64],
        firsts: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> Iterator[Any]:
        ends = np.cumsum(counts)
        start = 0
        while start < len(asks):
            done = int(ends[start - 1]) if start else 0
            stop = max(int(np.searchsorted(ends, done + _PAIRS, side="right")), start + 1)
            part = slice(start, stop)
            left = own.take(np.repeat(asks[part], counts[part]))
            right = others.take(ranges(firsts[part], counts[part]))
            taken, equal = self._taken(left, right)
            if len(equal):
                columns = (
                    *(left.row[taken], right.row[taken], equal.astype(np.int32)),
                    *(~right.undecided[taken], right.sure[taken], np.zeros(len(equal), np.int64)),
                )
                yield of_columns(columns, MET)
            start = stop

    def _taken(
        self, left: _Members, right: _Members
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which pairs the method takes, and their minima in common, as bulk does."""
        deciding = self._deciding
        taken, counts = worth_measuring(
            left.minima == right.minima,
            left.simhash,
            right.simhash,
            deciding.rules,
            deciding.ranking,
        )
        taken &= left.row != right.row  # two of its keys may be equal by chance
        return taken, counts[taken]


def _hidden(rows: NDArray[np.int64], hidden: NDArray[np.int64]) -> Any:
    nobody = np.full(len(rows), NOBODY, np.int32)
    no = np.zeros(len(rows), bool)
    # Others that do not exist, each another one: equal ones would come to one task.
    columns = rows, -1 - rows, nobody, no, no, hidden
    return of_columns(columns, MET)
