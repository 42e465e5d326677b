"""Groups of originals that are less alike than duplicates, such as articles on one event."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from shingling.sketch import FUNCTIONS
from shingling.store.admin.queries import stored_pages
from shingling.store.model import DAY, Group
from shingling.store.schema.damage import MINIMA_BYTES
from shingling.store.schema.rows import read_minima
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

_MAX_LEADERS_PER_MINIMUM = 200  # the first ones


def event_groups(
    connection: Connection, threshold: float, days: float | None, limit: int | None
) -> list[Group]:
    """Group originals by their estimated resemblance, the largest group first.

    A page joins the leader that it resembles most, of several the earliest seen, or becomes the
    leader of a new group.
    """
    query = (
        select(pages.c.id, pages.c.first_seen, pages.c.minima, pages.c.scope)
        .where(pages.c.original_id.is_(None), pages.c.status != "skipped")
        .order_by(pages.c.first_seen, pages.c.id)
    )
    rows = [row for row in connection.execute(query) if _is_whole(row)]
    if not rows:
        return []
    leaders = _stars(rows, np.stack([read_minima(row.minima) for row in rows]), threshold, days)
    largest = sorted(
        (item for item in leaders.items() if item[1]), key=lambda item: (-len(item[1]), item[0])
    )[:limit]
    groups = []
    for leader, members in largest:
        places = [leader, *(place for place, _ in members)]
        shown = stored_pages(connection, [rows[place].id for place in places])
        joined = (
            replace(page, resemblance=equal / FUNCTIONS)
            for page, (_, equal) in zip(shown[1:], members, strict=True)
        )
        groups.append(Group(shown[0], tuple(joined)))
    return groups


def _is_whole(row: Any) -> bool:
    """Whether a row has what it is compared by; a damaged one may not."""
    times = type(row.first_seen) is int
    return times and type(row.minima) is bytes and len(row.minima) == MINIMA_BYTES


def _stars(
    rows: Sequence[Any],
    minima: np.ndarray[tuple[int, int], np.dtype[np.uint32]],
    threshold: float,
    days: float | None,
) -> dict[int, list[tuple[int, int]]]:
    """Places of leaders, each with those of the rows that joined it and their equal minima.

    Each row is compared with the leaders that share a minimum with it, by a table from minima
    to leaders: time and memory grow with the rows, not with their pairs.
    """
    codes = _repeated(minima)
    least = max(threshold * FUNCTIONS, 1)
    by_code: dict[int, list[int]] = {}
    leaders: dict[int, list[tuple[int, int]]] = {}
    for place, row in enumerate(rows):
        own = codes[place][codes[place] > 0].tolist()
        found = [leader for code in own for leader in by_code.get(code, ())]
        ids, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        near = counts >= least
        best: tuple[int, int] | None = None
        for leader, equal in zip(ids[near].tolist(), counts[near].tolist(), strict=True):
            first = rows[leader]
            if first.scope != row.scope:
                continue
            if days is not None and row.first_seen - first.first_seen > days * DAY:
                continue
            best = max(best or (0, 0), (equal, -leader))
        if best is not None:
            leaders[-best[1]].append((place, best[0]))
            continue
        leaders[place] = []
        for code in own:
            led = by_code.setdefault(code, [])
            if len(led) < _MAX_LEADERS_PER_MINIMUM:
                led.append(place)
    return leaders


def _repeated(
    minima: np.ndarray[tuple[int, int], np.dtype[np.uint32]],
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Numbers of minima that occur more than once in their column; 0 for all others."""
    codes = np.zeros(minima.shape, dtype=np.int64)
    last = 0
    for column in range(minima.shape[1]):
        _, places, counts = np.unique(minima[:, column], return_inverse=True, return_counts=True)
        codes[:, column] = np.where(counts[places] > 1, places + last + 1, 0)
        last += len(counts)
    return codes
