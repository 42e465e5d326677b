"""What stands out in a whole store: its largest groups, and its least alike near-duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from shingling.store.admin.queries import stored_pages
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shingling.store.model import StoredPage


@dataclass(frozen=True)
class LargeGroup:
    """A group with many duplicates.

    Args:
        original: its original.
        duplicates: how many it has.
        lowest, highest: resemblance of these; that of exact duplicates is 1.
        first: oldest of these.
    """

    original: StoredPage
    duplicates: int
    lowest: float
    highest: float
    first: StoredPage


@dataclass(frozen=True)
class NearPair:
    """A near-duplicate with its original, and their resemblance."""

    original: StoredPage
    duplicate: StoredPage
    resemblance: float


def largest_groups(connection: Connection, limit: int) -> list[LargeGroup]:
    """Read the groups with the most duplicates, the largest first. Every page is looked at.

    Args:
        connection: to the store.
        limit: at most so many.
    """
    resemblance = func.coalesce(pages.c.resemblance, 1.0)
    number = func.count().label("number")
    rows = connection.execute(
        select(
            pages.c.original_id,
            number,
            func.min(resemblance).label("lowest"),
            func.max(resemblance).label("highest"),
            func.min(pages.c.id).label("first"),
        )
        .where(pages.c.original_id.is_not(None))
        .group_by(pages.c.original_id)
        .order_by(number.desc(), pages.c.original_id)
        .limit(limit)
    ).all()
    originals = stored_pages(connection, [row.original_id for row in rows])
    firsts = stored_pages(connection, [row.first for row in rows])
    return [
        LargeGroup(original, row.number, row.lowest, row.highest, first)
        for row, original, first in zip(rows, originals, firsts, strict=True)
    ]


def least_alike(connection: Connection, limit: int) -> list[NearPair]:
    """Read the near-duplicates that are least like their originals, the least alike first.

    Every page is looked at.

    Args:
        connection: to the store.
        limit: at most so many.
    """
    value = pages.c.resemblance
    rows = connection.execute(
        select(pages.c.original_id, pages.c.id, value)
        .where(pages.c.status == "near", pages.c.original_id.is_not(None), value.is_not(None))
        .order_by(value, pages.c.id)
        .limit(limit)
    ).all()
    originals = stored_pages(connection, [row.original_id for row in rows])
    duplicates = stored_pages(connection, [row.id for row in rows])
    return [
        NearPair(original, duplicate, row.resemblance)
        for original, duplicate, row in zip(originals, duplicates, rows, strict=True)
    ]
