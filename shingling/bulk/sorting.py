"""Rows with equal hashes or keys, found by sorting: step 2 of a run.

Exact duplicates have equal hashes of their text, and rows that may be near-duplicates share the
key of a band. Memory grows by a few bytes a row only; keys are sorted in as many parts as the
memory limit asks for, one band after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows

NO_ROW = np.uint32(0xFFFFFFFF)
"""In place of the number of a row."""

_SORT_BYTES_PER_KEY = 48  # with all arrays that are made on the way


class EqualKeys(NamedTuple):
    """Rows that share a key with another row.

    Args:
        rows: sorted by key, and rising within each key: uint32[n].
        starts: place in `rows` of the first row of each key: int64[keys].
        sizes: number of rows of each key, 2 or more: int64[keys].
    """

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


def _group_by_key(keys: NDArray[np.uint64], rows: NDArray[np.uint32]) -> EqualKeys:
    """Sort rows by their keys, and drop keys that only one row has."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts = np.concatenate([[0], new]) if len(keys) else np.empty(0, np.int64)
    sizes = np.diff(np.append(starts, len(keys)))
    shared = sizes > 1
    chosen = np.repeat(shared, sizes)
    sizes = sizes[shared]
    return EqualKeys(rows[order][chosen], np.cumsum(sizes) - sizes, sizes)


def _group_in_parts(
    total: int, memory: int, read: Callable[[], Iterator[tuple[NDArray[np.uint64], Any]]]
) -> Iterator[EqualKeys]:
    """Yield the rows with equal keys, one range of keys after the other.

    Args:
        total: number of keys, at most.
        memory: bytes that sorting a range may use.
        read: yields the keys with their rows, anew for every range.
    """
    more_parts = max(total * _SORT_BYTES_PER_KEY - 1, 0) // memory
    shift = np.uint64(64 - more_parts.bit_length())
    for part in range(1 << more_parts.bit_length()):
        keys, rows = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        for chunk_keys, chunk_rows in read():
            if more_parts:
                chosen = chunk_keys >> shift == np.uint64(part)
                chunk_keys, chunk_rows = chunk_keys[chosen], chunk_rows[chosen]
            keys.append(chunk_keys)
            rows.append(chunk_rows)
        yield _group_by_key(np.concatenate(keys), np.concatenate(rows))


def first_of_equal(
    signed: SignedRows, column: str, ignored: NDArray[np.bool_], memory: int
) -> NDArray[np.uint32]:
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

    def read() -> Iterator[tuple[NDArray[np.uint64], Any]]:
        for chunk, start, stop in signed.chunks():
            hashes = signed.load(chunk, "rows")[column]
            compared = hashes.any(axis=1) & ~ignored[start:stop]
            rows = np.arange(start, stop, dtype=np.uint32)[compared]
            yield np.ascontiguousarray(hashes[compared, 0]), rows

    for equal in _group_in_parts(len(signed), memory, read):
        # They are sorted by 64 of 128 bits, which may be equal by chance: compare the others.
        rising = np.argsort(equal.rows)
        rest = np.empty(len(equal.rows), np.uint64)
        rest[rising] = signed.pick("rows", equal.rows[rising])[column][:, 1]
        key = np.repeat(np.arange(len(equal.sizes)), equal.sizes)
        order = np.lexsort((equal.rows, rest, key))
        rows, rest, key = equal.rows[order], rest[order], key[order]
        is_first = np.ones(len(rows), bool)
        is_first[1:] = (key[1:] != key[:-1]) | (rest[1:] != rest[:-1])
        firsts = rows[is_first][np.cumsum(is_first) - 1]
        first[rows[~is_first]] = firsts[~is_first]
    return first


class SharedKeys:
    """The keys that rows share with other rows, each by the place of its bucket.

    A bucket holds the originals under one key (`buckets.Buckets`).

    Args:
        folder: written by `find_shared_keys`.
    """

    def __init__(self, folder: Path) -> None:
        self._parts = [
            (np.load(file, mmap_mode="r"), np.load(_buckets_file(file), mmap_mode="r"))
            for file in sorted(folder.glob("*.rows.npy"))
        ]
        self.size = int((folder / "size").read_text(encoding="ascii"))
        """Size of all buckets together, in numbers of 4 bytes."""

    def between(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buckets of the rows from `start` to before `stop`.

        Returns:
            Rows, rising and repeated for each of their buckets, and the buckets: int64[n] each.
        """
        rows, buckets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part_rows, part_buckets in self._parts:
            first, last = np.searchsorted(part_rows, [start, stop])
            rows.append(part_rows[first:last].astype(np.int64))
            buckets.append(np.asarray(part_buckets[first:last]))
        all_rows, all_buckets = np.concatenate(rows), np.concatenate(buckets)
        order = np.argsort(all_rows, kind="stable")
        return all_rows[order], all_buckets[order]


def find_shared_keys(
    signed: SignedRows,
    compared: NDArray[np.bool_],
    bands: int,
    folder: Path,
    memory: int,
    report: Callable[[float], None],
) -> SharedKeys:
    """Find the keys that more than one row has, and give each a bucket.

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
    size = 0
    for band in range(bands):

        def read(band: int = band) -> Iterator[tuple[NDArray[np.uint64], Any]]:
            for chunk, start, stop in signed.chunks():
                chosen = compared[start:stop]
                keys = signed.load(chunk, "keys")[band].view(np.uint64)
                yield keys[chosen], np.arange(start, stop, dtype=np.uint32)[chosen]

        for part, equal in enumerate(_group_in_parts(int(compared.sum()), memory, read)):
            bucket_sizes = (
                np.minimum(equal.sizes, MAX_PAGES_PER_KEY) + 1
            )  # their number, then the originals
            starts = size + np.cumsum(bucket_sizes) - bucket_sizes
            buckets = np.repeat(starts, equal.sizes)
            size += int(bucket_sizes.sum())
            order = np.argsort(equal.rows, kind="stable")
            file = folder / f"{band:02}-{part:04}.rows.npy"
            _save(_buckets_file(file), buckets[order])
            _save(file, equal.rows[order])
        report((band + 1) / bands)
    (folder / "size").write_text(str(size), encoding="ascii")
    return SharedKeys(folder)


def _buckets_file(file: Path) -> Path:
    return file.with_name(file.name.replace(".rows.", ".buckets."))


def _save(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Write an array in the format of `np.save`, whose own errors hide that a disk is full.

    Raises:
        OSError: the disk is full, or the like.
    """
    array = np.ascontiguousarray(array)
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(array.tobytes())
