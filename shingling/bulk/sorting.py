"""Rows with equal ids and texts, and rows that share keys: what sorting finds for deciding.

Keys of bands and hashes are sorted in as many parts as the memory limit asks for. Halves of
SimHashes are looked up by binary search among all those of the other rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from shingling.arrays import Flags, Hashes, Integers, Numbers, Records
    from shingling.bulk.signed_rows import SignedRows
    from shingling.sketch import Halves

NO_ROW = np.uint32(0xFFFFFFFF)
"""In place of the number of a row."""

_SORT_BYTES_PER_KEY = 48  # with all arrays that are made on the way
_ROWS_LOOKED_UP = 1 << 20  # at once, under all halves near theirs


def _group_in_parts(
    total: int, memory: int, read: Callable[[], Iterator[tuple[Hashes, Any]]]
) -> Iterator[tuple[Numbers, Integers]]:
    """Yield the rows that share a key with another row, one range of keys after the other.

    Args:
        total: number of keys, at most.
        memory: bytes that sorting a range may use.
        read: yields the keys with their rows, anew for every range.

    Yields:
        Rows, sorted by key and rising within each key: uint32[n]; then the number of rows of
        each key, 2 or more: int64[keys].
    """
    more_parts = max(total * _SORT_BYTES_PER_KEY - 1, 0) // memory
    shift = np.uint64(64 - more_parts.bit_length())
    for part in range(1 << more_parts.bit_length()):
        all_keys, all_rows = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        for keys, rows in read():
            chosen = keys >> shift == np.uint64(part) if more_parts else slice(None)
            all_keys.append(keys[chosen])
            all_rows.append(rows[chosen])
        keys, rows = np.concatenate(all_keys), np.concatenate(all_rows)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        is_first = np.ones(len(keys), bool)
        is_first[1:] = keys[1:] != keys[:-1]
        sizes = np.diff(np.append(np.flatnonzero(is_first), len(keys)))
        yield rows[order][np.repeat(sizes > 1, sizes)], sizes[sizes > 1]


def first_of_equal(signed: SignedRows, column: str, ignored: Flags, memory: int) -> Numbers:
    """First row with the same 128-bit hash, for every row but that first one.

    Args:
        signed: the rows.
        column: `text` or `id`; a hash of 0 equals no other.
        ignored: rows that are not compared: bool[rows].
        memory: bytes that sorting may use.

    Returns:
        uint32[rows], `NO_ROW` for rows without an earlier equal one.
    """
    first = np.full(len(signed), NO_ROW)

    def read() -> Iterator[tuple[Hashes, Any]]:
        for start, stop in signed.blocks():
            hashes = signed.records(start, stop)[column]
            compared = hashes.any(axis=1) & ~ignored[start:stop]
            rows = np.arange(start, stop, dtype=np.uint32)[compared]
            yield np.ascontiguousarray(hashes[compared, 0]), rows

    for equal_rows, sizes in _group_in_parts(len(signed), memory, read):
        # They are sorted by 64 of 128 bits, which may be equal by chance: compare the others.
        rest = signed.records_of(equal_rows)[column][:, 1]
        key = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((equal_rows, rest, key))
        rows, rest, key = equal_rows[order], rest[order], key[order]
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (key[1:] != key[:-1]) | (rest[1:] != rest[:-1])
        firsts = rows[is_first][np.cumsum(is_first) - 1]
        first[rows[~is_first]] = firsts[~is_first]
    return first


class SharedKeys:
    """The keys that rows share with other rows, on disk, each by the place of its bucket.

    A bucket holds the originals under one key (in `greedy`). Keys of minima are those that
    a row is looked up under, and those that it is stored under if it is an original; SimHashes
    are looked up under the keys of their neighbours as well.

    Args:
        folder: to write to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0
        self._looked_up: list[tuple[Records, Records]] = []
        self._own: list[tuple[Records, Records]] = []
        self.size = 0
        """Size of all buckets together, in numbers of 4 bytes."""

    def looked_up(self, start: int, stop: int) -> tuple[Integers, Integers]:
        """Buckets that the rows from `start` to before `stop` may have originals in.

        Returns:
            Rows, rising and repeated for each of their buckets, and the buckets: int64[n] each.
        """
        return _between(self._looked_up, start, stop)

    def of_originals(self, start: int, stop: int) -> tuple[Integers, Integers]:
        """Buckets for those rows from `start` to before `stop` that are originals.

        Returns:
            As `looked_up`.
        """
        return _between(self._own, start, stop)

    def place(self, sizes: Integers) -> Integers:
        """Place the buckets of keys behind those before.

        Args:
            sizes: number of rows of each key: int64[n].

        Returns:
            The buckets: int64[n].
        """
        bucket_sizes = np.minimum(sizes, MAX_PAGES_PER_KEY) + 1  # their number, then the originals
        ends = self.size + np.cumsum(bucket_sizes)
        self.size += int(bucket_sizes.sum())
        buckets: Integers = ends - bucket_sizes
        return buckets

    def save(self, *columns: Records) -> list[Records]:
        """Write arrays, and map them into memory.

        Raises:
            OSError: the disk is full, or the like.
        """
        saved = []
        for column in columns:
            file = self._folder / f"{self._files:06}"
            self._files += 1
            file.write_bytes(np.ascontiguousarray(column).data)
            saved.append(np.memmap(file, column.dtype, "r") if len(column) else column)
        return saved

    def add(
        self,
        rows: Records,
        buckets: Integers,
        *,
        looked_up: bool = True,
        stored: bool = True,
    ) -> None:
        """Add buckets that rising rows are looked up in, or stored in, or both."""
        rows, buckets = self.save(rows, buckets)
        if looked_up:
            self._looked_up.append((rows, buckets))
        if stored:
            self._own.append((rows, buckets))


