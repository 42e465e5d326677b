"""Which rows meet: equal keys found by sorting them, one band after the other.

Nothing is held in memory that grows with the collection but a few bytes a row; keys are sorted
in as many parts as the memory asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.chunks import save
from shingling.store import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from shingling.bulk.chunks import Signed

NONE = np.uint32(0xFFFFFFFF)
"""No row."""

_KEY_BYTES = 48  # that sorting takes for each key, with all that is made of it


class Runs(NamedTuple):
    """Rows with equal keys.

    Args:
        rows: uint32[n], by their key, those of one key in rising order.
        starts: where the rows of each key begin, int64[keys].
        sizes: how many there are of each, 2 or more.
    """

    rows: NDArray[np.uint32]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]


def _runs(keys: NDArray[np.uint64], rows: NDArray[np.uint32]) -> Runs:
    """Return the rows whose keys are equal to another one's."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    new = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    starts = np.concatenate([[0], new]) if len(keys) else np.empty(0, np.int64)
    sizes = np.diff(np.append(starts, len(keys)))
    repeated = sizes > 1
    taken = np.repeat(repeated, sizes)
    sizes = sizes[repeated]
    return Runs(rows[order][taken], np.cumsum(sizes) - sizes, sizes)


def _sorted_parts(
    total: int, memory: int, read: Callable[[], Iterator[tuple[NDArray[np.uint64], Any]]]
) -> Iterator[Runs]:
    """Yield the rows with equal keys, those of some keys after the other.

    Args:
        total: keys at most.
        memory: bytes that a part may take.
        read: yields keys and the rows that have them.
    """
    bits = max(total * _KEY_BYTES - 1, 0) // memory
    shift = np.uint64(64 - bits.bit_length())
    for part in range(1 << bits.bit_length()):
        keys, rows = [np.empty(0, np.uint64)], [np.empty(0, np.uint32)]
        for some, own in read():
            if bits:
                chosen = some >> shift == np.uint64(part)
                some, own = some[chosen], own[chosen]
            keys.append(some)
            rows.append(own)
        yield _runs(np.concatenate(keys), np.concatenate(rows))


def first_of_equal(
    signed: Signed, column: str, left_out: NDArray[np.bool_], memory: int
) -> NDArray[np.uint32]:
    """Return the first row with the same 128-bit hash, for every row but that one.

    Args:
        signed: the rows.
        column: `text` or `id`; a hash of 0 is none.
        left_out: rows that do not count.
        memory: bytes that sorting may use.

    Returns:
        uint32[rows], with `NONE`.
    """
    first = np.full(len(signed), NONE)

    def read() -> Iterator[tuple[NDArray[np.uint64], Any]]:
        for number, start, stop in signed.chunks():
            hashes = signed.load(number, "rows")[column]
            taken = hashes.any(axis=1) & ~left_out[start:stop]
            rows = np.arange(start, stop, dtype=np.uint32)[taken]
            yield np.ascontiguousarray(hashes[taken, 0]), rows

    for runs in _sorted_parts(len(signed), memory, read):
        # Of 64 bits, two hashes may share half by chance: the other half tells.
        rising = np.argsort(runs.rows)
        other = np.empty(len(runs.rows), np.uint64)
        other[rising] = signed.pick("rows", runs.rows[rising])[column][:, 1]
        run = np.repeat(np.arange(len(runs.sizes)), runs.sizes)
        order = np.lexsort((runs.rows, other, run))
        rows, other, run = runs.rows[order], other[order], run[order]
        is_head = np.ones(len(rows), bool)
        is_head[1:] = (run[1:] != run[:-1]) | (other[1:] != other[:-1])
        heads = rows[is_head][np.cumsum(is_head) - 1]
        first[rows[~is_head]] = heads[~is_head]
    return first


class Meetings:
    """For each row, the cells of the keys that it shares with another one.

    A cell is where the originals under a key are kept: first how many there are, then
    which, `MOST` at most.
    """

    def __init__(self, folder: Path) -> None:
        self._parts = [
            (np.load(file, mmap_mode="r"), np.load(_cells_of(file), mmap_mode="r"))
            for file in sorted(folder.glob("*.rows.npy"))
        ]
        self.cells = int((folder / "cells").read_text(encoding="ascii"))

    def between(self, start: int, stop: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return rows from `start` to before `stop` with their cells, in the order of rows."""
        rows, cells = [np.empty(0, np.uint32)], [np.empty(0, np.int64)]
        for own, their in self._parts:
            first, last = np.searchsorted(own, [start, stop])
            rows.append(np.asarray(own[first:last]))
            cells.append(np.asarray(their[first:last]))
        all_rows, all_cells = np.concatenate(rows), np.concatenate(cells)
        order = np.argsort(all_rows, kind="stable")
        return all_rows[order], all_cells[order]


def _cells_of(file: Path) -> Path:
    return file.with_name(file.name.replace(".rows.", ".cells."))


def find_meetings(
    signed: Signed,
    able: NDArray[np.bool_],
    bands: int,
    folder: Path,
    memory: int,
    note: Callable[[float], None],
) -> Meetings:
    """Find the keys that more than one row has.

    Args:
        signed: the rows.
        able: those that are looked for.
        bands: how many keys a row has.
        folder: to write to.
        memory: bytes that sorting may use.
        note: is told the share that is done.
    """
    cells = 0
    for band in range(bands):

        def read(band: int = band) -> Iterator[tuple[NDArray[np.uint64], Any]]:
            for number, start, stop in signed.chunks():
                taken = able[start:stop]
                keys = signed.load(number, "keys")[band].view(np.uint64)
                yield keys[taken], np.arange(start, stop, dtype=np.uint32)[taken]

        for part, runs in enumerate(_sorted_parts(int(able.sum()), memory, read)):
            widths = np.minimum(runs.sizes, MOST) + 1
            own = np.repeat(cells + np.cumsum(widths) - widths, runs.sizes)
            cells += int(widths.sum())
            order = np.argsort(runs.rows, kind="stable")
            file = folder / f"{band:02}-{part:04}.rows.npy"
            save(_cells_of(file), own[order])
            save(file, runs.rows[order])
        note((band + 1) / bands)
    (folder / "cells").write_text(str(cells), encoding="ascii")
    return Meetings(folder)
