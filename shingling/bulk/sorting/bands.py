"""Rows that share the key of a band of minima: they may be near-duplicates.

Keys are sorted in as many parts as the memory limit asks for, one band after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.sorting.equal import group_in_parts
from shingling.bulk.sorting.shared_keys import finished, place_buckets, save_buckets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.signed_rows import SignedRows
    from shingling.bulk.sorting.shared_keys import SharedKeys


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

        for part, equal in enumerate(group_in_parts(int(compared.sum()), memory, read)):
            starts, size = place_buckets(equal.sizes, size)
            order = np.argsort(equal.rows, kind="stable")
            buckets = np.repeat(starts, equal.sizes)[order]
            save_buckets(folder / f"{band:02}-{part:04}.rows.npy", equal.rows[order], buckets)
        report((band + 1) / bands)
    return finished(folder, size)
