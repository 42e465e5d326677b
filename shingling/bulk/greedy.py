"""The decisions: each row, in the order of the input, against the originals before it.

A row is decided as `Store.check` would decide it after all rows before it; only its candidates
are found in another way. Rows are taken in blocks: candidates among the originals of earlier
blocks are looked up on disk for the whole block at once, and those of the block itself are kept
in memory while it is decided.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.buckets import Buckets, Candidates
from shingling.bulk.measuring import Measurer, MeasuringPool, by_row
from shingling.bulk.sorting import NO_ROW
from shingling.similarity.following import Following
from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

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


class Greedy:
    """Decides rows in their order.

    Args:
        signed: the rows.
        same_text: first row with the same text, or `NO_ROW`: uint32[rows].
        repeated_id: rows with the id of an earlier one: bool[rows].
        shared: keys that rows share; None if only exact duplicates are looked for.
        options: what decides.
        folder: to write to; if an earlier run has decided rows there, it is continued.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(
        self,
        signed: SignedRows,
        same_text: NDArray[np.uint32],
        repeated_id: NDArray[np.bool_],
        shared: SharedKeys | None,
        options: Options,
        folder: Path,
    ) -> None:
        self._signed = signed
        self._same_text = same_text
        self._repeated_id = repeated_id
        self._shared = shared
        self._min_words = options.rules.min_words
        following = Following.by(options.rules)
        self._buckets = Buckets(folder / "buckets", 0 if shared is None else shared.size)
        self._candidates = Candidates(signed, self._buckets, following)
        self._measurer = Measurer(signed, options.scheme, following, options.worker_memory)
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
        done = self._resume()
        with closing(self._pool), self._file.open("ab") as file:
            for start in range(done, len(self._signed), self._block_rows):
                stop = min(start + self._block_rows, len(self._signed))
                report(start)
                file.write(self._decide_block(start, stop).tobytes())
                file.flush()
                os.fsync(file.fileno())
        report(len(self._signed))

    def decided(self, start: int, stop: int) -> NDArray[Any]:
        """Decisions on the rows from `start` to before `stop`: `DECISION`[stop - start]."""
        offset = start * DECISION.itemsize
        return np.fromfile(self._file, DECISION, count=stop - start, offset=offset)

    def _resume(self) -> int:
        """Take up the whole blocks that an earlier run decided.

        Returns:
            The number of their rows.
        """
        if not self._file.exists():
            return 0
        block_bytes = self._block_rows * DECISION.itemsize
        done = self._file.stat().st_size // block_bytes * self._block_rows
        with self._file.open("r+b") as file:
            file.truncate(done * DECISION.itemsize)
        for start in range(0, done, self._block_rows):
            stop = start + self._block_rows
            self._add_originals(start, stop, self.decided(start, stop))
        return done

    def _decide_block(self, start: int, stop: int) -> NDArray[Any]:
        decided = np.zeros(stop - start, DECISION)
        decided["original"] = NO_ROW
        records = self._signed.records(start, stop)
        decided["state"][records["words"] < self._min_words] = SHORT
        decided["state"][self._repeated_id[start:stop]] = REPEATED_ID
        self._decide_near(start, stop, records, decided)
        self._decide_exact(start, stop, decided)
        self._add_originals(start, stop, decided)
        return decided

    def _decide_near(
        self, start: int, stop: int, records: NDArray[Any], decided: NDArray[Any]
    ) -> None:
        """Attach near-duplicates to their originals.

        A row that is kept becomes a candidate for the rows behind it that share a key.
        """
        if self._shared is None:
            return
        rows, buckets = self._shared.looked_up(start, stop)
        # Exact duplicates share no keys: only rows that are too short are not compared.
        compared = decided["state"][rows - start] == KEPT
        counts, pairs = self._candidates.look_up(rows[compared], buckets[compared])
        self._pool.measure(pairs)
        within = _WithinBlock(start, stop, records, self._signed, self._candidates)
        within.set_room(rows, buckets, compared, counts, *self._shared.of_originals(start, stop))
        earlier = dict(pairs.by_row())
        for row in sorted(within.rows() | earlier.keys()):
            if decided["state"][row - start] == KEPT:
                part = earlier.get(row, slice(0))
                originals, equal = pairs.originals[part].tolist(), pairs.equal[part].tolist()
                for found, new in zip((originals, equal), within.look_up(row), strict=True):
                    found += new
                best = self._measurer.choose(row, originals, equal) if originals else None
                if best is not None:
                    original, both = best
                    decided[row - start] = NEAR, original, both.resemblance, both.containment
                    continue
            within.add(row)

    def _decide_exact(self, start: int, stop: int, decided: NDArray[Any]) -> None:
        """Attach rows with the text of an earlier row to the original of that row, or to it.

        Such a row is never an original itself.
        """
        rows = np.flatnonzero(self._same_text[start:stop] != NO_ROW)
        if not len(rows):
            return
        firsts = self._same_text[start:stop][rows].astype(np.int64)
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

    def _add_originals(self, start: int, stop: int, decided: NDArray[Any]) -> None:
        """Let later blocks find the originals of a block."""
        if self._shared is None:
            return
        rows, buckets = self._shared.of_originals(start, stop)
        kept = decided["original"][rows - start] == NO_ROW
        rows, buckets = rows[kept], buckets[kept]
        order = np.lexsort((rows, buckets))
        self._buckets.add(buckets[order], rows[order])


