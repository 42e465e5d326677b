"""Pairs of a guided sample, by the ids of their pages, and which of them are reviewed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_URLS = select(pages.c.id, pages.c.url, pages.c.url_key).where(among(pages.c.id))
_REVIEWED = select(reviews.c.a_key, reviews.c.b_key).where(among(reviews.c.a_key))


@dataclass(frozen=True)
class GuidedPair:
    """A pair of a guided sample.

    Args:
        a, b: URLs of its pages, the earlier one first.
        reviewed: whether a person has reviewed it.
    """

    a: str
    b: str
    reviewed: bool


def guided_pairs(connection: Connection, ids: Sequence[tuple[int, int]]) -> list[GuidedPair]:
    """Read pairs by the ids of their pages; those of which a page is gone are left out.

    Args:
        connection: to the store.
        ids: of the pages, the earlier one first.
    """
    found = {
        row.id: row
        for part in chunked(page_id for pair in ids for page_id in pair)
        for row in connection.execute(_URLS, {"values": part})
        if isinstance(row.url, str)  # no damaged one
    }
    present = [(found[a], found[b]) for a, b in ids if a in found and b in found]
    reviewed = {
        frozenset((row.a_key, row.b_key))
        for part in chunked(row.url_key for pair in present for row in pair)
        for row in connection.execute(_REVIEWED, {"values": part})
    }
    return [
        GuidedPair(a.url, b.url, frozenset((a.url_key, b.url_key)) in reviewed) for a, b in present
    ]
