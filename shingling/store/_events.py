"""Originals that are a little alike, such as articles on one event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import select

from shingling.sketch import FUNCTIONS
from shingling.store._queries import stored_pages
from shingling.store._rows import read_minima
from shingling.store._tables import pages
from shingling.store._values import Group

if TYPE_CHECKING:
    from sqlalchemy import Connection

_DAY = 86_400
_COMMON = 200  # pages with one minimum, from which on it tells nothing: a menu, a footer


def event_groups(
    connection: Connection, threshold: float, days: float | None, limit: int | None
) -> list[Group]:
    """Return groups of originals by estimated resemblance, the largest first.

    A star each, as everywhere: a page joins the earliest-seen leader that it resembles most,
    or leads a group itself.
    """
    query = (
        select(pages.c.id, pages.c.first_seen, pages.c.minima, pages.c.scope)
        .where(pages.c.original_id.is_(None), pages.c.status != "skipped")
        .order_by(pages.c.first_seen, pages.c.id)
    )
    rows = connection.execute(query).all()
    if not rows:
        return []
    minima = np.stack([read_minima(row.minima) for row in rows])
    near = _alike(minima, threshold)
    leaders: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        best: tuple[int, int] | None = None
        for equal, other in near.get(place, ()):
            if other not in leaders or rows[other].scope != row.scope:
                continue
            if days is not None and row.first_seen - rows[other].first_seen > days * _DAY:
                continue
            best = max(best or (0, 0), (equal, -other))
        if best is None:
            leaders[place] = []
        else:
            leaders[-best[1]].append(place)
    largest = sorted(
        (item for item in leaders.items() if item[1]), key=lambda item: (-len(item[1]), item[0])
    )[:limit]
    groups = []
    for leader, members in largest:
        shown = stored_pages(connection, [rows[place].id for place in (leader, *members)])
        groups.append(Group(shown[0], tuple(shown[1:])))
    return groups


def _alike(
    minima: np.ndarray[tuple[int, int], np.dtype[np.uint32]], threshold: float
) -> dict[int, list[tuple[int, int]]]:
    """Return the earlier rows that each row resembles, with how many minima are equal.

    Rows with an equal minimum are found by sorting each column, not by comparing all rows
    with all.
    """
    number = len(minima)
    found: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    for column in minima.T:
        order = np.argsort(column, kind="stable")
        ordered = column[order]
        for step in range(1, _COMMON):
            if step >= number:
                break
            same = ordered[step:] == ordered[:-step]
            if not same.any():
                break
            found.append(order[step:][same] * number + order[:-step][same])
    if not found:
        return {}
    pairs, counts = np.unique(np.concatenate(found), return_counts=True)
    enough = counts >= max(threshold * FUNCTIONS, 1)
    near: dict[int, list[tuple[int, int]]] = {}
    for pair, count in zip(pairs[enough].tolist(), counts[enough].tolist(), strict=True):
        near.setdefault(pair // number, []).append((count, pair % number))
    return near
