"""Groups that fulfil a filter, a page of them at a time, and their pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sqlalchemy import func, select

from shingling.errors import StoreError
from shingling.store.admin.looking.pair_table import HEAD, IS_REVIEWED, grouped
from shingling.store.admin.looking.word_search import has_words
from shingling.store.admin.queries import stored_pages
from shingling.store.model import from_seconds
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

    from shingling.store.admin.looking.kept_pairs import KeptPairs
    from shingling.store.admin.looking.pair_table import Flags, GroupColumns, Ids, PairTable
    from shingling.store.model import StoredPage
    from shingling.store.session import Session


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
        total: number of groups in the whole list.
        pairs: number of pairs in these.
        not_looked_at: pairs that have not been searched for the words yet.
        read_at: when the list was read; None where nobody has changed the store since.
    """

    groups: list[GroupRow]
    next: str | None
    total: int
    pairs: int
    not_looked_at: int
    read_at: datetime | None


@dataclass(frozen=True)
class PairRow:
    """A duplicate in a group, and whether a person has reviewed it with its original."""

    page: StoredPage
    reviewed: bool


MAX_SECONDS_OF_SEARCH = 0.1  # that a list waits for what has certain words
_resemblance = func.coalesce(pages.c.resemblance, 1.0)


@dataclass(frozen=True, eq=False)
class ChosenPairs:
    """Pairs that fulfil a filter.

    Args:
        pairs: all of the store.
        rows: places of those that fulfil it, ascending.
        not_looked_at: as in `GroupList`.
        read_at: as in `GroupList`.
    """

    pairs: PairTable
    rows: Ids
    not_looked_at: int
    read_at: datetime | None

    def ranked(self, order: Order) -> tuple[GroupColumns, np.ndarray[Any, Any]]:
        """Group the pairs, and rank the groups: the lowest rank comes first."""
        columns = grouped(self.pairs, self.rows)
        ranks: dict[Order, np.ndarray[Any, Any]] = {
            "size": -columns.size,
            "resemblance": columns.lowest,
            "date": -columns.last_seen,
        }
        return columns, ranks[order]


@dataclass(frozen=True)
class FirstPairs:
    """The first pairs that fulfil a filter.

    Args:
        pairs: ids of originals and duplicates.
        groups: that these are of.
        whole_groups: of these, how many have no other pair.
        total: number of pairs that fulfil the filter.
        not_looked_at: as in `GroupList`.
    """

    pairs: list[tuple[int, int]]
    groups: int
    whole_groups: int
    total: int
    not_looked_at: int


def choose_pairs(session: Session, kept: KeptPairs, chosen: GroupFilter) -> ChosenPairs:
    """Choose the pairs that fulfil a filter.

    Args:
        session: the store.
        kept: pairs of it.
        chosen: the filter.
    """
    now = kept.current(session)
    pairs = now.pairs
    rows = np.flatnonzero(_fulfil(pairs, chosen))
    if chosen.site is not None and len(rows):
        rows = rows[np.isin(pairs.original[rows], kept.originals_of(session, chosen.site))]
    not_looked_at = 0
    if chosen.words is not None and len(rows):
        search = kept.search(chosen.words)
        have_words, not_looked_at = search.found(pairs.duplicate[rows], MAX_SECONDS_OF_SEARCH)
        rows = rows[have_words]
    return ChosenPairs(pairs, rows, not_looked_at, None if now.is_current else now.read_at)


def groups(
    session: Session,
    kept: KeptPairs,
    chosen: GroupFilter,
    after: str | None = None,
    limit: int = 50,
) -> GroupList:
    """Read groups that have pairs that fulfil a filter.

    Args:
        session: the store.
        kept: pairs of it.
        chosen: the filter and the order.
        after: `next` of the list before.
        limit: at most so many.

    Raises:
        CursorError: `after` is not such a value.
    """
    place = None if after is None else _place(after)
    found = choose_pairs(session, kept, chosen)
    columns, ranks = found.ranked(chosen.order)
    shown = _first(columns.original, ranks, place, limit + 1)
    with session.reading() as connection:
        originals = _stored(connection, columns.original[shown[:limit]])
        firsts = _stored(connection, columns.first[shown[:limit]])
    rows = [
        GroupRow(
            originals[original],
            int(columns.size[at]),
            float(columns.lowest[at]),
            float(columns.highest[at]),
            int(columns.reviewed[at]),
            from_seconds(int(columns.last_seen[at])),
            firsts[first],
            _cursor(ranks[at].item(), original),
        )
        for at in shown[:limit].tolist()
        if (original := int(columns.original[at])) in originals
        and (first := int(columns.first[at])) in firsts
    ]
    last = shown[limit - 1] if len(shown) > limit else None
    following = None if last is None else _cursor(ranks[last].item(), int(columns.original[last]))
    total, pairs = len(columns.original), len(found.rows)
    return GroupList(rows, following, total, pairs, found.not_looked_at, found.read_at)


