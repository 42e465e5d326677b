"""The originals under each key that rows share, on disk, and the candidates found there.

Deciding (`greedy`) adds the originals of each block of rows, and looks up those of earlier ones.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.measuring import Pairs
from shingling.rules.methods import METHODS
from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows
    from shingling.similarity.following import Following

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
        size += MAX_PAGES_PER_KEY
        with file.open("wb") as made:
            made.truncate(4 * size)
            if hasattr(os, "posix_fallocate"):  # or a full disk would end this process
                os.posix_fallocate(made.fileno(), 0, 4 * size)
        self._numbers = np.memmap(file, "<u4", "r+", shape=(size,))

    def read(
        self, buckets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """Look up buckets.

        Returns:
            Of each bucket the number of originals, and the place of its first one in the
            originals: int64[n] each; then the originals of all: uint32.
        """
        counts = self._numbers[buckets].astype(np.int64)
        originals = self._numbers[ranges(buckets + 1, counts)]
        return counts, np.cumsum(counts) - counts, originals

    def add(self, buckets: NDArray[np.int64], originals: NDArray[np.int64]) -> None:
        """Add originals; those for which a bucket has no room are dropped.

        Args:
            buckets: of each original, rising: int64[n].
            originals: rising within each bucket: int64[n].
        """
        distinct, firsts, sizes = np.unique(buckets, return_index=True, return_counts=True)
        counts = self._numbers[distinct].astype(np.int64)
        place = np.arange(len(buckets)) - np.repeat(firsts - counts, sizes)
        has_room = place < MAX_PAGES_PER_KEY
        self._numbers[(buckets + 1 + place)[has_room]] = originals[has_room]
        self._numbers[distinct] = np.minimum(counts + sizes, MAX_PAGES_PER_KEY)


class Candidates:
    """Originals that share a key with a row and are worth measuring.

    Args:
        signed: the rows.
        buckets: with the originals.
        following: which original a row follows.
    """

    def __init__(self, signed: SignedRows, buckets: Buckets, following: Following) -> None:
        self._signed = signed
        self._buckets = buckets
        self._rules = following.rules
        self._following = following

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
        chosen, counts = self._following.worth_measuring(equal, simhashes, originals["simhash"])
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
