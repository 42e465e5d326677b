"""The decisions: each row, in the order of the input, against the originals before it.

A row is decided as `Store.check` would, one after the other; what differs is how its candidates
are found. Rows are taken in blocks: the originals of earlier blocks that a block's rows meet are
read at once, and those of the block itself are kept in memory while it lasts.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.bands import NONE
from shingling.bulk.cells import Cells, expanded
from shingling.bulk.chunks import sync
from shingling.bulk.measuring import Measurer, MeasuringPool, Pairs, by_row, worth_measuring
from shingling.store import MOST, Ranking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.bands import Meetings
    from shingling.bulk.chunks import Signed
    from shingling.bulk.options import Options

KEPT, EXACT, NEAR, SHORT, LEFT_OUT = range(5)
"""What becomes of a row; `LEFT_OUT` has the id of another one."""

DECIDED = np.dtype(
    [("state", "u1"), ("original", "<u4"), ("resemblance", "<f8"), ("containment", "<f8")]
)
_BLOCK = 1 << 16  # rows at most
_BLOCKS = 16  # of a small collection, as long as each has
_LEAST = 1 << 13  # rows
_PAIRS = 1 << 18  # compared at a time


class Greedy:
    """Decides rows in their order.

    Args:
        signed: the rows.
        twins: the first row with the same text, or `NONE`: uint32[rows].
        left_out: rows that are not decided.
        meetings: who shares keys with whom; None where only exact duplicates are looked for.
        options: what decides.
        folder: to write to; what an earlier run decided there is gone on from.
    """

    def __init__(
        self,
        signed: Signed,
        twins: NDArray[np.uint32],
        left_out: NDArray[np.bool_],
        meetings: Meetings | None,
        options: Options,
        folder: Path,
    ) -> None:
        self._signed = signed
        self._twins = twins
        self._left_out = left_out
        self._meetings = meetings
        self._rules = options.rules
        self._ranking = Ranking.of(options.rules)
        self.measurer = Measurer(signed, options.scheme, self._ranking)
        self._block = min(_BLOCK, max(_LEAST, len(signed) // _BLOCKS))
        workers = options.workers if len(signed) > _BLOCK else 0  # they take a while to start
        self.ahead = MeasuringPool(self.measurer, workers)
        self._file = folder / "decided"
        self._cells = Cells(folder / "cells", meetings.cells if meetings is not None else 0)

    def run(self, note: Callable[[int], None]) -> None:
        """Decide all rows.

        Args:
            note: is told how many are done.
        """
        done = self._go_on()
        with closing(self.ahead), self._file.open("ab") as file:
            for start in range(done, len(self._signed), self._block):
                stop = min(start + self._block, len(self._signed))
                note(start)
                file.write(self._decide(start, stop).tobytes())
                sync(file)
        note(len(self._signed))

    def _go_on(self) -> int:
        """Take up what was decided before, in whole blocks; return how many rows that are."""
        if not self._file.exists():
            return 0
        size = self._file.stat().st_size // (self._block * DECIDED.itemsize) * self._block
        with self._file.open("r+b") as file:
            file.truncate(size * DECIDED.itemsize)
        for start in range(0, size, self._block):
            decided = self.decided(start, start + self._block)
            self._keep_originals(start, start + self._block, decided)
        return size

    def decided(self, start: int, stop: int) -> NDArray[Any]:
        """Return what was decided of rows: `DECIDED`[stop - start]."""
        return np.fromfile(self._file, DECIDED, count=stop - start, offset=start * DECIDED.itemsize)

    def _decide(self, start: int, stop: int) -> NDArray[Any]:
        decided = np.zeros(stop - start, DECIDED)
        decided["original"] = NONE
        records = self._signed.rows(start, stop)
        short = records["words"] < self._rules.min_words
        decided["state"][short] = SHORT
        decided["state"][self._left_out[start:stop]] = LEFT_OUT
        if self._meetings is not None:
            _Block(start, records, decided, self).decide()
        # A row with the words of an earlier one goes where that went. It is nobody's original.
        twins = self._twins[start:stop]
        rows = np.flatnonzero(twins != NONE)
        if len(rows):
            self._follow(decided, rows, twins[rows].astype(np.int64), start)
        if self._meetings is not None:
            self._keep_originals(start, stop, decided)
        return decided

    def _follow(
        self, decided: NDArray[Any], rows: NDArray[np.int64], twins: NDArray[np.int64], start: int
    ) -> None:
        """Attach rows to the originals of their twins."""
        theirs = np.empty(len(rows), DECIDED)
        here = twins >= start
        theirs[here] = decided[twins[here] - start]
        if not here.all():
            earlier = np.memmap(self._file, DECIDED, "r")
            theirs[~here] = earlier[twins[~here]]
        is_head = theirs["original"] == NONE
        own = np.empty(len(rows), DECIDED)
        own["state"] = EXACT
        own["original"] = np.where(is_head, twins, theirs["original"])
        for name in ("resemblance", "containment"):
            own[name] = np.where(is_head, 1.0, theirs[name])
        decided[rows] = own

    def _keep_originals(self, start: int, stop: int, decided: NDArray[Any]) -> None:
        """Let later blocks find the originals of a block."""
        if self._meetings is None:
            return
        rows, cells = self._meetings.between(start, stop)
        kept = decided["original"][rows - np.uint32(start)] == NONE
        rows, cells = rows[kept], cells[kept]
        order = np.lexsort((rows, cells))
        rows, cells = rows[order], cells[order]
        own, inverse = np.unique(cells, return_inverse=True)
        counts = self._cells.read(own)[0]
        self._cells.add(cells, counts[inverse], rows)

    def earlier(
        self, rows: NDArray[np.int64], cells: NDArray[np.int64], records: NDArray[Any], start: int
    ) -> tuple[NDArray[np.int64], Pairs]:
        """Return how many originals each cell has already, and those worth measuring.

        Args:
            rows: that look up, each with one of its cells; in rising order.
            cells: int64[n].
            records: of the block's rows.
            start: the block's first row.
        """
        own, inverse = np.unique(cells, return_inverse=True)
        counts, starts, originals = self._cells.read(own)
        numbers = counts[inverse]
        found: list[Pairs] = []
        ends = np.cumsum(numbers)
        place = 0
        while place < len(rows):
            # Whole rows, with about so many pairs.
            before = int(ends[place - 1]) if place else 0
            last = int(np.searchsorted(ends, before + _PAIRS, side="right"))
            last = max(int(np.searchsorted(rows, rows[min(last, len(rows) - 1)])), place)
            if last == place:
                last = int(np.searchsorted(rows, rows[place], side="right"))
            part = slice(place, last)
            theirs = originals[expanded(starts[inverse[part]], numbers[part])]
            pairs = np.unique(np.repeat(rows[part], numbers[part]) << 32 | theirs.astype(np.int64))
            found.append(self._worth(pairs >> 32, pairs & 0xFFFFFFFF, records, start))
            place = last
        empty = np.empty(0, np.int64)
        return counts[inverse], Pairs(
            *(np.concatenate([empty, *parts]) for parts in zip(*found, strict=True))
        ) if found else Pairs(empty, empty, empty)

    def _worth(
        self,
        rows: NDArray[np.int64],
        originals: NDArray[np.int64],
        records: NDArray[Any],
        start: int,
    ) -> Pairs:
        """Return which pairs of row and earlier original are worth measuring."""
        if not len(rows):
            return Pairs(rows, originals, rows)
        theirs, inverse = np.unique(originals, return_inverse=True)
        their_records = self._signed.pick("rows", theirs)
        their_minima = self._signed.pick("minima", theirs)
        own, place = np.unique(rows, return_inverse=True)
        minima = self._signed.pick("minima", own)
        equal = minima[place] == their_minima[inverse]
        simhashes = records["simhash"][rows - start]
        taken, counts = self.taken(equal, simhashes, their_records[inverse])
        return Pairs(rows[taken], originals[taken], counts)

    def taken(
        self, equal: NDArray[np.bool_], simhashes: NDArray[np.uint64], others: NDArray[Any]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Return which pairs are worth measuring, and their numbers of minima in common.

        Args:
            equal: minima in common, bool[n, 84].
            simhashes: of the rows, uint64[n].
            others: records of the originals, `ROW`[n].

        Returns:
            bool[n], and int64 for each that is taken.
        """
        taken, counts = worth_measuring(
            equal, simhashes, others["simhash"], self._rules, self._ranking
        )
        taken &= others["words"] >= self._rules.min_words
        return taken, counts[taken]

    def meetings(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows of a block that share keys, with their cells."""
        assert self._meetings is not None
        rows, cells = self._meetings.between(start, stop)
        return rows.astype(np.int64), cells

    def minima(self, start: int, stop: int) -> NDArray[np.uint32]:
        """Return the minima of a block."""
        picked: NDArray[np.uint32] = self._signed.pick("minima", np.arange(start, stop))
        return picked


class _Block:
    """Rows whose decisions depend on each other, in memory."""

    def __init__(
        self, start: int, records: NDArray[Any], decided: NDArray[Any], greedy: Greedy
    ) -> None:
        self._start = start
        self._records = records
        self._decided = decided
        self._greedy = greedy

    def decide(self) -> None:
        """Attach the rows that are near-duplicates to their originals."""
        start = self._start
        rows, cells = self._greedy.meetings(start, start + len(self._records))
        asks = self._decided["state"][rows - start] == KEPT
        counts = np.zeros(len(rows), np.int64)
        counts[asks], pairs = self._greedy.earlier(rows[asks], cells[asks], self._records, start)
        self._walk(rows, cells, counts, asks, pairs)

    def _walk(
        self,
        rows: NDArray[np.int64],
        cells: NDArray[np.int64],
        counts: NDArray[np.int64],
        asks: NDArray[np.bool_],
        pairs: Pairs,
    ) -> None:
        """Decide the rows that meet an original of an earlier block, or a row of this one."""
        own, inverse, times = np.unique(cells, return_inverse=True, return_counts=True)
        room = np.full(len(own), MOST)
        room[inverse[asks]] = MOST - counts[asks]
        shared = (times > 1)[inverse]
        rows, inverse = rows[shared], inverse[shared]
        own_keys = dict(by_row(rows))
        earlier = dict(pairs.by_row())
        self._greedy.ahead.measure(pairs)
        minima = self._greedy.minima(self._start, self._start + len(self._records))
        members: dict[int, list[int]] = {}
        for row in sorted(own_keys.keys() | earlier.keys()):
            keys = inverse[own_keys.get(row, slice(0))].tolist()
            if self._decided["state"][row - self._start] == KEPT:
                met = {one for key in keys for one in members.get(key, ())}
                part = earlier.get(row, slice(0))
                originals, equal = pairs.originals[part].tolist(), pairs.equal[part].tolist()
                if met:
                    self._add_own(row, sorted(met), minima, originals, equal)
                best = self._greedy.measurer.choose(row, originals, equal) if originals else None
                if best is not None:
                    head, both = best
                    self._decided[row - self._start] = (
                        *(NEAR, head),
                        *(both.resemblance, both.containment),
                    )
                    continue
            for key in keys:
                there = members.setdefault(key, [])
                if len(there) < room[key]:
                    there.append(row)

    def _add_own(
        self,
        row: int,
        met: list[int],
        minima: NDArray[np.uint32],
        originals: list[int],
        equal: list[int],
    ) -> None:
        """Add those of the block's originals that are worth measuring."""
        places = np.array(met) - self._start
        own = row - self._start
        same = minima[places] == minima[own]
        records = self._records[places]
        simhashes = np.repeat(self._records["simhash"][own], len(places))
        taken, counts = self._greedy.taken(same, simhashes, records)
        originals += (places[taken] + self._start).tolist()
        equal += counts.tolist()
