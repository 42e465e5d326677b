"""Groups that fulfil a filter, a page of them at a time, and their pairs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, tuple_, union_all

from shingling.errors import StoreError
from shingling.store.model import from_seconds
from shingling.store.queries import stored_pages
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, Select

    from shingling.store.model import StoredPage

MAX_WORDS = 8
_MAX_ID = 2**63 - 1


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


class GroupList(NamedTuple):
    """Some groups of a list.

    Args:
        groups: in the order asked for.
        next: where the list goes on; None at its end.
        total: number of groups in the whole list.
        pairs: number of pairs in these.
    """

    groups: list[GroupRow]
    next: str | None
    total: int
    pairs: int


class PairRow(NamedTuple):
    """A duplicate in a group, and whether a person has reviewed it with its original."""

    page: StoredPage
    reviewed: bool


class FirstPairs(NamedTuple):
    """The first pairs that fulfil a filter.

    Args:
        pairs: ids of originals and duplicates.
        groups: that these are of.
        whole_groups: of these, how many have no other pair.
        total: number of pairs that fulfil the filter.
    """

    pairs: list[tuple[int, int]]
    groups: int
    whole_groups: int
    total: int


HEAD = pages.alias("head")
"""The original of a duplicate."""

_resemblance = func.coalesce(pages.c.resemblance, 1.0)
_RANKS: dict[Order, tuple[int, Any]] = {
    "size": (-1, func.count()),
    "resemblance": (1, func.min(_resemblance)),
    "date": (-1, func.max(pages.c.last_seen)),
}
# SQLite reads the table in its order, which is twice as fast as by the index on originals: this
# condition does not fit the index.
_IS_DUPLICATE = func.coalesce(pages.c.original_id, 0) > 0
_own, _other = pages.alias("own"), pages.alias("other")
# By the URLs of reviews, of which there are few.
_REVIEWED = (
    select(_own.c.id)
    .join_from(_own, _other, _own.c.original_id == _other.c.id)
    .where(
        _own.c.url_key.in_(union_all(select(reviews.c.a_key), select(reviews.c.b_key))),
        exists().where(
            or_(
                and_(reviews.c.a_key == _own.c.url_key, reviews.c.b_key == _other.c.url_key),
                and_(reviews.c.b_key == _own.c.url_key, reviews.c.a_key == _other.c.url_key),
            )
        ),
    )
)
_IS_REVIEWED = pages.c.id.in_(_REVIEWED)
_SIZES = (
    select(pages.c.original_id, func.count())
    .where(among(pages.c.original_id))
    .group_by(pages.c.original_id)
)


def _select_pairs(chosen: GroupFilter, *columns: ColumnElement[Any]) -> Select[Any]:
    """Select columns of the duplicates that fulfil a filter."""
    texts = (HEAD.c.title, HEAD.c.url, pages.c.title, pages.c.url)
    words = (chosen.words or "").split()[:MAX_WORDS]
    conditions = [
        chosen.site is None or HEAD.c.site == chosen.site,
        chosen.status is None or pages.c.status == chosen.status,
        chosen.low is None or _resemblance >= chosen.low,
        chosen.high is None or _resemblance <= chosen.high,
        chosen.run is None or pages.c.run_id == chosen.run,
        chosen.since is None or pages.c.last_seen >= int(chosen.since),
        chosen.until is None or pages.c.last_seen < int(chosen.until),
        chosen.reviewed is None or (_IS_REVIEWED if chosen.reviewed else ~_IS_REVIEWED),
        *(or_(*(text.icontains(word, autoescape=True) for text in texts)) for word in words),
    ]
    query = select(*columns).where(_IS_DUPLICATE)
    if chosen.site is not None or words:
        query = query.join_from(pages, HEAD, pages.c.original_id == HEAD.c.id)
    return query.where(*(one for one in conditions if isinstance(one, ColumnElement)))


def groups(
    connection: Connection, chosen: GroupFilter, after: str | None = None, limit: int = 50
) -> GroupList:
    """Read groups that have pairs that fulfil a filter. All duplicates are read.

    Args:
        connection: to the store.
        chosen: the filter and the order.
        after: `next` of the list before.
        limit: at most so many.

    Raises:
        CursorError: `after` is not such a value.
    """
    place = None if after is None else _place(after)
    sign, rank = _RANKS[chosen.order]
    grouped = (
        _select_pairs(
            chosen,
            pages.c.original_id,
            (sign * rank).label("rank"),
            func.count().label("size"),
            func.min(_resemblance).label("lowest"),
            func.max(_resemblance).label("highest"),
            func.max(pages.c.last_seen).label("last_seen"),
            func.min(pages.c.id).label("first"),
            func.count().filter(_IS_REVIEWED).label("reviewed"),
        )
        .group_by(pages.c.original_id)
        .subquery()
    )
    total = func.count().over().label("total"), func.sum(grouped.c.size).over().label("pairs")
    found = select(grouped, *total).subquery()
    query = select(found).order_by(found.c.rank, found.c.original_id).limit(limit + 1)
    if place is not None:
        query = query.where(tuple_(found.c.rank, found.c.original_id) > place)
    rows = connection.execute(query).all()
    originals = stored_pages(connection, [row.original_id for row in rows[:limit]])
    firsts = stored_pages(connection, [row.first for row in rows[:limit]])
    shown = [
        GroupRow(
            original,
            row.size,
            row.lowest,
            row.highest,
            row.reviewed,
            from_seconds(row.last_seen),
            first,
            json.dumps([row.rank, row.original_id], separators=(",", ":")),
        )
        for row, original, first in zip(rows, originals, firsts, strict=False)
    ]
    following = shown[-1].at if len(rows) > limit else None
    total_of = (rows[0].total, int(rows[0].pairs)) if rows else (0, 0)
    return GroupList(shown, following, *total_of)


def first_pairs(
    connection: Connection, chosen: GroupFilter, limit: int, original_id: int | None
) -> FirstPairs:
    """Choose the first pairs of the list of groups.

    Args:
        connection: to the store.
        chosen: the filter and the order.
        limit: at most so many.
        original_id: of the group that they are of; None takes all groups.
    """
    sign, rank = _RANKS[chosen.order]
    ranked = sign * rank.over(partition_by=pages.c.original_id)
    total = func.count().over().label("total")
    query = _select_pairs(chosen, pages.c.original_id, pages.c.id, total)
    if original_id is not None:
        query = query.where(pages.c.original_id == original_id)
    ordered = query.order_by(ranked, pages.c.original_id, pages.c.id).limit(limit)
    rows = connection.execute(ordered).all()
    own = Counter(row.original_id for row in rows)
    whole = {
        (original, size)
        for part in chunked(own)
        for original, size in connection.execute(_SIZES, {"values": part})
    }
    return FirstPairs(
        [(row.original_id, row.id) for row in rows],
        len(own),
        len(whole & {*own.items()}),
        rows[0].total if rows else 0,
    )


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
        _select_pairs(chosen, pages.c.id, _IS_REVIEWED.label("reviewed"))
        .where(pages.c.original_id == original_id, pages.c.id > after)
        .order_by(pages.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    found = stored_pages(connection, [row.id for row in rows])
    return [PairRow(page, row.reviewed) for page, row in zip(found, rows, strict=True)]


def least_alike(connection: Connection, limit: int) -> list[tuple[StoredPage, StoredPage]]:
    """Read the near-duplicates that are least like their originals, behind these.

    Args:
        connection: to the store.
        limit: at most so many.
    """
    value = pages.c.resemblance
    query = (
        _select_pairs(GroupFilter(status="near"), pages.c.original_id, pages.c.id)
        .where(value.is_not(None))
        .order_by(value, pages.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    columns = ([row[at] for row in rows] for at in (0, 1))
    return [*zip(*(stored_pages(connection, ids) for ids in columns), strict=True)]


def _place(after: str) -> tuple[float, int]:
    """Rank and id of the last group of a list.

    Raises:
        CursorError: it is not what a list ended with.
    """
    try:
        rank, original_id = json.loads(after)
        if type(rank) in (int, float) and type(original_id) is int and 0 <= original_id <= _MAX_ID:
            return float(rank), original_id
    except (ValueError, TypeError, RecursionError, OverflowError):
        pass
    raise CursorError("the list does not go on there: begin again with its first page")
