"""The originals under each key that rows share, on disk, and the candidates found there.

Deciding (`greedy`) adds the originals of each block of rows, and looks up those of earlier ones.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.measuring import Pairs, worth_measuring
from shingling.rules.methods import METHODS
from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows
    from shingling.store import Ranking, Rules

_MAX_WINDOW_SIZE = 1 << 22  # numbers of 4 bytes, mapped into memory at once
_MAX_PAIRS_COMPARED = 1 << 18  # at once, by their signatures


class Buckets:
    """The originals under each key, in a file: of each bucket their number, then their rows.

    A bucket is called by its place in the file, and has room for `MAX_PAGES_PER_KEY` originals.

    Args:
        file: is made anew.
        size: of all buckets together, in numbers of 4 bytes.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(self, file: Path, size: int) -> None:
        self._file = file
        with file.open("wb") as made:
            made.truncate(4 * (size + MAX_PAGES_PER_KEY))
            if hasattr(os, "posix_fallocate"):  # or a full disk would end this process
                os.posix_fallocate(made.fileno(), 0, 4 * (size + MAX_PAGES_PER_KEY))

    def read(
        self, buckets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """Look up rising buckets.

        Returns:
            Of each bucket the number of originals, and the place of its first one in the
            originals: int64[n] each; then the originals of all: uint32.
        """
        counts = np.zeros(len(buckets), np.int64)
        originals = []
        for part, window, first in self._windows(buckets, "r"):
            places = buckets[part] - first
            counts[part] = window[places]
            originals.append(window[ranges(places + 1, counts[part])])
        starts = np.cumsum(counts) - counts
        return counts, starts, np.concatenate([np.empty(0, np.uint32), *originals])

    def add(self, buckets: NDArray[np.int64], originals: NDArray[np.int64]) -> None:
        """Add originals; those for which a bucket has no room are dropped.

        Args:
            buckets: of each original, rising: int64[n].
            originals: rising within each bucket: int64[n].
        """
        distinct, inverse = np.unique(buckets, return_inverse=True)
        counts = self.read(distinct)[0]
        is_first = np.ones(len(buckets), bool)
        is_first[1:] = buckets[1:] != buckets[:-1]
        firsts = np.flatnonzero(is_first)
        rank = np.arange(len(buckets)) - firsts[np.cumsum(is_first) - 1]
        place = counts[inverse] + rank
        has_room = place < MAX_PAGES_PER_KEY
        buckets, place, originals = buckets[has_room], place[has_room], originals[has_room]
        for part, window, first in self._windows(buckets, "r+"):
            at = buckets[part] - first
            window[at + 1 + place[part]] = originals[part]
            window[at] = place[part] + 1  # of equal buckets, the last one is written last

    def _windows(
        self, buckets: NDArray[np.int64], mode: str
    ) -> Iterator[tuple[slice, NDArray[np.uint32], int]]:
        """Map parts of the file, one after the other.

        Yields:
            The rising buckets that lie in a part, the part, and its place in the file.
        """
        start = 0
        while start < len(buckets):
            first = int(buckets[start])
            stop = int(np.searchsorted(buckets, first + _MAX_WINDOW_SIZE))
            shape = int(buckets[stop - 1]) - first + 1 + MAX_PAGES_PER_KEY
            window = np.memmap(self._file, "<u4", mode, 4 * first, (shape,))  # type: ignore[call-overload]  # stubs want a literal
            yield slice(start, stop), window, first
            start = stop


class Candidates:
    """Originals that share a key with a row and are worth measuring.

    Args:
        signed: the rows.
        buckets: with the originals.
        rules: what decides.
        ranking: of candidates.
    """

    def __init__(
        self, signed: SignedRows, buckets: Buckets, rules: Rules, ranking: Ranking
    ) -> None:
        self._signed = signed
        self._buckets = buckets
        self._rules = rules
        self._ranking = ranking

    def look_up(
        self, rows: NDArray[np.int64], buckets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], Pairs]:
        """Originals of earlier blocks in the buckets of rows.

        Args:
            rows: rising, and repeated for each of their buckets: int64[n].
            buckets: int64[n].

        Returns:
            The number of originals in each bucket, int64[n], and the pairs of rows with
            originals that are worth measuring.
        """
        distinct, inverse = np.unique(buckets, return_inverse=True)
        counts, starts, originals = self._buckets.read(distinct)
        numbers = counts[inverse]
        found = [Pairs.none()]
        for part in _parts(rows, numbers):
            theirs = originals[ranges(starts[inverse[part]], numbers[part])].astype(np.int64)
            pairs = np.unique(np.repeat(rows[part], numbers[part]) << 32 | theirs)
            found.append(self._worth_measuring(pairs >> 32, pairs & 0xFFFFFFFF))
        return numbers, Pairs(*map(np.concatenate, zip(*found, strict=True)))

    def _worth_measuring(self, rows: NDArray[np.int64], originals: NDArray[np.int64]) -> Pairs:
        """Select pairs by the signatures on disk."""
        left, own = np.unique(rows, return_inverse=True)
        right, other = np.unique(originals, return_inverse=True)
        simhashes = self._signed.pick("rows", left)["simhash"][own]
        records = self._signed.pick("rows", right)[other]
        if METHODS[self._rules.method].distance:  # most pairs, for which no minima are read
            near = np.bitwise_count(simhashes ^ records["simhash"]) <= self._rules.simhash_distance
            rows, originals = rows[near], originals[near]
            simhashes, records = simhashes[near], records[near]
            left, own = np.unique(rows, return_inverse=True)
            right, other = np.unique(originals, return_inverse=True)
        chosen, equal = self.select(
            self._signed.pick("minima", left)[own] == self._signed.pick("minima", right)[other],
            simhashes,
            records,
        )
        return Pairs(rows[chosen], originals[chosen], equal)

    def select(
        self, equal: NDArray[np.bool_], simhashes: NDArray[np.uint64], originals: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Select the pairs that are worth measuring.

        Args:
            equal: which minima are equal, bool[n, 84].
            simhashes: of the rows, uint64[n].
            originals: their records, `ROW_RECORD`[n].

        Returns:
            bool[n], and the number of equal minima of each selected pair: int64.
        """
        chosen, counts = worth_measuring(
            equal, simhashes, originals["simhash"], self._rules, self._ranking
        )
        chosen &= originals["words"] >= self._rules.min_words
        return chosen, counts[chosen]


def ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenate ranges, each from a start on with a count of numbers."""
    ends = np.cumsum(counts)
    steps = np.arange(int(ends[-1]) if len(ends) else 0)
    return steps - np.repeat(ends - counts, counts) + np.repeat(starts, counts)


def _parts(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Iterator[slice]:
    """Cut rows into parts with about `_MAX_PAIRS_COMPARED` pairs; equal rows stay together."""
    ends = np.cumsum(numbers)
    start = 0
    while start < len(rows):
        before = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, before + _MAX_PAIRS_COMPARED, side="right"))
        stop = max(int(np.searchsorted(rows, rows[min(stop, len(rows) - 1)])), start)
        if stop == start:
            stop = int(np.searchsorted(rows, rows[start], side="right"))
        yield slice(start, stop)
        start = stop