class _WithinBlock:
    """The originals of the block that is being decided, by the keys that they share in it.

    Args:
        start, stop: the block's rows.
        records: their records.
        signed: all rows.
        candidates: selects those worth measuring.
    """

    def __init__(
        self,
        start: int,
        stop: int,
        records: NDArray[Any],
        signed: SignedRows,
        candidates: Candidates,
    ) -> None:
        self._start = start
        self._records = records
        self._minima = signed.pick("minima", np.arange(start, stop))
        self._candidates = candidates
        self._room = np.empty(0, np.int64)
        self._looked_up: dict[int, list[int]] = {}  # keys by row
        self._added: dict[int, list[int]] = {}
        self._originals: dict[int, list[int]] = {}

    def set_room(
        self,
        rows: NDArray[np.int64],
        buckets: NDArray[np.int64],
        compared: NDArray[np.bool_],
        counts: NDArray[np.int64],
        own_rows: NDArray[np.int64],
        own_buckets: NDArray[np.int64],
    ) -> None:
        """Take up the keys that rows of the block share, each with the room in its bucket.

        Args:
            rows: rising, and repeated for each of the buckets that they are looked up in: int64[n].
            buckets: int64[n].
            compared: rows whose buckets were looked up: bool[n].
            counts: originals of earlier blocks in those buckets.
            own_rows: rising, and repeated for each of the buckets that they are put into: int64[m].
            own_buckets: int64[m].
        """
        distinct, keys = np.unique(buckets, return_inverse=True)
        self._room = np.full(len(distinct), MAX_PAGES_PER_KEY)
        self._room[keys[compared]] = MAX_PAGES_PER_KEY - counts
        is_looked_up = np.isin(own_buckets, distinct)
        own_rows = own_rows[is_looked_up]
        own_keys = np.searchsorted(distinct, own_buckets[is_looked_up])
        # Of equal keys, the last one is written last.
        first_added = np.full(len(distinct), self._start + len(self._records))
        first_added[own_keys[::-1]] = own_rows[::-1]
        last_looked_up = np.empty(len(distinct), np.int64)
        last_looked_up[keys] = rows
        shared = first_added < last_looked_up
        self._looked_up = _keys_by_row(rows, keys, shared)
        self._added = _keys_by_row(own_rows, own_keys, shared)

    def rows(self) -> set[int]:
        """Rows that share a key with another row of the block."""
        return self._looked_up.keys() | self._added.keys()

    def look_up(self, row: int) -> tuple[list[int], list[int]]:
        """Originals that share a key with a row and are worth measuring.

        Returns:
            The originals, rising, and the number of equal minima of each.
        """
        keys = self._looked_up.get(row, ())
        met = {other for key in keys for other in self._originals.get(key, ())}
        if not met:
            return [], []
        places, own = np.array(sorted(met)) - self._start, row - self._start
        chosen, equal = self._candidates.select(
            self._minima[places] == self._minima[own],
            np.repeat(self._records["simhash"][own], len(places)),
            self._records[places],
        )
        return (places[chosen] + self._start).tolist(), equal.tolist()

    def add(self, row: int) -> None:
        """Add an original under its keys, as far as their buckets have room."""
        for key in self._added.get(row, ()):
            originals = self._originals.setdefault(key, [])
            if len(originals) < self._room[key]:
                originals.append(row)


def _keys_by_row(
    rows: NDArray[np.int64], keys: NDArray[np.int64], shared: NDArray[np.bool_]
) -> dict[int, list[int]]:
    """Those keys of each of rising rows that are shared."""
    chosen = shared[keys]
    keys = keys[chosen]
    return {row: keys[part].tolist() for row, part in by_row(rows[chosen])}
