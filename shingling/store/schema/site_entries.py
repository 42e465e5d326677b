"""How the table `site_blocks` keeps what is known of sites: packed entries of block and title."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import delete, select

from shingling.store.schema.tables import site_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Hashes, Numbers, Records


MAX_TEMPLATE_BLOCKS = 32_768  # of a site
MAX_OTHER_BLOCKS = 8192  # of a site, which may become template
TEMPLATE = 0  # in place of a title

_ROWS_READ = 64  # at a time
_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])
_BLOCKS_A_SITE = 64  # that a site is counted with besides its own, for what it takes


class KnownSite:
    """What is stored of a site: the title of each block, in sorted arrays.

    Args:
        rows: of the table `site_blocks`, oldest first.

    Attributes:
        rows: their ids.
    """

    def __init__(self, rows: Sequence[tuple[int, bytes]] = ()) -> None:
        self.rows = [row_id for row_id, _ in rows]
        entries = merge_entries(raw for _, raw in rows)
        self._hold(entries["block"], entries["title"])

    def _hold(self, blocks: Hashes, titles: Numbers) -> None:
        """Hold entries, of which the last one counts if a block has two."""
        order = np.argsort(blocks, kind="stable")
        ordered = blocks[order]
        is_last = np.ones(len(order), np.bool_)
        np.not_equal(ordered[1:], ordered[:-1], out=is_last[:-1])
        self._blocks, self._titles = ordered[is_last], titles[order[is_last]]

    @property
    def stamp(self) -> tuple[int, int]:
        """Number of the rows, and sum of their ids: it changes with every change of the rows."""
        return len(self.rows), sum(self.rows)

    @property
    def size(self) -> int:
        """Blocks that are held, for the memory that they take."""
        return len(self._blocks) + _BLOCKS_A_SITE

    def titles(self, blocks: Sequence[int]) -> list[int | None]:
        """Title that each block is stored with, or None."""
        found: list[int | None] = [None] * len(blocks)
        if len(self._blocks):
            wanted = np.array(blocks, dtype=np.uint64)
            places = np.minimum(self._blocks.searchsorted(wanted), len(self._blocks) - 1)
            there = (self._blocks[places] == wanted).nonzero()[0]
            titles = self._titles[places[there]]
            for at, title in zip(there.tolist(), titles.tolist(), strict=True):
                found[at] = title
        return found

    def add(self, learned: dict[int, int], rows: Sequence[int]) -> None:
        """Add what was learned, and is stored now, in rows with these ids."""
        self.rows = [*rows]
        if learned:
            blocks = np.fromiter(learned, np.uint64, len(learned))
            titles = np.fromiter(learned.values(), np.uint32, len(learned))
            joined = np.concatenate((self._blocks, blocks))
            self._hold(joined, np.concatenate((self._titles, titles)))


def pack_entries(entries: dict[int, int]) -> bytes:
    """Titles by block as the table keeps them."""
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def merge_entries(rows: Iterable[bytes]) -> Records:
    """One entry a block, in the order in which they were seen; one with two titles is template.

    Rows that are no entries, in a damaged store, are left out.
    """
    entries = np.frombuffer(b"".join(filter(are_entries, rows)), dtype=_ENTRY)
    _, first, place = np.unique(entries["block"], return_index=True, return_inverse=True)
    merged = entries[first]
    differs = entries["title"] != merged["title"][place]
    merged["title"][place[differs]] = TEMPLATE
    return merged[np.argsort(first)]


def merge_newest(rows: Iterable[bytes]) -> Records:
    """Merge rows of a site into one, without the oldest of too many blocks."""
    entries = merge_entries(rows)
    is_template = entries["title"] == TEMPLATE
    template, other = np.flatnonzero(is_template), np.flatnonzero(~is_template)
    gone = np.concatenate([template[:-MAX_TEMPLATE_BLOCKS], other[:-MAX_OTHER_BLOCKS]])
    return np.delete(entries, gone)


def are_entries(raw: object) -> bool:
    """Whether a value may be what the store keeps of a site."""
    return type(raw) is bytes and len(raw) > 0 and len(raw) % _ENTRY.itemsize == 0


def export_templates(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield the sites of which something is known, and what."""
    query = select(site_blocks.c.site, site_blocks.c.entries)
    ordered = query.order_by(site_blocks.c.site, site_blocks.c.id)
    with connection.execute(ordered.execution_options(yield_per=_ROWS_READ)) as result:
        for site, rows in groupby(result, key=itemgetter(0)):
            merged = merge_newest(raw for _, raw in rows)
            if len(merged):
                yield site, merged.tobytes()


def forget_site(connection: Connection, site: str) -> None:
    """Forget the template of a site."""
    connection.execute(delete(site_blocks).where(site_blocks.c.site == site))
