"""How the table `site_blocks` keeps what is known of sites: packed entries of block and title."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import delete, select

from shingling.store.schema.tables import site_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import Connection

    Entries = np.ndarray[tuple[int], np.dtype[np.void]]  # of `_ENTRY`

MAX_TEMPLATE_BLOCKS = 32_768  # of a site
MAX_OTHER_BLOCKS = 8192  # of a site, which may become template
TEMPLATE = 0  # in place of a title

_ROWS_READ = 64  # at a time
_ENTRY = np.dtype([("block", "<u8"), ("title", "<u4")])


def pack_entries(entries: dict[int, int]) -> bytes:
    """Titles by block as the table keeps them."""
    return np.array([*entries.items()], dtype=_ENTRY).tobytes()


def merge_entries(rows: Iterable[bytes]) -> Entries:
    """One entry a block, in the order in which they were seen; one with two titles is template."""
    entries = np.frombuffer(b"".join(rows), dtype=_ENTRY)
    order = np.argsort(entries["block"], kind="stable")
    grouped = entries[order]
    is_first = np.ones(len(grouped), np.bool_)
    is_first[1:] = grouped["block"][1:] != grouped["block"][:-1]
    merged = grouped[is_first]
    group = np.cumsum(is_first) - 1
    differs = grouped["title"] != merged["title"][group]
    merged["title"][group[differs]] = TEMPLATE
    return merged[np.argsort(order[is_first])]


def pack_newest(rows: Iterable[bytes]) -> bytes:
    """Merge rows of a site into one, without the oldest of too many blocks."""
    entries = merge_entries(rows)
    is_template = entries["title"] == TEMPLATE
    template, other = np.flatnonzero(is_template), np.flatnonzero(~is_template)
    gone = np.concatenate([template[:-MAX_TEMPLATE_BLOCKS], other[:-MAX_OTHER_BLOCKS]])
    return np.delete(entries, gone).tobytes()


def are_entries(raw: bytes) -> bool:
    """Whether bytes may be what the store keeps of a site."""
    return len(raw) > 0 and len(raw) % _ENTRY.itemsize == 0


def export_templates(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield the sites of which something is known, and what."""
    query = select(site_blocks.c.site, site_blocks.c.entries)
    ordered = query.order_by(site_blocks.c.site, site_blocks.c.id)
    with connection.execute(ordered.execution_options(yield_per=_ROWS_READ)) as result:
        for site, rows in groupby(result, key=itemgetter(0)):
            yield site, pack_newest(raw for _, raw in rows)


def forget_site(connection: Connection, site: str) -> None:
    """Forget the template of a site."""
    connection.execute(delete(site_blocks).where(site_blocks.c.site == site))
