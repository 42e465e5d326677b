"""The originals under each key that rows share, on disk."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from shingling.store import MOST

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_WINDOW = 1 << 22  # cells read at a time


class Cells:
    """The originals under each key, in a file: their number, then which they are.

    Args:
        file: is made.
        size: of all cells together.

    Raises:
        OSError: the disk is full, or the like.
    """

    def __init__(self, file: Path, size: int) -> None:
        self._file = file
        with file.open("wb") as made:
            made.truncate(4 * (size + MOST))
            if hasattr(os, "posix_fallocate"):  # or a full disk would end this process
                os.posix_fallocate(made.fileno(), 0, 4 * (size + MOST))

    def _windows(
        self, cells: NDArray[np.int64], mode: str
    ) -> Iterator[tuple[slice, NDArray[np.uint32], int]]:
        """Yield parts of the file with the rising cells that lie in each."""
        start = 0
        while start < len(cells):
            first = int(cells[start])
            stop = int(np.searchsorted(cells, first + _WINDOW))
            shape = int(cells[stop - 1]) - first + 1 + MOST
            window = np.memmap(self._file, "<u4", mode, 4 * first, (shape,))  # type: ignore[call-overload]  # stubs want a literal
            yield slice(start, stop), window, first
            start = stop

    def read(
        self, cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """Return numbers of originals, where each cell's begin, and the originals."""
        counts = np.zeros(len(cells), np.int64)
        originals = []
        for part, window, first in self._windows(cells, "r"):
            places = cells[part] - first
            counts[part] = window[places]
            originals.append(window[expanded(places + 1, counts[part])])
        starts = np.cumsum(counts) - counts
        return counts, starts, np.concatenate([np.empty(0, np.uint32), *originals])

    def add(
        self, cells: NDArray[np.int64], counts: NDArray[np.int64], new: NDArray[np.uint32]
    ) -> None:
        """Add originals under cells, which rise, and are repeated for each of theirs.

        Args:
            cells: int64[n].
            counts: how many there are already: int64[n].
            new: the originals, of each cell in rising order.
        """
        is_first = np.ones(len(cells), bool)
        is_first[1:] = cells[1:] != cells[:-1]
        firsts = np.flatnonzero(is_first)
        rank = np.arange(len(cells)) - firsts[np.cumsum(is_first) - 1]
        place = counts + rank
        kept = place < MOST
        cells, place, new = cells[kept], place[kept], new[kept]
        for part, window, first in self._windows(cells, "r+"):
            at = cells[part] - first
            window[at + 1 + place[part]] = new[part]
            window[at] = place[part] + 1  # the last one of each stays


def expanded(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each start on, so many of each, one after the other."""
    ends = np.cumsum(counts)
    steps = np.arange(int(ends[-1]) if len(ends) else 0)
    return steps - np.repeat(ends - counts, counts) + np.repeat(starts, counts)
