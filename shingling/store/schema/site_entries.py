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

    Entries = np.ndarray[tuple[int], np.dtype[np.void]]  # of `_ENTRY`

MAX_TEMPLATE_BLOCKS = 32_768  # of a site
MAX_OTHER_BLOCKS = 8192  # of a site, which may become template
TEMPLATE = 0  # in place of a title

_ROWS_READ = 64  # at a time
_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])
_MAX_RECENT = 128  # blocks in a dict, from which on they are put into the arrays
_BLOCKS_A_SITE = 64  # that a site is counted with besides its own, for what it takes


class KnownSite:
    """What is stored of a site: the title of each block, in sorted arrays and a small dict.

    Args:
        rows: of the table `site_blocks`, oldest first.

    Attributes:
        rows: their ids.
    """

    def __init__(self, rows: Sequence[tuple[int, bytes]] = ()) -> None:
        self.rows = [row_id for row_id, _ in rows]
        entries = merge_entries(raw for _, raw in rows)
        order = np.argsort(entries["block"])
        self._blocks, self._titles = entries["block"][order], entries["title"][order]
        self._recent: dict[int, int] = {}

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
        recent = self._recent
        found = [recent.get(block) for block in blocks]
        if len(self._blocks):
            wanted = np.array(blocks, dtype=np.uint64)
            places = np.minimum(self._blocks.searchsorted(wanted), len(self._blocks) - 1)
            there = (self._blocks[places] == wanted).nonzero()[0]
            titles = self._titles[places[there]]
            for at, title in zip(there.tolist(), titles.tolist(), strict=True):
                if found[at] is None:
                    found[at] = title
        return found

    def add(self, learned: dict[int, int], rows: Sequence[int]) -> None:
        """Add what was learned, and is stored now, in rows with these ids."""
        self.rows = [*rows]
        self._recent.update(learned)
        if len(self._recent) < _MAX_RECENT:
            return
        count = len(self._recent)
        blocks = np.fromiter(self._recent, np.uint64, count)
        titles = np.fromiter(self._recent.values(), np.uint32, count)
        order = np.argsort(blocks)
        blocks, titles = blocks[order], titles[order]
        places = self._blocks.searchsorted(blocks)
        is_known = np.zeros(count, np.bool_)
        inside = places < len(self._blocks)
        is_known[inside] = self._blocks[places[inside]] == blocks[inside]
        self._titles[places[is_known]] = titles[is_known]
        self._blocks = np.insert(self._blocks, places[~is_known], blocks[~is_known])
        self._titles = np.insert(self._titles, places[~is_known], titles[~is_known])
        self._recent = {}


def pack_entries(entries: dict[int, int]) -> bytes:
    """Titles by block as the table keeps them."""
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def merge_entries(rows: Iterable[bytes]) -> Entries:
    """One entry a block, in the order in which they were seen; one with two titles is template.

    Rows that are no entries, in a damaged store, are left out.
    """
    entries = np.frombuffer(b"".join(filter(are_entries, rows)), dtype=_ENTRY)
    order = np.argsort(entries["block"], kind="stable")
    grouped = entries[order]
    is_first = np.ones(len(grouped), np.bool_)
    is_first[1:] = grouped["block"][1:] != grouped["block"][:-1]
    merged = grouped[is_first]
    group = np.cumsum(is_first) - 1
    differs = grouped["title"] != merged["title"][group]
    merged["title"][group[differs]] = TEMPLATE
    return merged[np.argsort(order[is_first])]


def merge_newest(rows: Iterable[bytes]) -> Entries:
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
