"""Rows with equal hashes, such as exact duplicates.

Memory grows by a few bytes a row only; hashes are sorted in as many parts as the memory limit asks
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def group_in_parts(
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

    for equal in group_in_parts(len(signed), memory, read):
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
