"""The decisions: each row, in the order of the input, against the originals before it.

A row is decided as `Store.check` would decide it after all rows before it; only its candidates
are found in another way. Rows are taken in blocks: candidates among the originals of earlier
blocks are looked up on disk for the whole block at once, and those of the block itself are kept
in memory while it is decided.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shingling.bulk.measuring import Measurer, MeasuringPool, Pairs, by_row
from shingling.bulk.sorting import NO_ROW
from shingling.rules import METHODS
from shingling.similarity.following import Following
from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling.arrays import Flags, Integers, Numbers, Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows
    from shingling.bulk.sorting import SharedKeys

KEPT, EXACT, NEAR, SHORT, REPEATED_ID = range(5)
"""What becomes of a row; one with `REPEATED_ID` has the id of an earlier row, and is bad."""

DECISION = np.dtype(
    [("state", "u1"), ("original", "<u4"), ("resemblance", "<f8"), ("containment", "<f8")]
)
_MAX_BLOCK_ROWS = 1 << 16
_MIN_BLOCK_ROWS = 1 << 13
_MIN_BLOCKS = 16  # unless they would be shorter than the shortest block
_MAX_PAIRS_COMPARED = 1 << 18  # at once, by their signatures


class Greedy:
    """Decides rows in their order.

    Args:
        signed: the rows.
        same_text: first row with the same text, or `NO_ROW`: uint32[rows].
        repeated_id: rows with the id of an earlier one: bool[rows].
        shared: keys that rows share; None if only exact duplicates are looked for.
        options: what decides.
        folder: to write to.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(
        self,
        signed: SignedRows,
        same_text: Numbers,
        repeated_id: Flags,
        shared: SharedKeys | None,
        options: Options,
        folder: Path,
    ) -> None:
        self._signed = signed
        self._same_text = same_text
        self._repeated_id = repeated_id
        self._shared = shared
        self._rules = options.rules
        self._following = Following.by(options.rules)
        self._buckets = _Buckets(folder / "buckets", 0 if shared is None else shared.size)
        self._measurer = Measurer(signed, options.scheme, self._following, options.worker_memory)
        self._block_rows = min(_MAX_BLOCK_ROWS, max(_MIN_BLOCK_ROWS, len(signed) // _MIN_BLOCKS))
        # Worker processes take a while to start.
        workers = options.workers if len(signed) > _MAX_BLOCK_ROWS else 0
        self._pool = MeasuringPool(self._measurer, workers)
        self._file = folder / "decided"

    def run(self, report: Callable[[int], None]) -> None:
        """Decide all rows.

        Args:
            report: called with the number of rows that are decided.

        Raises:
            BulkError: a file has changed since it was signed.
            OSError: the disk is full, or the like.
        """
        with closing(self._pool), self._file.open("wb") as file:
            for start in range(0, len(self._signed), self._block_rows):
                report(start)
                file.write(self._decide_block(start).tobytes())
                file.flush()
        report(len(self._signed))

    def decided(self, start: int, stop: int) -> Records:
        """Decisions on the rows from `start` to before `stop`: `DECISION`[stop - start]."""
        offset = start * DECISION.itemsize
        return np.fromfile(self._file, DECISION, count=stop - start, offset=offset)

    def _decide_block(self, start: int) -> Records:
        stop = min(start + self._block_rows, len(self._signed))
        decided = np.zeros(stop - start, DECISION)
        decided["original"] = NO_ROW
        records = self._signed.records(start, stop)
        decided["state"][records["words"] < self._rules.min_words] = SHORT
        decided["state"][self._repeated_id[start:stop]] = REPEATED_ID
        if self._shared is not None:
            rows, buckets = self._shared.of_originals(start, stop)
            self._decide_near(self._shared, records, decided, rows, buckets, start)
            kept = decided["original"][rows - start] == NO_ROW
            rows, buckets = rows[kept], buckets[kept]
            order = np.lexsort((rows, buckets))
            self._buckets.add(buckets[order], rows[order])
        self._decide_exact(start, decided)
        return decided

    def _decide_near(
        self,
        shared: SharedKeys,
        records: Records,
        decided: Records,
        own_rows: Integers,
        own_buckets: Integers,
        start: int,
    ) -> None:
        """Attach near-duplicates to their originals.

        A row that is kept becomes a candidate for the rows behind it that share a key.

        Args:
            shared: the keys.
            records: of the block.
            decided: decisions on the block; those on near-duplicates are added.
            own_rows: rising, and repeated for each of their buckets: int64[n].
            own_buckets: in which they are found if they are originals: int64[n].
            start: first row of the block.
        """
        stop = start + len(records)
        rows, buckets = shared.looked_up(start, stop)
        # Exact duplicates share no keys: only rows that are too short are not compared.
        compared = decided["state"][rows - start] == KEPT
        rows, buckets = rows[compared], buckets[compared]
        counts, pairs = self._earlier(rows, buckets)
        self._pool.measure(pairs)
        # Within the block, a bucket matters only if a row behind one of its own looks it up.
        distinct, keys = np.unique(np.concatenate((own_buckets, buckets)), return_inverse=True)
        own_keys, keys = np.split(keys, [len(own_rows)])
        first = np.full(len(distinct), stop)
        np.minimum.at(first, own_keys, own_rows)
        is_late = first[keys] < rows
        rows, keys, counts = rows[is_late], keys[is_late], counts[is_late]
        room = dict(zip(keys.tolist(), (MAX_PAGES_PER_KEY - counts).tolist(), strict=True))
        originals: dict[int, list[int]] = {key: [] for key in room}
        used = np.isin(own_keys, keys)
        added, looked_up = _by_row(own_rows[used], own_keys[used]), _by_row(rows, keys)
        minima = self._signed.minima(start, stop)
        earlier = dict(by_row(pairs.rows))
        for row in sorted(looked_up.keys() | added.keys() | earlier.keys()):
            part = earlier.get(row, slice(0))
            candidates, equal = pairs.originals[part].tolist(), pairs.equal[part].tolist()
            met = {other for key in looked_up.get(row, ()) for other in originals[key]}
            if met:
                found = np.array(sorted(met))
                same = minima[found - start] == minima[row - start]
                own = records[row - start : row - start + 1]
                chosen, counted = self._worth_measuring(same, own, records[found - start])
                candidates += found[chosen].tolist()
                equal += counted.tolist()
            best = self._measurer.choose(row, candidates, equal) if candidates else None
            if best is not None:
                original, both = best
                decided[row - start] = NEAR, original, both.resemblance, both.containment
                continue
            for key in added.get(row, ()):
                if len(originals[key]) < room[key]:
                    originals[key].append(row)

    def _earlier(self, rows: Integers, buckets: Integers) -> tuple[Integers, Pairs]:
        """Look up the originals of earlier blocks.

        Args:
            rows: rising, and repeated for each of their buckets: int64[n].
            buckets: int64[n].

        Returns:
            The number of originals in each bucket, int64[n], and the pairs of rows with
            originals that are worth measuring.
        """
        signed = self._signed
        distinct, inverse = np.unique(buckets, return_inverse=True)
        counts, starts, originals = self._buckets.read(distinct)
        numbers = counts[inverse]
        found = [Pairs.none()]
        for part in _parts(rows, numbers):
            theirs = originals[ranges(starts[inverse[part]], numbers[part])].astype(np.int64)
            pairs = np.unique(np.repeat(rows[part], numbers[part]) << 32 | theirs)
            left, right = pairs >> 32, pairs & 0xFFFFFFFF
            own, others = _of_each(signed.records_of, left), _of_each(signed.records_of, right)
            if METHODS[self._rules.method].distance:  # most pairs, for which no minima are read
                apart = np.bitwise_count(own["simhash"] ^ others["simhash"])
                near = apart <= self._rules.simhash_distance
                left, right, own, others = (one[near] for one in (left, right, own, others))
            same = _of_each(signed.minima_of, left) == _of_each(signed.minima_of, right)
            chosen, equal = self._worth_measuring(same, own, others)
            found.append(Pairs(left[chosen], right[chosen], equal))
        return numbers, Pairs(*map(np.concatenate, zip(*found, strict=True)))

    def _worth_measuring(
        self, equal: Flags, own: Records, others: Records
    ) -> tuple[Flags, Integers]:
        """Select the pairs that are worth measuring.

        Args:
            equal: which minima are equal, bool[n, 84].
            own: records of the rows, `ROW_RECORD`[n], or of one row for all.
            others: records of the originals, `ROW_RECORD`[n].

        Returns:
            bool[n], and the number of equal minima of each selected pair: int64.
        """
        chosen, counts = self._following.worth_measuring(equal, own["simhash"], others["simhash"])
        chosen &= others["words"] >= self._rules.min_words
        return chosen, counts[chosen]

    def _decide_exact(self, start: int, decided: Records) -> None:
        """Attach rows with the text of an earlier row to the original of that row, or to it.

        Such a row is never an original itself.
        """
        same_text = self._same_text[start : start + len(decided)]
        rows = np.flatnonzero(same_text != NO_ROW)
        firsts = same_text[rows].astype(np.int64)
        of_first = np.empty(len(rows), DECISION)
        here = firsts >= start
        of_first[here] = decided[firsts[here] - start]
        if not here.all():
            earlier = np.memmap(self._file, DECISION, "r")
            of_first[~here] = earlier[firsts[~here]]
        is_original = of_first["original"] == NO_ROW
        own = np.empty(len(rows), DECISION)
        own["state"] = EXACT
        own["original"] = np.where(is_original, firsts, of_first["original"])
        own["resemblance"] = own["containment"] = 1.0  # to the earlier row
        decided[rows] = own


class _Buckets:
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

    def read(self, buckets: Integers) -> tuple[Integers, Integers, Numbers]:
        """Look up buckets.

        Returns:
            Of each bucket the number of originals, and the place of its first one in the
            originals: int64[n] each; then the originals of all: uint32.
        """
        counts = self._numbers[buckets].astype(np.int64)
        originals = self._numbers[ranges(buckets + 1, counts)]
        return counts, np.cumsum(counts) - counts, originals

    def add(self, buckets: Integers, originals: Integers) -> None:
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


def ranges(starts: Integers, counts: Integers) -> Integers:
    """Concatenate ranges, each from a start on with a count of numbers."""
    ends = np.cumsum(counts)
    steps = np.arange(int(ends[-1]) if len(ends) else 0)
    return steps - np.repeat(ends - counts, counts) + np.repeat(starts, counts)


def _of_each(read: Callable[[Integers], Records], rows: Integers) -> Records:
    """Read what belongs to rows, each different one once."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    return read(distinct)[inverse]


def _by_row(rows: Integers, buckets: Integers) -> dict[int, list[int]]:
    """Buckets of each of rising rows."""
    return {row: buckets[part].tolist() for row, part in by_row(rows)}


def _parts(rows: Integers, numbers: Integers) -> Iterator[slice]:
    """Cut rising rows into parts with about `_MAX_PAIRS_COMPARED` pairs; equal ones stay together.

    Args:
        rows: int64[n].
        numbers: of pairs of each: int64[n].
    """
    firsts = np.flatnonzero(np.diff(rows, prepend=-1))
    pairs_before = (np.cumsum(numbers) - numbers)[firsts]
    starts = firsts[np.flatnonzero(np.diff(pairs_before // _MAX_PAIRS_COMPARED, prepend=-1))]
    for start, stop in pairwise([*starts.tolist(), len(rows)]):
        yield slice(start, stop)
