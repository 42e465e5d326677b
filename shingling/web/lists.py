"""Groups that fulfil a filter, a page of them at a time, and their members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, tuple_, union_all

from shingling.admin.reviews import reviews_of
from shingling.store import Store
from shingling.store.model import from_seconds
from shingling.store.queries import stored_pages
from shingling.store.schema.tables import pages, reviews
from shingling.store.urls import pasted_site
from shingling.web.pairs import stored_page
from shingling.web.requests import RequestError, day, needed, one_of, read, share, whole_number
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from shingling.store.model import Review, StoredPage
    from shingling.store.session import Session

GROUPS_SHOWN = 50
MEMBERS_SHOWN = 100
REVIEWS_SHOWN = 200
MAX_WORDS = 8
MAX_ROWS = 1000
"""Rows of a list that a query may ask for by `size`."""
GUIDED_FIELDS = ("threshold", "audit")
"""Fields that name the dry run or audit whose pairs are gone through."""

DAY = 24 * 3600

_head = pages.alias("head")
_resemblance = func.coalesce(pages.c.resemblance, 1.0)
_own = pages.alias("own")
# By the URLs of reviews, of which there are few: by itself, SQLite would begin with the pages.
_REVIEWED = (
    select(_own.c.id)
    .join_from(_own, _head, _own.c.original_id == _head.c.id)
    .where(
        _own.c.url_key.in_(union_all(select(reviews.c.a_key), select(reviews.c.b_key))),
        exists().where(
            or_(
                and_(reviews.c.a_key == _own.c.url_key, reviews.c.b_key == _head.c.url_key),
                and_(reviews.c.b_key == _own.c.url_key, reviews.c.a_key == _head.c.url_key),
            )
        ),
    )
)
_is_reviewed = pages.c.id.in_(_REVIEWED)
# SQLite reads the table in its order, which is twice as fast as by the index on originals: this
# condition does not fit the index.
_is_duplicate = func.coalesce(pages.c.original_id, 0) > 0


def _of_site(name: str) -> ColumnElement[bool]:
    site = pasted_site(name)
    return or_(
        pages.c.site == site,
        pages.c.original_id.in_(select(_head.c.id).where(_head.c.site == site)),
    )


def _has_words(words: str) -> ColumnElement[bool]:
    """Each word is in the title or URL of the original or the duplicate."""

    def is_in(table: Any, word: str) -> ColumnElement[bool]:
        texts = table.c.title, table.c.url
        return or_(*(text.icontains(word, autoescape=True) for text in texts))

    return and_(
        *(
            is_in(pages, word)
            | exists().where(_head.c.id == pages.c.original_id, is_in(_head, word))
            for word in words.split()[:MAX_WORDS]
        )
    )


_FILTERS: dict[str, tuple[Callable[[str], Any], Callable[[Any], ColumnElement[bool]]]] = {
    "site": (str, _of_site),
    "status": (one_of("near", "exact"), lambda one: pages.c.status == one),
    "low": (share, lambda least: _resemblance >= least),
    "high": (share, lambda most: _resemblance <= most),
    "run": (whole_number, lambda run: pages.c.run_id == run),
    "since": (day, lambda first: pages.c.last_seen >= first),
    "until": (day, lambda last: pages.c.last_seen < last + DAY),
    "reviewed": (one_of("yes", "no"), lambda one: _is_reviewed if one == "yes" else ~_is_reviewed),
    "words": (str, _has_words),
}
"""Fields of the filter: how each is read, and the condition on duplicates that it stands for."""

_RANKS: dict[str, tuple[int, Any]] = {
    "size": (-1, func.count()),
    "resemblance": (1, func.min(_resemblance)),
    "date": (-1, func.max(pages.c.last_seen)),
}
"""Orders of groups: the largest first, the least alike first, the last seen first."""


@dataclass(frozen=True)
class Asked:
    """Which groups are asked for.

    Args:
        values: fields of the filter, as they were given.
        guided: fields that name a dry run, as they were given.
        conditions: on the duplicates that are looked for.
        order: of the groups.
    """

    values: dict[str, str]
    guided: dict[str, str]
    conditions: list[ColumnElement[bool]]
    order: str

    def value(self, name: str) -> str:
        """Value of a field of the filter."""
        return self.values.get(name, "")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Fields and values, for a link that keeps the filter and the dry run."""
        return [*self.values.items(), *self.guided.items()]


