"""Groups that fulfil a filter, a page of them at a time, and their members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import text

from shingling.admin.reviews import reviews_of
from shingling.console.options import one_of, site, time
from shingling.store.listing import TEXT_OF_PAGE, word_conditions
from shingling.store.model import DAY, from_seconds
from shingling.store.queries import stored_pages
from shingling.store.store import Store
from shingling.web.pairs import stored_page
from shingling.web.requests import (
    RequestError,
    count,
    needed_field,
    part_of,
    read_field,
    row_after,
    rows_asked,
    rows_skipped,
    share,
)
from shingling.web.shown import link

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from shingling.store.model import Review, StoredPage
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

_RESEMBLANCE = "coalesce(pages.resemblance, 1)"
# SQLite reads the table in its order, which is twice as fast as by the index on originals: this
# condition does not fit the index.
_IS_DUPLICATE = "coalesce(pages.original_id, 0) > 0"
_HEAD = "SELECT {} FROM pages AS head WHERE head.id = pages.original_id"
_TEXTS = f"{TEXT_OF_PAGE} || ' ' || ({_HEAD.format(TEXT_OF_PAGE.replace('pages', 'head'))})"
# By the URLs of reviews, of which there are few: by itself, SQLite would begin with the pages.
_IS_REVIEWED = """pages.id IN (
    SELECT own.id FROM pages AS own JOIN pages AS head ON own.original_id = head.id
    WHERE own.url_key IN (SELECT a_key FROM reviews UNION ALL SELECT b_key FROM reviews)
    AND EXISTS (SELECT 1 FROM reviews
        WHERE a_key = own.url_key AND b_key = head.url_key
        OR b_key = own.url_key AND a_key = head.url_key)
)"""
_FILTERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "site": (
        site,
        "(pages.site = :site OR pages.original_id IN (SELECT id FROM pages WHERE site = :site))",
    ),
    "duplicate_site": (site, "pages.site = :duplicate_site"),
    "original_site": (
        site,
        "pages.original_id IN (SELECT id FROM pages WHERE site = :original_site)",
    ),
    "status": (one_of("near", "exact"), "pages.status = :status"),
    "low": (share, f"{_RESEMBLANCE} >= :low"),
    "high": (share, f"{_RESEMBLANCE} <= :high"),
    "below": (share, f"{_RESEMBLANCE} < :below"),
    "run": (count, "pages.run_id = :run"),
    "since": (time, "pages.last_seen >= :since"),
    "until": (time, f"pages.last_seen < :until + {DAY}"),
    "reviewed": (one_of("yes", "no"), f"({_IS_REVIEWED}) = (:reviewed = 'yes')"),
}
"""Fields of the filter: how each is read, and the condition on duplicates that it stands for."""

_RANKS = {
    "size": "-count(*)",
    "resemblance": f"min({_RESEMBLANCE})",
    "date": "-max(pages.last_seen)",
}
"""Orders of groups: the largest first, the least alike first, the last seen first."""

_GROUPS = f"""
WITH grouped AS (
    SELECT original_id, {{rank}} AS rank, count(*) AS size, min({_RESEMBLANCE}) AS lowest,
        max({_RESEMBLANCE}) AS highest, count(*) FILTER (WHERE {_IS_REVIEWED}) AS reviewed,
        max(last_seen) AS last_seen, min(id) AS first
    FROM pages WHERE {{where}} GROUP BY original_id
), counted AS (SELECT *, count(*) OVER () AS total, sum(size) OVER () AS pairs FROM grouped)
SELECT * FROM counted WHERE (rank, original_id) > (:rank, :original)
ORDER BY rank, original_id LIMIT :limit OFFSET :skip
"""  # noqa: S608 (ours)
_MEMBERS = """
SELECT id FROM pages WHERE {where} AND id {beyond} :beyond ORDER BY id {order}
LIMIT :limit OFFSET :skip
"""
_COUNT = "SELECT count(*) FROM pages WHERE {}"
_LEAST_ALIKE = f"""
SELECT original_id, id FROM pages
WHERE {_IS_DUPLICATE} AND status = 'near' AND resemblance IS NOT NULL
ORDER BY resemblance, id LIMIT :limit
"""  # noqa: S608 (ours)


@dataclass(frozen=True)
class GroupFilter:
    """Which groups are asked for.

    Args:
        values: fields of the filter, and those that name a dry run, as they were given.
        where: SQL condition on the duplicates that are looked for, with the values in `bound`.
        order: of the groups.
    """

    values: dict[str, str]
    where: str
    bound: dict[str, Any]
    order: str

    def of_original(self, original: StoredPage) -> GroupFilter:
        """Ask for the duplicates of one original only."""
        where = f"{self.where} AND original_id = :original"
        return replace(self, where=where, bound={**self.bound, "original": original.id})


def group_filter(fields: Fields) -> GroupFilter:
    """Read which groups a query or form asks for.

    Raises:
        RequestError: a field has a value that is not accepted.
    """
    names = (*_FILTERS, "words", "order", "threshold", "audit", "list")
    given = {name: fields[name].strip() for name in names if name in fields}
    conditions, bound = word_conditions(given.get("words", ""), _TEXTS)
    for name, (kind, condition) in _FILTERS.items():
        if name in given:
            conditions.append(condition)
            bound[name] = read_field(given, name, kind)
    order = read_field(given, "order", one_of(*_RANKS)) or "size"
    return GroupFilter(given, " AND ".join([_IS_DUPLICATE, *conditions]), bound, order)


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


class PairRow(NamedTuple):
    """A duplicate in a group, and its review with its original."""

    page: StoredPage
    review: Review | None

    def as_dict(self) -> Values:
        """Page as data, and whether it is reviewed."""
        return {**self.page.as_dict(), "reviewed": self.review is not None}


def groups(
    connection: Connection, wanted: GroupFilter, after: str = "", limit: int = 50, skip: int = 0
) -> Values:
    """Read groups that have pairs that fulfil a filter. All duplicates are read.

    Args:
        connection: to the store.
        wanted: the filter and the order.
        after: `next` of the list before.
        limit: at most so many.
        skip: rows to leave out at the beginning.

    Returns:
        `rows`, each a `GroupRow`; as `next`, from where the list goes on, None at its end; and the
        numbers of all `groups` and their `pairs`.

    Raises:
        RequestError: `after` is not such a value.
    """
    rank, original = _place(after)
    query = text(_GROUPS.format(rank=_RANKS[wanted.order], where=wanted.where))
    values = {**wanted.bound, "rank": rank, "original": original, "limit": limit + 1, "skip": skip}
    rows = connection.execute(query, values).all()
    known = stored_pages(connection, {id_ for row in rows for id_ in (row.original_id, row.first)})
    shown = [
        GroupRow(
            known[row.original_id],
            known[row.first],
            row.size,
            row.lowest,
            row.highest,
            row.reviewed,
            from_seconds(row.last_seen),
            _place_of(row),
        )
        for row in rows[:limit]
    ]
    following = _place_of(rows[limit - 1]) if len(rows) > limit else None
    total, number = (rows[0].total, int(rows[0].pairs)) if rows else (0, 0)
    return {"rows": shown, "next": following, "groups": total, "pairs": number}


def _place_of(row: Any) -> str:
    """Where a list goes on behind a group."""
    return f"{row.rank!r}_{row.original_id}"


def _place(after: str) -> tuple[float, int]:
    """Rank and id of the last group of a list; of none, what is before all groups.

    Raises:
        RequestError: it is not what a list ended with.
    """
    rank, _, original_id = (after or "-inf_0").partition("_")
    try:
        place = float(rank), int(original_id)
    except ValueError:
        place = 0.0, -1
    if not 0 <= place[1] < 2**63:
        raise RequestError("the list does not go on there: begin again with its first page")
    return place


def members(
    connection: Connection,
    wanted: GroupFilter,
    beyond: int = 0,
    limit: int = 100,
    *,
    skip: int = 0,
    newest: bool = False,
) -> list[PairRow]:
    """Duplicates that fulfil a filter, oldest first.

    Args:
        connection: to the store.
        wanted: the filter.
        beyond: id of the page that they come after.
        limit: at most so many.
        skip: rows to leave out at the beginning.
        newest: newest first, of those before that page.
    """
    beside, order = ("<", "DESC") if newest else (">", "ASC")
    query = text(_MEMBERS.format(where=wanted.where, beyond=beside, order=order))
    ids = connection.scalars(
        query, {**wanted.bound, "beyond": beyond, "limit": limit, "skip": skip}
    ).all()
    known = stored_pages(connection, ids)
    pages = [known[id_] for id_ in ids]
    reviews = reviews_of(connection, [(str(page.original), page.url) for page in pages])
    return [*map(PairRow, pages, reviews)]


def least_alike(connection: Connection, limit: int) -> list[tuple[StoredPage, StoredPage]]:
    """Read the near-duplicates that are least like their originals, behind these."""
    pairs = connection.execute(text(_LEAST_ALIKE), {"limit": limit}).all()
    known = stored_pages(connection, {id_ for pair in pairs for id_ in pair})
    return [(known[a], known[b]) for a, b in pairs]


def show_groups(session: Session, query: Fields) -> Values:
    """List of groups."""
    wanted = group_filter(query)
    with session.reading() as connection:
        listed = groups(
            connection, wanted, query.get("after", ""), rows_asked(query), rows_skipped(query)
        )
    return {**listed, "wanted": wanted}


def show_group(session: Session, query: Fields) -> Values:
    """Duplicates of one original."""
    original = stored_page(Store(session), needed_field(query, "url"))
    wanted = group_filter(query)
    return {
        "wanted": wanted,
        "original": original,
        **_pairs(session, wanted.of_original(original), query),
    }


def show_pairs(session: Session, query: Fields) -> Values:
    """Duplicates that fulfil a filter, each with its original."""
    wanted = group_filter({**query, "list": "pairs"})
    return {"wanted": wanted, "original": None, **_pairs(session, wanted, query)}


def _pairs(session: Session, wanted: GroupFilter, query: Fields) -> Values:
    """Take some duplicates, where their list goes on, and the number of all."""
    limit, skip = rows_asked(query), rows_skipped(query)
    with session.reading() as connection:
        matches = members(connection, wanted, row_after(query), limit + 1, skip=skip)
        total = connection.scalar(text(_COUNT.format(wanted.where)), wanted.bound)
    following = matches[limit - 1].page.id if len(matches) > limit else None
    return {"rows": matches[:limit], "next": following, "total": total}


def show_reviews(session: Session, query: Fields) -> Values:
    """Reviews, the last one first."""
    return part_of(Store(session).admin.reviews(), query)


def pair_address(a: str, b: str, place: str | None, wanted: GroupFilter) -> str:
    """Address of a pair of URLs, of a group that is at a place of a list."""
    return link("/pair", {"a": a, "b": b, "at": place, **wanted.values})


def neighbours(
    session: Session,
    original: StoredPage,
    duplicate: StoredPage,
    wanted: GroupFilter,
    at: str | None,
) -> tuple[str | None, ...]:
    """Find the addresses of the pairs before and after one: in its group, or the list of pairs."""
    listed = wanted if "list" in wanted.values else wanted.of_original(original)
    with session.reading() as connection:
        before = members(connection, listed, duplicate.id, 1, newest=True)
        after = members(connection, listed, duplicate.id, 1)
    return tuple(
        next((pair_address(str(row.page.original), row.page.url, at, wanted) for row in rows), None)
        for rows in (before, after)
    )
