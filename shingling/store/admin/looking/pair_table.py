"""All pairs of a store in memory: what groups are filtered and sorted by, as arrays.

To group half a million duplicates takes a database more than a second; arrays take a few
hundredths. A pair takes 50 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import product
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sqlalchemy import (
    BigInteger,
    Float,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    func,
    or_,
    select,
)

from shingling.store.schema.statements import among, chunked, select_in
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection

Ids: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

PAIRS_READ_AT_ONCE = 50_000


def _comma_separated(columns: Iterable[ColumnElement[Any]]) -> ColumnElement[str]:
    """Numbers of a row in one text, which is many times quicker to hand over than a row."""
    first, *others = (cast(column, Text) for column in columns)
    line: ColumnElement[str] = first
    for one in others:
        line = line + "," + one
    return line


# Damaged rows may have anything: SQLite makes a number of it, PostgreSQL has nothing else.
_LINE = _comma_separated(
    (
        cast(pages.c.original_id, BigInteger),
        pages.c.id,
        case((pages.c.status == "exact", 1), else_=0),
        cast(func.coalesce(pages.c.resemblance, 1.0), Float),
        cast(pages.c.last_seen, BigInteger),
        cast(func.coalesce(pages.c.run_id, 0), BigInteger),
    )
).label("line")
_COLUMNS = 6
# SQLite reads the table four times faster in its order than by the index on originals, which this
# condition does not fit.
_IS_DUPLICATE = func.coalesce(pages.c.original_id, 0) > 0
_part = (
    select(pages.c.id, _LINE)
    .where(_IS_DUPLICATE, pages.c.id > bindparam("after"))
    .order_by(pages.c.id)
    .limit(bindparam("limit"))
    .subquery()
)
_READ = select(func.aggregate_strings(_part.c.line, ","), func.max(_part.c.id))
_READ_AMONG = select(func.aggregate_strings(_LINE, ",")).where(_IS_DUPLICATE, among(pages.c.id))
_REVIEWED_URLS = select(reviews.c.a_key, reviews.c.b_key)
_BY_URL = f"SELECT url_key, id, original_id FROM {pages} WHERE url_key {{}}"  # noqa: S608 (our names)
_head = pages.alias("head")
IS_REVIEWED = exists().where(
    or_(
        and_(reviews.c.a_key == pages.c.url_key, reviews.c.b_key == _head.c.url_key),
        and_(reviews.c.b_key == pages.c.url_key, reviews.c.a_key == _head.c.url_key),
    )
)
"""Whether a page and its original, joined as `HEAD`, were reviewed."""
HEAD = _head
_REVIEWED_AMONG = (
    select(pages.c.id)
    .join_from(pages, _head, pages.c.original_id == _head.c.id)
    .where(IS_REVIEWED, among(pages.c.id))
)


class EndedError(Exception):
    """What was being read is not needed any more."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """Pairs of an original and a duplicate, by original, and in a group by age.

    Args:
        original, duplicate: ids of the pages.
        exact: whether the duplicate is an exact one.
        resemblance: of the duplicate to the original.
        last_seen: the duplicate, seconds since 1970.
        run: that stored the duplicate first; 0 where none is known.
        reviewed: whether a person has reviewed the pair.
    """

    original: Ids
    duplicate: Ids
    exact: Flags
    resemblance: Floats
    last_seen: Ids
    run: Ids
    reviewed: Flags

    @classmethod
    def read(cls, connection: Connection, has_ended: Callable[[], bool] = lambda: False) -> Self:
        """Read all pairs of a store.

        Args:
            connection: to the store.
            has_ended: whether nobody needs them any more.

        Raises:
            EndedError: nobody does.
        """
        parts: list[Floats] = []
        after: int | None = 0
        while after is not None:
            if has_ended():
                raise EndedError
            bound = {"after": after, "limit": PAIRS_READ_AT_ONCE}
            numbers, after = connection.execute(_READ, bound).one()
            parts.append(_parsed(numbers))
        return cls._of(np.concatenate(parts), _ids(_reviewed(connection)))

    @classmethod
    def _of(cls, rows: np.ndarray[Any, Any], reviewed: Ids) -> Self:
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        original, duplicate, exact, resemblance, last_seen, run = rows.T
        whole = duplicate.astype(np.int64)
        return cls(
            original.astype(np.int64),
            whole,
            exact.astype(np.bool_),
            resemblance.copy(),
            last_seen.astype(np.int64),
            run.astype(np.int64),
            np.isin(whole, reviewed),
        )

    def read_again(self, connection: Connection, ids: Iterable[int]) -> PairTable:
        """Pairs with those of some pages as they are now."""
        chosen = [*chunked(ids)]
        parts = [_parsed(connection.scalar(_READ_AMONG, {"values": part})) for part in chosen]
        reviewed = [connection.scalars(_REVIEWED_AMONG, {"values": part}).all() for part in chosen]
        if not parts:
            return self
        fresh = PairTable._of(np.concatenate(parts), _ids(one for part in reviewed for one in part))
        stay = ~np.isin(self.duplicate, _ids(one for part in chosen for one in part))
        kept = PairTable(*(getattr(self, one.name)[stay] for one in fields(self)))
        places = [
            kept._place(*pair)
            for pair in zip(fresh.original.tolist(), fresh.duplicate.tolist(), strict=True)
        ]
        columns = ((getattr(kept, one.name), getattr(fresh, one.name)) for one in fields(self))
        return PairTable(*(np.insert(old, places, new) for old, new in columns))

    def _place(self, original: int, duplicate: int) -> int:
        """Place where a pair belongs."""
        start, end = self.places_of(original)
        return start + int(np.searchsorted(self.duplicate[start:end], duplicate))

    def places_of(self, original: int) -> tuple[int, int]:
        """First place of a group, and that after its last one."""
        start, end = (np.searchsorted(self.original, original, side) for side in ("left", "right"))
        return int(start), int(end)

    def __len__(self) -> int:
        return len(self.duplicate)


@dataclass(frozen=True, eq=False)
class GroupColumns:
    """Groups of some pairs, by original.

    Args:
        original: ids.
        size: number of these pairs.
        lowest, highest: their resemblance.
        last_seen: of the duplicate seen last, seconds since 1970.
        first: id of the oldest duplicate.
        reviewed: how many of the pairs a person has reviewed.
    """

    original: Ids
    size: Ids
    lowest: Floats
    highest: Floats
    last_seen: Ids
    first: Ids
    reviewed: Ids


def grouped(pairs: PairTable, rows: Ids) -> GroupColumns:
    """Group some pairs, which are given by their places in ascending order."""
    if not len(rows):
        none, no_floats = np.empty(0, np.int64), np.empty(0)
        return GroupColumns(none, none, no_floats, no_floats, none, none, none)
    originals, resemblance = pairs.original[rows], pairs.resemblance[rows]
    starts = np.flatnonzero(np.diff(originals, prepend=-1))
    return GroupColumns(
        original=originals[starts],
        size=np.diff(starts, append=len(rows)),
        lowest=np.minimum.reduceat(resemblance, starts),
        highest=np.maximum.reduceat(resemblance, starts),
        last_seen=np.maximum.reduceat(pairs.last_seen[rows], starts),
        first=pairs.duplicate[rows[starts]],
        reviewed=np.add.reduceat(pairs.reviewed[rows].astype(np.int64), starts),
    )


def _reviewed(connection: Connection) -> Iterator[int]:
    """Ids of the duplicates that a person has reviewed with their originals."""
    pairs = [(a, b) for a, b in connection.execute(_REVIEWED_URLS) if type(a) is type(b) is bytes]
    stored: dict[bytes, list[tuple[int, int | None]]] = {}
    for key, page_id, original in select_in(connection, _BY_URL, {one for a in pairs for one in a}):
        stored.setdefault(key, []).append((page_id, original))
    for a, b in pairs:
        for (first, first_original), (second, second_original) in product(
            stored.get(a, ()), stored.get(b, ())
        ):
            if first_original == second:
                yield first
            elif second_original == first:
                yield second


def read_originals_of(connection: Connection, site: str) -> Ids:
    """Ids of the originals of a site, ascending."""
    query = select(pages.c.id).where(~_IS_DUPLICATE, pages.c.site == site).order_by(pages.c.id)
    return np.fromiter(connection.scalars(query), np.int64)


def _parsed(numbers: str | None) -> np.ndarray[Any, Any]:
    return np.fromstring(numbers or "", dtype=np.float64, sep=",").reshape(-1, _COLUMNS)


def _ids(found: Iterable[int]) -> Ids:
    return np.fromiter(found, np.int64)
