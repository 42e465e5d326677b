"""Rows that share a half of their SimHashes but for a few bits: they may be near-duplicates.

Each half of a SimHash is a key. A row is looked up under all keys that `Halves.probes` has for it,
and only those remain that an earlier row has: they are found by binary search in the sorted keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.sorting.shared_keys import (
    OWN_KEYS,
    finished,
    place_buckets,
    replace_buckets,
    save_buckets,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows
    from shingling.bulk.sorting.shared_keys import SharedKeys
    from shingling.sketch import Halves

_SORT_BYTES_PER_ROW = 80  # with all arrays that are made on the way
_MIN_ROWS_LOOKED_UP = 1 << 20  # at once
_MAX_TIMES_LOOKED_UP = 1 << 6  # the rows of a very large collection are more at once


class _Rows(NamedTuple):
    """Rising rows with one half of their SimHashes."""

    rows: NDArray[np.uint32]
    halves: NDArray[np.uint32]
    simhashes: NDArray[np.uint64]

    def take(self, places: NDArray[Any]) -> _Rows:
        """Select rows by their places, or by a mask."""
        return _Rows(*(column[places] for column in self))


class _Table(NamedTuple):
    """The distinct halves of a range, rising, each with the rows that have it.

    Args:
        halves: uint32[n].
        sizes: number of rows of each: int64[n].
        firsts: first row of each: uint32[n].
        simhashes: that of the first row: uint64[n].
        equal: whether all rows of a half have the same SimHash: bool[n].
    """

    halves: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    firsts: NDArray[np.uint32]
    simhashes: NDArray[np.uint64]
    equal: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: _Rows) -> _Table:
        """Group rows by their halves."""
        rows = rows.take(np.argsort(rows.halves, kind="stable"))
        is_first = np.ones(len(rows.rows), bool)
        is_first[1:] = rows.halves[1:] != rows.halves[:-1]
        starts = np.flatnonzero(is_first)
        same = np.ones(len(rows.rows), bool)
        same[1:] = is_first[1:] | (rows.simhashes[1:] == rows.simhashes[:-1])
        equal = np.logical_and.reduceat(same, starts) if len(starts) else same
        sizes = np.diff(np.append(starts, len(rows.rows)))
        return cls(rows.halves[starts], sizes, rows.rows[starts], rows.simhashes[starts], equal)

    def find(self, halves: NDArray[np.uint32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of those halves that are in the table, and where they are there."""
        if not len(self.halves):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        at = np.searchsorted(self.halves, halves)
        at[at == len(self.halves)] = 0
        found = np.flatnonzero(self.halves[at] == halves)
        return found, at[found]


class _Range(NamedTuple):
    """Halves whose highest bits have one value."""

    value: int
    shift: int

    def has(self, halves: NDArray[np.uint32], turned: int = 0) -> NDArray[np.bool_]:
        """Whether each half lies in the range once the highest bits are turned."""
        found: NDArray[np.bool_] = halves >> np.uint32(self.shift) == self.value ^ turned
        return found


def find_shared_halves(
    signed: SignedRows,
    compared: NDArray[np.bool_],
    halves: Halves,
    distance: int,
    folder: Path,
    memory: int,
    report: Callable[[float], None],
) -> SharedKeys:
    """Find the halves under which rows may find earlier ones, and give each a bucket.

    Args:
        signed: the rows.
        compared: rows that count: bool[rows].
        halves: of the SimHashes.
        distance: of near-duplicates, in bits.
        folder: to write to.
        memory: bytes that sorting may use.
        report: called with the share of the work that is done.

    Raises:
        OSError: the disk is full, or the like.
    """
    own = folder / OWN_KEYS
    own.mkdir()
    total = int(compared.sum())
    masks = halves.masks(distance).astype(np.uint32)
    bits = min((max(total * _SORT_BYTES_PER_ROW - 1, 0) // memory).bit_length(), halves.width - 1)
    at_once = max(_MIN_ROWS_LOOKED_UP, total // _MAX_TIMES_LOOKED_UP)
    size = 0
    for half in range(2):
        for value in range(1 << bits):
            part = _Range(value, halves.width - bits)

            def read(half: int = half) -> Iterator[_Rows]:
                return _read(signed, compared, halves, half, at_once)

            table = _Table.of(_joined([rows.take(part.has(rows.halves)) for rows in read()]))
            name = f"{half}-{value:04}"
            files = []
            used = np.zeros(len(table.halves), bool)
            for number, rows in enumerate(read()):
                file = folder / f"{name}-{number:04}.rows.npy"
                found, places = _look_up(rows, table, masks, distance, part)
                save_buckets(file, found, places)
                used[places] = True
                files.append(file)
            buckets = np.zeros(len(used), np.int64)
            buckets[used], size = place_buckets(table.sizes[used], size)
            for file, rows in zip(files, read(), strict=True):
                replace_buckets(file, buckets)
                stored = rows.take(part.has(rows.halves))
                _, places = table.find(stored.halves)
                chosen = used[places]
                save_buckets(own / file.name, stored.rows[chosen], buckets[places[chosen]])
            report((half + (value + 1) / (1 << bits)) / 2)
    return finished(folder, size)


def _read(
    signed: SignedRows, compared: NDArray[np.bool_], halves: Halves, half: int, at_once: int
) -> Iterator[_Rows]:
    """Yield the compared rows, about so many at once; the last ones may be none."""
    nothing = _Rows(np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0, np.uint64))
    waiting, number = [nothing], 0
    for chunk, start, stop in signed.chunks():
        chosen = compared[start:stop]
        simhashes = signed.load(chunk, "rows")["simhash"][chosen]
        own = halves.split(simhashes)[:, half].astype(np.uint32)
        waiting.append(_Rows(np.arange(start, stop, dtype=np.uint32)[chosen], own, simhashes))
        number += len(simhashes)
        if number >= at_once:
            yield _joined(waiting)
            waiting, number = [nothing], 0
    yield _joined(waiting)


def _joined(parts: list[_Rows]) -> _Rows:
    return _Rows(*map(np.concatenate, zip(*parts, strict=True)))


def _look_up(
    rows: _Rows, table: _Table, masks: NDArray[np.uint32], distance: int, part: _Range
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Find rows in the table of a range, under all halves that are near theirs.

    A half is left out if all rows with it come later, or if they have one SimHash that is too far.

    Returns:
        Rows, rising and repeated for each half, and its places in the table: [n] each.
    """
    found_rows, found_places = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
    turned = masks >> np.uint32(part.shift)
    for turn in np.unique(turned).tolist():
        own = rows.take(part.has(rows.halves, turn))
        own = own.take(np.argsort(own.halves))  # neighbours are looked up where their own half is
        for mask in masks[turned == turn]:
            found, places = table.find(own.halves ^ mask)
            earlier = table.firsts[places] < own.rows[found]
            found, places = found[earlier], places[earlier]
            apart = np.bitwise_count(own.simhashes[found] ^ table.simhashes[places])
            near = ~table.equal[places] | (apart <= distance)
            found_rows.append(own.rows[found[near]])
            found_places.append(places[near])
    all_rows = np.concatenate(found_rows)
    order = np.argsort(all_rows, kind="stable")
    return all_rows[order], np.concatenate(found_places)[order]
