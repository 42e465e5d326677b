"""Near-duplicates that look least like their originals: where a threshold errs first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from shingling.store.admin.queries import stored_pages
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shingling.store.model import StoredPage


@dataclass(frozen=True)
class NearPair:
    """A near-duplicate with its original, and their resemblance."""

    original: StoredPage
    duplicate: StoredPage
    resemblance: float


def least_alike(connection: Connection, limit: int) -> list[NearPair]:
    """Near-duplicates with the lowest resemblance to their originals, the lowest first.

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