def _between(
    parts: list[tuple[Records, Records]], start: int, stop: int
) -> tuple[Integers, Integers]:
    rows, buckets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for part_rows, part_buckets in parts:
        first, last = np.searchsorted(part_rows, [start, stop])
        rows.append(part_rows[first:last].astype(np.int64))
        buckets.append(np.asarray(part_buckets[first:last]))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows, kind="stable")
    return all_rows[order], np.concatenate(buckets)[order]


def find_shared_keys(
    signed: SignedRows,
    compared: Flags,
    bands: int,
    folder: Path,
    memory: int,
    report: Callable[[float], None],
) -> SharedKeys:
    """Find the keys of bands of minima that more than one row has, and give each a bucket.

    Args:
        signed: the rows.
        compared: rows whose keys count: bool[rows].
        bands: number of keys of a row.
        folder: to write to.
        memory: bytes that sorting may use.
        report: called with the share of the bands that are done.

    Raises:
        OSError: the disk is full, or the like.
    """
    shared = SharedKeys(folder)
    for band in range(bands):

        def read(band: int = band) -> Iterator[tuple[Hashes, Any]]:
            for start, stop in signed.blocks():
                chosen = compared[start:stop]
                rows = np.arange(start, stop, dtype=np.uint32)[chosen]
                yield signed.keys(band, start, stop)[chosen], rows

        for rows, sizes in _group_in_parts(int(compared.sum()), memory, read):
            order = np.argsort(rows, kind="stable")
            buckets = np.repeat(shared.place(sizes), sizes)[order]
            shared.add(rows[order], buckets)
        report((band + 1) / bands)
    return shared


def find_shared_halves(
    signed: SignedRows,
    compared: Flags,
    halves: Halves,
    distance: int,
    folder: Path,
    report: Callable[[float], None],
) -> SharedKeys:
    """Find the halves of SimHashes under which rows may find earlier ones, with their buckets.

    A row is looked up under all halves that `Halves.probes` has for it; only those remain that an
    earlier row has. Some 50 bytes of memory are taken for each row.

    Args:
        signed: the rows.
        compared: rows that count: bool[rows].
        halves: of the SimHashes.
        distance: of near-duplicates, in bits.
        folder: to write to.
        report: called with the share of the work that is done.

    Raises:
        OSError: the disk is full, or the like.
    """
    shared = SharedKeys(folder)
    rows = np.flatnonzero(compared).astype(np.uint32)
    if not len(rows):
        return shared
    blocks = [signed.records(start, stop)["simhash"] for start, stop in signed.blocks()]
    simhashes = np.concatenate(blocks)[compared]
    masks = halves.masks(distance).astype(np.uint32)
    for half in range(2):
        own = halves.split(simhashes)[:, half].astype(np.uint32)
        distinct, firsts, sizes = np.unique(own, return_index=True, return_counts=True)
        used = np.zeros(len(distinct), bool)
        found = []
        for start in range(0, len(rows), _ROWS_LOOKED_UP):
            stop = min(start + _ROWS_LOOKED_UP, len(rows))
            numbers = np.arange(start, stop)
            near = []
            for mask in masks:
                wanted = own[start:stop] ^ mask
                places = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
                is_there = (distinct[places] == wanted) & (firsts[places] < numbers)
                near.append((rows[start:stop][is_there], places[is_there]))
            looked_up, places = (np.concatenate(one) for one in zip(*near, strict=True))
            used[places] = True
            order = np.argsort(looked_up, kind="stable")
            found.append(shared.save(looked_up[order], places[order]))
            report((half + stop / len(rows)) / 2)
        buckets = np.zeros(len(used), np.int64)
        buckets[used] = shared.place(sizes[used])
        for looked_up, places in found:
            shared.add(looked_up, buckets[places], stored=False)
        places = np.searchsorted(distinct, own)
        stored = used[places]
        shared.add(rows[stored], buckets[places[stored]], looked_up=False)
    return shared
