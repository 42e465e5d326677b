"""Pairs of rows that are compared, and the decisions on them: on one machine, and on Spark.

A row is paired with the earlier rows that it shares a key with; of each key, the
`MAX_PAGES_PER_KEY` oldest originals count, as in a store. Which rows are originals is known at the
end only: so `decide_near` first takes all rows of a key for originals, `FIRST_CANDIDATES` at most.
Rows with more under a key are paired with the first originals of these decisions once more, until
nothing changes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.rules import METHODS
from shingling.similarity.match_rule import MAX_CANDIDATES_MEASURED
from shingling.similarity.measures import overlap, unless_forged
from shingling.similarity.own_text import says_more
from shingling.sketch import FUNCTIONS
from shingling.store.backends.base import MAX_PAGES_PER_KEY
from shingling.store.index import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeAlias

    from shingling.arrays import Fingerprints, Flags, Floats, Hashes, Integers, Numbers
    from shingling.bulk.options import Options
    from shingling.similarity.match_rule import MatchRule
    from shingling.similarity.measures import Overlap
    from shingling.sketch import Banding, Halves

    ComparedText: TypeAlias = tuple[str, Fingerprints]
    """Text of a row, and the fingerprints of its shingles."""

    Find: TypeAlias = Callable[[Flags, Flags, int], "tuple[Pairs, Flags]"]
    """Finds pairs: of queries, with rows that are not removed, at most so many under a key.
    The second answer marks the queries that share a key with more."""

MAX_ROWS = 1 << 31
"""Rows above which two do not fit into the number of a pair."""

FIRST_CANDIDATES = 16
"""Rows of a key that are candidates before any row is decided."""

_MAX_PASSES = 20  # over keys with many rows: they change less with each
_MAX_PAIRS_COMPARED = 1 << 16  # at once


class _Measured(NamedTuple):
    """What two texts have in common."""

    resemblance: float


class Pairs(NamedTuple):
    """Pairs of a row and an earlier one; those of a row come together, the most alike first.

    Args:
        ids: number of the row, shifted by 32 bits, and of the earlier row: int64[n].
        equal: number of equal minima: uint8[n].
        resemblance, containment: of the texts; NaN if they are not measured: float64[n].
    """

    ids: Integers
    equal: Any
    resemblance: Floats
    containment: Floats

    @classmethod
    def unmeasured(
        cls, rows: Integers | Numbers, others: Integers | Numbers, equal: Integers
    ) -> Pairs:
        """Pairs that are not measured."""
        unknown = np.full((2, len(rows)), np.nan)
        return cls(rows.astype(np.int64) << 32 | others, equal.astype(np.uint8), *unknown)

    @classmethod
    def none(cls) -> Pairs:
        """No pairs."""
        return cls.unmeasured(*np.empty((3, 0), np.int64))

    @property
    def rows(self) -> Integers:
        """The later row of each pair."""
        return self.ids >> 32

    @property
    def others(self) -> Integers:
        """The earlier row of each pair."""
        return self.ids & 0xFFFFFFFF

    def take(self, places: Any) -> Pairs:
        """Select pairs by their places, or by a mask."""
        return Pairs(*(column[places] for column in self))

    def sorted(self) -> Pairs:
        """Sort by row, by likeness, and by the earlier row."""
        return self.take(np.lexsort((self.ids, FUNCTIONS - self.equal, self.rows)))

    def joined(self, *others: Pairs) -> Pairs:
        """Add pairs; those that are there several times are kept once."""
        pairs = Pairs(*(np.concatenate(columns) for columns in zip(self, *others, strict=True)))
        return pairs.take(np.unique(pairs.ids, return_index=True)[1]) if others else self

    def with_rows_of(self, others: Pairs, rows: Flags) -> Pairs:
        """Replace the pairs of some rows; what is measured stays known.

        Args:
            others: pairs of these rows.
            rows: marks them among all rows: bool[rows].
        """
        _, new, old = np.intersect1d(others.ids, self.ids, assume_unique=True, return_indices=True)
        for theirs, own in zip(others[2:], self[2:], strict=True):
            known = ~np.isnan(own[old])
            theirs[new[known]] = own[old[known]]
        return self.take(~rows[self.rows]).joined(others).sorted()


def measure_texts(row: ComparedText, other: ComparedText, options: Options) -> Overlap:
    """Overlap of a row and an earlier one; of less than nothing, if the row stays all the same.

    It does if it says something of its own, or if the two share hashes and not the words.
    """
    (text, shingles), (other_text, other_shingles) = row, other
    rules, both = options.rules, overlap(shingles, other_shingles)
    if rules.least_resemblance is None:
        both = unless_forged(both, text, other_text, options.scheme)
    if both.resemblance < (rules.least_resemblance or 0.0):
        return both
    is_kept = says_more(text, other_text, options.own_text, rules.min_words)
    return replace(both, shared=-1) if is_kept else both


class KeyJoin:
    """Rows under keys: each query is paired with the first stored rows of its key before it.

    Args:
        keys: sorted: any[n].
        stored: rows that may be originals: bool[n].
        queries: rows that originals are looked for: bool[n].
        limit: number of rows that a query is paired with.
    """

    def __init__(self, keys: Hashes | Integers, stored: Flags, queries: Flags, limit: int) -> None:
        _, starts, counts = np.unique(keys, return_index=True, return_counts=True)
        before: Integers = np.cumsum(stored) - stored
        self._firsts = np.repeat(before[starts], counts)
        before -= self._firsts
        self._stored = np.flatnonzero(stored)
        self._queries = np.flatnonzero(queries & (before > 0))
        self._counts = np.minimum(before[self._queries], limit)
        self.cut = queries & (before > limit)
        """Places of queries with more stored rows before them: bool[n]."""

    def pairs(self) -> Iterator[tuple[Integers, Integers]]:
        """Yield places of queries and of their stored rows, some thousands of pairs at a time."""
        pairs_before = np.cumsum(self._counts) - self._counts
        start = 0
        while start < len(pairs_before):
            limit = pairs_before[start] + _MAX_PAIRS_COMPARED
            stop = int(np.searchsorted(pairs_before, limit))
            queries, counts = self._queries[start:stop], self._counts[start:stop]
            yield np.repeat(queries, counts), self._stored[ranges(self._firsts[queries], counts)]
            start = stop


def ranges(starts: Integers, counts: Integers) -> Integers:
    """Concatenate ranges, each from a start on with a count of numbers."""
    before = np.cumsum(counts) - counts
    places: Integers = np.arange(counts.sum()) + np.repeat(starts - before, counts)
    return places


def keys_of(options: Options) -> Banding | Halves | None:
    """Choose what rows that are compared share keys of; None looks for exact duplicates only."""
    if METHODS[options.rules.method].keys is None:
        return None
    return Index.for_rules(options.rules, options.scheme).keys_of


def decide_near(
    queries: Flags,
    find: Find,
    match_rule: MatchRule,
    measure: Callable[[int, int], Overlap] | None = None,
) -> Pairs:
    """Decide near-duplicates in the order of the rows, as a store would.

    Args:
        queries: rows that may be near-duplicates: bool[rows].
        find: finds pairs.
        match_rule: which original a row follows.
        measure: compares the texts of two rows; None if those that are found are measured.

    Returns:
        A pair of each duplicate, with its original.
    """
    removed = np.zeros(len(queries), bool)
    pairs, cut = find(queries, removed, FIRST_CANDIDATES)
    chosen = _choose(pairs, len(queries), match_rule, measure)
    for _ in range(_MAX_PASSES if cut.any() else 0):
        before = chosen
        removed = np.zeros(len(queries), bool)
        removed[before.rows] = True
        others, _ = find(cut, removed, MAX_PAGES_PER_KEY)
        pairs = pairs.with_rows_of(others, cut)
        chosen = _choose(pairs, len(queries), match_rule, measure)
        if np.array_equal(chosen.rows, before.rows):
            break
    return chosen


def _choose(
    pairs: Pairs,
    rows: int,
    match_rule: MatchRule,
    measure: Callable[[int, int], Overlap] | None,
) -> Pairs:
    """Choose the originals of rows among their pairs; note what is measured."""
    removed = bytearray(rows)
    chosen = []
    all_rows, all_others = pairs.rows, pairs.others
    bounds = np.flatnonzero(np.diff(all_rows, prepend=-1)).tolist()
    for start, stop in pairwise([*bounds, len(all_rows)]):
        row, others = int(all_rows[start]), all_others[start:stop].tolist()
        estimates = (pairs.equal[start:stop] / FUNCTIONS).tolist()
        originals = [
            (at, estimate) for at, estimate in enumerate(estimates) if not removed[others[at]]
        ]

        def measured(at: int) -> _Measured:
            place = start + at  # noqa: B023 (it is called at once)
            if measure is not None and np.isnan(pairs.resemblance[place]):
                both = measure(row, others[at])  # noqa: B023
                pairs.resemblance[place] = both.resemblance
                pairs.containment[place] = both.containment
            return _Measured(float(pairs.resemblance[place]))

        best = match_rule.best(originals[:MAX_CANDIDATES_MEASURED], others, measured)
        if best is not None:
            removed[row] = True
            chosen.append(start + best[0])
    return pairs.take(np.array(chosen, np.int64))
