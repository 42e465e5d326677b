"""Groups that fulfil a filter, a page of them at a time, and their pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import and_, bindparam, exists, func, or_, select

from shingling.errors import StoreError
from shingling.store.admin.queries import stored_pages
from shingling.store.model import from_seconds
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Select

    from shingling.store.model import StoredPage


class CursorError(StoreError, ValueError):
    """A list is to go on behind something that no list ended with."""


Order = Literal["size", "resemblance", "date"]
ORDERS: tuple[Order, ...] = ("size", "resemblance", "date")


@dataclass(frozen=True)
class GroupFilter:
    """Which pairs of an original and a duplicate are looked for.

    Args:
        site: of the original, without `www.`.
        status: of the duplicate, `exact` or `near`.
        low, high: least and greatest resemblance of the duplicate to the original.
        run: that stored the duplicate first.
        since, until: when the duplicate was last seen, seconds since 1970; `until` is left out.
        reviewed: whether a person has reviewed the pair; None for both.
        words: each of them is in the title or URL of the original or the duplicate.
        order: of groups: `size`, the largest first; `resemblance`, the lowest first; `date`, that
            with the page last seen first.
    """

    site: str | None = None
    status: str | None = None
    low: float | None = None
    high: float | None = None
    run: int | None = None
    since: float | None = None
    until: float | None = None
    reviewed: bool | None = None
    words: str | None = None
    order: Order = "size"


@dataclass(frozen=True)
class GroupRow:
    """A group in a list.

    Args:
        original: its original.
        duplicates: pairs that fulfil the filter.
        lowest, highest: resemblance of these.
        reviewed: of these, how many a person has reviewed.
        last_seen: when the last of these was seen.
        first: oldest duplicate of these.
        at: where a list goes on behind this group.
    """

    original: StoredPage
    duplicates: int
    lowest: float
    highest: float
    reviewed: int
    last_seen: datetime
    first: StoredPage
    at: str


@dataclass(frozen=True)
class GroupList:
    """Some groups of a list.

    Args:
        groups: in the order asked for.
        next: where the list goes on; None at its end.
    """

    groups: list[GroupRow]
    next: str | None


@dataclass(frozen=True)
class PairRow:
    """A duplicate in a group, and whether a person has reviewed it with its original."""

    page: StoredPage
    reviewed: bool


_head = pages.alias("head")
_resemblance = func.coalesce(pages.c.resemblance, 1.0)
# What groups are sorted by, and the sign that makes the lowest of it come first.
_SORTED_BY: dict[Order, tuple[ColumnElement[Any], int]] = {
    "size": (func.count(), -1),
    "resemblance": (func.min(_resemblance), 1),
    "date": (func.max(pages.c.last_seen), -1),
}
_IS_REVIEWED = exists().where(
    or_(
        and_(reviews.c.a_key == pages.c.url_key, reviews.c.b_key == _head.c.url_key),
        and_(reviews.c.b_key == pages.c.url_key, reviews.c.a_key == _head.c.url_key),
    )
)
_MAX_WORDS = 8


def groups(
    connection: Connection, chosen: GroupFilter, after: str | None = None, limit: int = 50
) -> GroupList:
    """Read groups that have pairs that fulfil a filter.

    Args:
        connection: to the store.
        chosen: the filter and the order.
        after: `next` of the list before.
        limit: at most so many.

    Raises:
        CursorError: `after` is not such a value.
    """
    value, sign = _SORTED_BY[chosen.order]
    rank = (sign * value).label("rank")
    query = _pairs(
        chosen,
        select(
            pages.c.original_id,
            rank,
            func.count().label("size"),
            func.min(_resemblance).label("lowest"),
            func.max(_resemblance).label("highest"),
            func.max(pages.c.last_seen).label("last_seen"),
            func.min(pages.c.id).label("first"),
        ),
    ).group_by(pages.c.original_id)
    if after is not None:
        last, last_id = _place(after)
        query = query.having(
            or_(
                sign * value > last,
                and_(sign * value == last, pages.c.original_id > last_id),
            )
        )
    query = query.order_by(rank, pages.c.original_id).limit(limit + 1)
    rows = connection.execute(query).all()
    shown = rows[:limit]
    originals = stored_pages(connection, [row.original_id for row in shown])
    firsts = stored_pages(connection, [row.first for row in shown])
    counted = _count_reviewed(connection, chosen, [row.original_id for row in shown])
    found = [
        GroupRow(
            original,
            row.size,
            row.lowest,
            row.highest,
            counted.get(row.original_id, 0),
            from_seconds(row.last_seen),
            first,
            json.dumps([row.rank, row.original_id], separators=(",", ":")),
        )
        for row, original, first in zip(shown, originals, firsts, strict=True)
    ]
    return GroupList(found, found[-1].at if len(rows) > limit else None)


def members(
    connection: Connection,
    original_id: int,
    chosen: GroupFilter,
    after: int = 0,
    limit: int = 100,
) -> list[PairRow]:
    """Duplicates of an original that fulfil a filter, oldest first.

    Args:
        connection: to the store.
        original_id: of the group.
        chosen: the filter.
        after: id of the page that they come after.
        limit: at most so many.
    """
    query = (
        _pairs(chosen, select(pages.c.id, _IS_REVIEWED.label("reviewed")))
        .where(pages.c.original_id == original_id, pages.c.id > after)
        .order_by(pages.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    found = stored_pages(connection, [row.id for row in rows])
    return [PairRow(page, row.reviewed) for page, row in zip(found, rows, strict=True)]


def _count_reviewed(
    connection: Connection, chosen: GroupFilter, ids: Sequence[int]
) -> dict[int, int]:
    """Reviewed pairs of groups, by the ids of their originals."""
    query = (
        _pairs(chosen, select(pages.c.original_id, func.count().label("number")))
        .where(_IS_REVIEWED, pages.c.original_id.in_(bindparam("ids", expanding=True)))
        .group_by(pages.c.original_id)
    )
    rows = connection.execute(query, {"ids": list(ids)})
    return {row.original_id: row.number for row in rows}


def _pairs(chosen: GroupFilter, query: Select[Any]) -> Select[Any]:
    """Query of duplicates, joined with their originals, that fulfil a filter."""
    conditions: list[ColumnElement[bool]] = []
    equal = ((_head.c.site, chosen.site), (pages.c.status, chosen.status))
    conditions += [column == value for column, value in equal if value is not None]
    if chosen.low is not None:
        conditions.append(_resemblance >= chosen.low)
    if chosen.high is not None:
        conditions.append(_resemblance <= chosen.high)
    if chosen.run is not None:
        conditions.append(pages.c.run_id == chosen.run)
    if chosen.since is not None:
        conditions.append(pages.c.last_seen >= int(chosen.since))
    if chosen.until is not None:
        conditions.append(pages.c.last_seen < int(chosen.until))
    if chosen.reviewed is not None:
        conditions.append(_IS_REVIEWED if chosen.reviewed else ~_IS_REVIEWED)
    for word in (chosen.words or "").split()[:_MAX_WORDS]:
        columns = (_head.c.title, _head.c.url, pages.c.title, pages.c.url)
        conditions.append(or_(*(one.icontains(word, autoescape=True) for one in columns)))
    return query.join_from(pages, _head, pages.c.original_id == _head.c.id).where(*conditions)


def _place(after: str) -> tuple[float, int]:
    """Rank and id of the last group of a list.

    Raises:
        CursorError: it is not what a list ended with.
    """
    try:
        rank, original_id = json.loads(after)
        if type(rank) in (int, float) and type(original_id) is int and 0 <= original_id < 2**63:
            return rank, original_id
    except (ValueError, TypeError, RecursionError):
        pass
    raise CursorError("the list does not go on there: begin again with its first page")
