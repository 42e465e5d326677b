"""Groups of originals that are less alike than duplicates, such as articles on one event."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from heapq import nlargest
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select

from shingling.errors import StoreError
from shingling.similarity import Counts, measure_sets, overlap
from shingling.sketch import FUNCTIONS, fingerprint_set
from shingling.store.decide.texts import read_text
from shingling.store.model import DAY, Group
from shingling.store.queries import stored_pages
from shingling.store.schema.fields import MINIMA_BYTES
from shingling.store.schema.rows import read_minima
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Fingerprints, Integers, Minima
    from shingling.sketch import Scheme
    from shingling.store.model import StoredPage

_MAX_LEADERS_PER_MINIMUM = 200  # the first ones
_MAX_LEADERS_MEASURED = 32  # of those that share a minimum with a page, the most alike
_MAX_TEXTS_KEPT = 4096

_COPIES = (
    select(pages.c.original_id, pages.c.id, pages.c.first_seen)
    .where(pages.c.original_id.is_not(None))
    .order_by(pages.c.id)
)


class Measured:
    """A measure of the texts of two pages.

    Args:
        connection: to the store.
        scheme: of the store.
        measure: one of `shingling.rules.SET_MEASURES`.
    """

    def __init__(self, connection: Connection, scheme: Scheme, measure: str) -> None:
        self._connection = connection
        self._scheme = scheme
        self._measure = measure
        self._shingles = lru_cache(_MAX_TEXTS_KEPT)(self._read_shingles)

    def __call__(self, a: Any, b: Any) -> float:
        """Measure two rows of pages, from 0 to 1.

        Raises:
            StoreError: a text is not kept.
        """
        both = overlap(self._shingles(a.id), self._shingles(b.id))
        counts = Counts(both.a, both.b, a.words, b.words)
        return float(measure_sets(self._measure, both.shared, counts))

    def _read_shingles(self, page_id: int) -> Fingerprints:
        text = read_text(self._connection, page_id)
        if text is None:
            raise StoreError(
                f"{self._measure} is measured on texts, and that of page {page_id} is not kept"
                " (DEDUP_STORE_TEXT)"
            )
        return fingerprint_set(text.text, self._scheme)


def event_groups(
    connection: Connection,
    threshold: float,
    days: float | None,
    limit: int | None,
    measured: Measured | None = None,
) -> list[Group]:
    """Group originals by their estimated resemblance, or a measure, the largest group first.

    An original joins the leader that it resembles most, of several the earliest seen, or becomes
    the leader of a new group. Its duplicates follow it, with their resemblance to it.
    """
    query = (
        select(pages.c.id, pages.c.first_seen, pages.c.minima, pages.c.scope, pages.c.words)
        .where(pages.c.original_id.is_(None), pages.c.status != "skipped")
        .order_by(pages.c.first_seen, pages.c.id)
    )
    rows = [row for row in connection.execute(query) if _is_whole(row)]
    if not rows:
        return []
    minima = np.stack([read_minima(row.minima) for row in rows])
    leaders = _stars(rows, minima, threshold, days, measured)
    alike = {rows[place].id: value for own in leaders.values() for place, value in own}
    copies = defaultdict[int, list[tuple[int, Any]]](list)
    for original_id, page_id, seen in connection.execute(_COPIES):
        copies[original_id].append((page_id, seen))
    found = []
    for leader, members in leaders.items():
        first = rows[leader].first_seen
        ids = []
        for place in (leader, *(place for place, _ in members)):
            original = rows[place].id
            own = [page_id for page_id, seen in copies[original] if _within(seen, first, days)]
            ids += [original, *own]
        if len(ids) > 1:
            found.append(ids)
    found.sort(key=len, reverse=True)
    groups = []
    for ids in found[:limit]:
        shown = stored_pages(connection, ids)
        leading, *others = (shown[page_id] for page_id in ids if page_id in shown)
        groups.append(Group(leading, tuple(_joined(page, alike) for page in others)))
    return groups


def _within(seen: Any, first: int, days: float | None) -> bool:
    """Whether a page was seen within days of the first one; a damaged time is not."""
    return days is None or (type(seen) is int and seen - first <= days * DAY)


def _joined(page: StoredPage, alike: Mapping[int, float]) -> StoredPage:
    """Tell of an original how alike it is to the leader; leave a duplicate as it is stored."""
    if page.id not in alike:
        return page
    return replace(
        page,
        original=None,
        resemblance=alike[page.id],
        containment=None,
        compared_with=None,
        reason=None,
    )


def _is_whole(row: Any) -> bool:
    """Whether a row has what it is compared by; a damaged one may not."""
    times = type(row.first_seen) is int
    return times and type(row.minima) is bytes and len(row.minima) == MINIMA_BYTES


def _stars(
    rows: Sequence[Any],
    minima: Minima,
    threshold: float,
    days: float | None,
    measured: Measured | None,
) -> dict[int, list[tuple[int, float]]]:
    """Places of leaders, each with those of the rows that joined it and how alike they are.

    Each row is compared with the leaders that share a minimum with it, by a table from minima
    to leaders: time and memory grow with the rows, not with their pairs.
    """
    codes = _repeated(minima)
    least = max(threshold * FUNCTIONS, 1) if measured is None else 1
    by_code: dict[int, list[int]] = {}
    leaders: dict[int, list[tuple[int, float]]] = {}
    for place, row in enumerate(rows):
        own = codes[place][codes[place] > 0].tolist()
        found = [leader for code in own for leader in by_code.get(code, ())]
        ids, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        near = counts >= least
        alike = [
            (equal / FUNCTIONS, -leader)
            for leader, equal in zip(ids[near].tolist(), counts[near].tolist(), strict=True)
            if rows[leader].scope == row.scope
            and _within(row.first_seen, rows[leader].first_seen, days)
        ]
        if measured is not None:
            alike = [
                (value, opposite)
                for _, opposite in nlargest(_MAX_LEADERS_MEASURED, alike)
                if (value := measured(row, rows[-opposite])) >= threshold
            ]
        if alike:
            value, opposite = max(alike)
            leaders[-opposite].append((place, value))
            continue
        leaders[place] = []
        for code in own:
            led = by_code.setdefault(code, [])
            if len(led) < _MAX_LEADERS_PER_MINIMUM:
                led.append(place)
    return leaders


def _repeated(minima: Minima) -> Integers:
    """Numbers of minima that occur more than once in their column; 0 for all others."""
    codes = np.zeros(minima.shape, dtype=np.int64)
    last = 0
    for column in range(minima.shape[1]):
        _, places, counts = np.unique(minima[:, column], return_inverse=True, return_counts=True)
        codes[:, column] = np.where(counts[places] > 1, places + last + 1, 0)
        last += len(counts)
    return codes