def asked_of(fields: Mapping[str, str]) -> Asked:
    """Read which groups a query or form asks for.

    Raises:
        RequestError: a field has a value that is not accepted.
    """
    given = {name: fields[name].strip() for name in (*_FILTERS, "order") if name in fields}
    conditions = [_is_duplicate]
    for name, (kind, condition) in _FILTERS.items():
        value = read(given, name, kind)
        if value is not None:
            conditions.append(condition(value))
    order = read(given, "order", one_of(*_RANKS)) or "size"
    guided = {name: fields[name] for name in GUIDED_FIELDS if name in fields}
    return Asked(given, guided, conditions, order)


def rows_asked(query: Mapping[str, str], usual: int) -> int:
    """Read how many rows a query asks for, at most `MAX_ROWS`."""
    return min(read(query, "size", whole_number) or usual, MAX_ROWS)


def next_rows(path: str, query: Mapping[str, str], after: object) -> str | None:
    """Address of a list that goes on behind a row; None if it has ended."""
    if after is None:
        return None
    kept = ((name, value) for name, value in query.items() if name not in ("after", "decided"))
    return link(path, [*kept, ("after", after)])


class GroupRow(NamedTuple):
    """A group in a list.

    Args:
        original: its original.
        first: the oldest of its duplicates that fulfil the filter.
        size: number of these.
        lowest, highest: their resemblance.
        reviewed: how many of them a person has reviewed.
        last_seen: when the last of them was seen.
        at: where a list goes on behind this group.
    """

    original: StoredPage
    first: StoredPage
    size: int
    lowest: float
    highest: float
    reviewed: int
    last_seen: datetime
    at: str


class GroupList(NamedTuple):
    """Some groups of a list.

    Args:
        rows: groups in the order asked for.
        next: from where the list goes on; None at its end.
        groups: their number in the whole list.
        pairs: number of pairs in these.
    """

    rows: list[GroupRow]
    next: str | None
    groups: int
    pairs: int


class PairRow(NamedTuple):
    """A duplicate in a group, and its review with its original."""

    page: StoredPage
    review: Review | None

    def as_dict(self) -> dict[str, Any]:
        """Page as data, and whether it is reviewed."""
        return {**self.page.as_dict(), "reviewed": self.review is not None}


def groups(
    connection: Connection, asked: Asked, after: str | None = None, limit: int = GROUPS_SHOWN
) -> GroupList:
    """Read groups that have pairs that fulfil a filter. All duplicates are read.

    Args:
        connection: to the store.
        asked: the filter and the order.
        after: `next` of the list before.
        limit: at most so many.

    Raises:
        RequestError: `after` is not such a value.
    """
    sign, rank = _RANKS[asked.order]
    grouped = (
        select(
            pages.c.original_id,
            (sign * rank).label("rank"),
            func.count().label("size"),
            func.min(_resemblance).label("lowest"),
            func.max(_resemblance).label("highest"),
            func.count().filter(_is_reviewed).label("reviewed"),
            func.max(pages.c.last_seen).label("last_seen"),
            func.min(pages.c.id).label("first"),
        )
        .where(*asked.conditions)
        .group_by(pages.c.original_id)
        .subquery()
    )
    totals = func.count().over().label("total"), func.sum(grouped.c.size).over()
    found = select(grouped, totals[0], totals[1].label("pairs")).subquery()
    query = select(found).order_by(found.c.rank, found.c.original_id).limit(limit + 1)
    if after is not None:
        query = query.where(tuple_(found.c.rank, found.c.original_id) > _place(after))
    rows = connection.execute(query).all()
    pairs = pages_of(connection, [(row.original_id, row.first) for row in rows[:limit]])
    shown = [
        GroupRow(
            *pair,
            row.size,
            row.lowest,
            row.highest,
            row.reviewed,
            from_seconds(row.last_seen),
            f"{row.rank!r}_{row.original_id}",
        )
        for row, pair in zip(rows, pairs, strict=False)
    ]
    following = shown[-1].at if len(rows) > limit else None
    total, number = (rows[0].total, int(rows[0].pairs)) if rows else (0, 0)
    return GroupList(shown, following, total, number)