def first_pairs(
    session: Session, kept: KeptPairs, chosen: GroupFilter, limit: int, original_id: int | None
) -> FirstPairs:
    """Choose the first pairs of the list of groups.

    Args:
        session: the store.
        kept: pairs of it.
        chosen: the filter and the order.
        limit: at most so many.
        original_id: of the group that they are of; None takes all groups.
    """
    found = choose_pairs(session, kept, chosen)
    pairs = found.pairs
    if original_id is not None:
        found = replace(found, rows=found.rows[pairs.original[found.rows] == original_id])
    columns, ranks = found.ranked(chosen.order)
    ranks_of_rows = np.repeat(ranks, columns.size)
    rows = found.rows[np.argsort(ranks_of_rows, kind="stable")[:limit]]
    own, sizes = np.unique(pairs.original[rows], return_counts=True)
    whole = [pairs.places_of(one) for one in own.tolist()]
    emptied = sum(end - start == size for (start, end), size in zip(whole, sizes, strict=True))
    return FirstPairs(
        [*zip(pairs.original[rows].tolist(), pairs.duplicate[rows].tolist(), strict=True)],
        len(own),
        int(emptied),
        len(found.rows),
        found.not_looked_at,
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
        select(pages.c.id, IS_REVIEWED.label("reviewed"))
        .join_from(pages, HEAD, pages.c.original_id == HEAD.c.id)
        .where(*_conditions(chosen), pages.c.original_id == original_id, pages.c.id > after)
        .order_by(pages.c.id)
        .limit(limit)
    )
    rows = connection.execute(query).all()
    found = stored_pages(connection, [row.id for row in rows])
    return [PairRow(page, row.reviewed) for page, row in zip(found, rows, strict=True)]


def _first(originals: Ids, ranks: np.ndarray[Any, Any], after: Any, limit: int) -> Ids:
    """Places of the first groups behind a rank and id, in order."""
    places = np.arange(len(ranks))
    if after is not None:
        rank, original = after
        places = places[(ranks > rank) | ((ranks == rank) & (originals > original))]
    if len(places) > limit:  # groups are by id, so those of one rank are in order
        bound = np.partition(ranks[places], limit - 1)[limit - 1]
        places = places[ranks[places] <= bound]
    return places[np.argsort(ranks[places], kind="stable")[:limit]]


def _fulfil(pairs: PairTable, chosen: GroupFilter) -> Flags:
    """Which pairs fulfil what is in memory of a filter."""
    flags: Flags = np.ones(len(pairs), np.bool_)
    if chosen.status is not None:
        flags &= pairs.exact == (chosen.status == "exact")
    if chosen.low is not None:
        flags &= pairs.resemblance >= chosen.low
    if chosen.high is not None:
        flags &= pairs.resemblance <= chosen.high
    if chosen.run is not None:
        flags &= pairs.run == chosen.run
    if chosen.since is not None:
        flags &= pairs.last_seen >= int(chosen.since)
    if chosen.until is not None:
        flags &= pairs.last_seen < int(chosen.until)
    if chosen.reviewed is not None:
        flags &= pairs.reviewed == chosen.reviewed
    return flags


def _conditions(chosen: GroupFilter) -> list[ColumnElement[bool]]:
    """Conditions on a duplicate and its original, `HEAD`, that a filter has."""
    conditions: list[ColumnElement[bool]] = []
    equal = ((HEAD.c.site, chosen.site), (pages.c.status, chosen.status))
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
        conditions.append(IS_REVIEWED if chosen.reviewed else ~IS_REVIEWED)
    return [*conditions, *has_words(chosen.words or "")]


def _stored(connection: Connection, ids: Iterable[int]) -> dict[int, StoredPage]:
    """Pages by their ids, without those that are gone."""
    wanted = [int(one) for one in ids]
    there = set(connection.scalars(select(pages.c.id).where(pages.c.id.in_(wanted))))
    return {page.id: page for page in stored_pages(connection, sorted(there))}


def _cursor(rank: float, original_id: int) -> str:
    return json.dumps([rank, original_id], separators=(",", ":"))


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
