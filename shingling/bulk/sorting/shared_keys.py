"""The keys that rows share, on disk: what sorting leaves for deciding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.store import MAX_PAGES_PER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

OWN_KEYS = "own"
"""Folder of the keys that rows are stored under, if they are looked up under others as well."""


class SharedKeys:
    """The keys that rows share with other rows, each by the place of its bucket.

    A bucket holds the originals under one key (`buckets.Buckets`). Keys of minima are those that
    a row is looked up under, and those that it is stored under if it is an original; SimHashes
    are looked up under the keys of their neighbours as well.

    Args:
        folder: written by `bands.find_shared_keys` or `halves.find_shared_halves`.
    """

    def __init__(self, folder: Path) -> None:
        self._looked_up = _saved_buckets(folder)
        own = folder / OWN_KEYS
        self._own = _saved_buckets(own) if own.exists() else self._looked_up
        self.size = int((folder / "size").read_text(encoding="ascii"))
        """Size of all buckets together, in numbers of 4 bytes."""

    def looked_up(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buckets that the rows from `start` to before `stop` may have originals in.

        Returns:
            Rows, rising and repeated for each of their buckets, and the buckets: int64[n] each.
        """
        return _between(self._looked_up, start, stop)

    def of_originals(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Buckets for those rows from `start` to before `stop` that are originals.

        Returns:
            As `looked_up`.
        """
        return _between(self._own, start, stop)


def _saved_buckets(folder: Path) -> list[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """Rows of each file, rising, and their buckets."""
    return [
        (np.load(file, mmap_mode="r"), np.load(_buckets_file(file), mmap_mode="r"))
        for file in sorted(folder.glob("*.rows.npy"))
    ]


def _between(
    parts: Iterable[tuple[NDArray[np.uint32], NDArray[np.int64]]], start: int, stop: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, buckets = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for part_rows, part_buckets in parts:
        first, last = np.searchsorted(part_rows, [start, stop])
        rows.append(part_rows[first:last].astype(np.int64))
        buckets.append(np.asarray(part_buckets[first:last]))
    all_rows, all_buckets = np.concatenate(rows), np.concatenate(buckets)
    order = np.argsort(all_rows, kind="stable")
    return all_rows[order], all_buckets[order]


def place_buckets(sizes: NDArray[np.int64], before: int) -> tuple[NDArray[np.int64], int]:
    """Place the buckets of keys one after the other.

    Args:
        sizes: number of rows of each key: int64[n].
        before: size of the buckets before them, in numbers of 4 bytes.

    Returns:
        The buckets, int64[n], and the size of all so far.
    """
    bucket_sizes = np.minimum(sizes, MAX_PAGES_PER_KEY) + 1  # their number, then the originals
    ends = before + np.cumsum(bucket_sizes)
    return ends - bucket_sizes, int(ends[-1]) if len(ends) else before


def save_buckets(file: Path, rows: NDArray[np.uint32], buckets: NDArray[np.int64]) -> None:
    """Write rising rows with their buckets, for `SharedKeys`.

    Raises:
        OSError: the disk is full, or the like.
    """
    _save(_buckets_file(file), buckets)
    _save(file, rows)


def replace_buckets(file: Path, buckets: NDArray[np.int64]) -> None:
    """Write buckets in place of their numbers.

    Args:
        file: that `save_buckets` has written.
        buckets: by number.

    Raises:
        OSError: the disk is full, or the like.
    """
    numbers = np.load(_buckets_file(file))
    _save(_buckets_file(file), buckets[numbers])


def finished(folder: Path, size: int) -> SharedKeys:
    """Note the size of all buckets, and open what is in the folder."""
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