def _place(after: str) -> tuple[float, int]:
    """Rank and id of the last group of a list.

    Raises:
        RequestError: it is not what a list ended with.
    """
    rank, _, original_id = after.partition("_")
    try:
        place = float(rank), int(original_id)
    except ValueError:
        place = 0.0, -1
    if not 0 <= place[1] < 2**63:
        raise RequestError("the list does not go on there: begin again with its first page")
    return place


def members(
    connection: Connection,
    original: StoredPage,
    asked: Asked,
    beyond: int = 0,
    limit: int = 100,
    *,
    newest: bool = False,
) -> list[PairRow]:
    """Duplicates of an original that fulfil a filter, oldest first.

    Args:
        connection: to the store.
        original: of the group.
        asked: the filter.
        beyond: id of the page that they come after.
        limit: at most so many.
        newest: newest first, of those before that page.
    """
    page_id = pages.c.id
    place, order = (page_id < beyond, page_id.desc()) if newest else (page_id > beyond, page_id)
    query = select(page_id).where(*asked.conditions, pages.c.original_id == original.id, place)
    ids = connection.scalars(query.order_by(order).limit(limit)).all()
    read = stored_pages(connection, ids)
    found = [read[one] for one in ids if one in read]
    made = reviews_of(connection, [(original.url, page.url) for page in found])
    return [*map(PairRow, found, made)]


def least_alike(connection: Connection, limit: int) -> list[tuple[StoredPage, StoredPage]]:
    """Read the near-duplicates that are least like their originals, behind these.

    Args:
        connection: to the store.
        limit: at most so many.
    """
    value = pages.c.resemblance
    query = (
        select(pages.c.original_id, pages.c.id)
        .where(_is_duplicate, pages.c.status == "near", value.is_not(None))
        .order_by(value, pages.c.id)
        .limit(limit)
    )
    return pages_of(connection, [(row.original_id, row.id) for row in connection.execute(query)])


def pages_of(
    connection: Connection, pairs: Sequence[tuple[int, int]]
) -> list[tuple[StoredPage, StoredPage]]:
    """Originals and duplicates of these ids."""
    found = stored_pages(connection, {page_id for pair in pairs for page_id in pair})
    return [(found[a], found[b]) for a, b in pairs if a in found and b in found]


def show_groups(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """List of groups."""
    asked = asked_of(query)
    with session.reading() as connection:
        found = groups(connection, asked, query.get("after"), rows_asked(query, GROUPS_SHOWN))
    return {**found._asdict(), "next": next_rows("/groups", query, found.next)}


def show_group(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Duplicates of one original."""
    original = stored_page(Store(session), needed(query, "url"))
    after = read(query, "after", whole_number) or 0
    limit = rows_asked(query, MEMBERS_SHOWN)
    with session.reading() as connection:
        found = members(connection, original, asked_of(query), after, limit + 1)
    shown = found[:limit]
    following = shown[-1].page.id if len(found) > limit else None
    return {
        "original": original,
        "rows": shown,
        "next": next_rows("/group", query, following),
        "at": query.get("at"),
    }


def show_reviews(session: Session, query: Mapping[str, str]) -> dict[str, Any]:
    """Reviews, the last one first."""
    after = read(query, "after", whole_number) or 0
    found = Store(session).admin.reviews()
    end = after + rows_asked(query, REVIEWS_SHOWN)
    following = end if end < len(found) else None
    return {
        "rows": found[after:end],
        "total": len(found),
        "next": next_rows("/reviews", query, following),
    }


def neighbours(
    session: Session, original: StoredPage, duplicate: StoredPage, asked: Asked, at: str | None
) -> tuple[str | None, str | None]:
    """Find the addresses of the pair before, in its group, and the next, there or in the next."""

    def address(*urls: object) -> str:
        return link("/pair", [*zip(("a", "b", "at"), urls, strict=True), *asked.pairs])

    with session.reading() as connection:
        before = members(connection, original, asked, duplicate.id, 1, newest=True)
        after = members(connection, original, asked, duplicate.id, 1)
        others = groups(connection, asked, at, 1).rows if at is not None and not after else []
    found = [address(original.url, one.page.url, at) for one in (*before[:1], *after)]
    found += [address(one.original.url, one.first.url, one.at) for one in others]
    previous = found.pop(0) if before else None
    return previous, next(iter(found), None)
