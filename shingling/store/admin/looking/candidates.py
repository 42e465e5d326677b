"""Pairs that a threshold decides on: pages with their nearest earlier pages, and reviewed pairs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import and_, func, select

from shingling.store.schema.rows import row_from
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, reviews

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

MAX_PAGES_SAMPLED = 1000
MAX_REVIEWS_READ = 5000
"""Reviews that are read, the newest ones."""

_MAX_CANDIDATES_PER_PAGE = 32  # estimated, those with the most keys in common
_PAGES_LOOKED_UP_AT_ONCE = 100
_IDS_DRAWN_PER_PAGE = 2  # some ids are of pages that are gone

_BY_ID = select(pages).where(among(pages.c.id))
_first, _second = pages.alias("first"), pages.alias("second")
# The exact hashes tell pairs that no threshold decides on.
_REVIEWED = (
    select(reviews.c.same, _first.c.id, _second.c.id)
    .join_from(reviews, _first, _first.c.url_key == reviews.c.a_key)
    .join(_second, and_(_second.c.url_key == reviews.c.b_key, _second.c.scope == _first.c.scope))
    .where(_first.c.text_hash != _second.c.text_hash)
    .order_by(reviews.c.created.desc(), reviews.c.a_key, reviews.c.b_key)
    .limit(MAX_REVIEWS_READ)
)


@dataclass(frozen=True)
class CandidatePair:
    """A page and the earlier page that looks most like it.

    Args:
        url: of the page.
        nearest: URL of the earlier one.
        resemblance: of the whole texts, estimated from their minima.
        reviewed: whether a person has said whether they are the same; None: not asked yet.
        ids: of both pages, the earlier one first.
    """

    url: str
    nearest: str
    resemblance: float
    reviewed: bool | None
    ids: tuple[int, int]


@dataclass(frozen=True)
class Candidates:
    """What a threshold decides on, in a random sample of the stored pages.

    Args:
        stored: pages in the store.
        sampled: pages that were looked at: all of them, or 1000 drawn at random.
        exact: of these, those that have the text of another one, whatever the threshold is.
        pairs: of the others, those for which an earlier page was found.
        reviews: estimated resemblance and answer of the reviewed pairs of stored pages with
            different texts, the newest first: at most 5000, sampled or not.
        damaged: sampled pages whose signatures cannot be read.
    """

    stored: int
    sampled: int
    exact: int
    pairs: list[CandidatePair]
    reviews: list[tuple[float, bool]]
    damaged: int = 0


def candidates(session: Session, connection: Connection, seed: int = 84) -> Candidates:
    """Find the pairs that a threshold decides on, by the stored signatures.

    For each sampled page these are looked at: its original, and the earlier originals of its
    scope that the index finds by its keys, as in a crawl; of many, the 32 with the most keys in
    common. A pair that shares no key is not found: with the 28 bands of 3 minima of the default
    threshold, 98 % of the pairs of a resemblance of 0.5 are found, 84 % at 0.4, 54 % at 0.3.
    Duplicates are not looked for, so at a higher threshold than the store's, a page may have a
    nearer one that would then be an original. Templates and titles are not considered.

    Args:
        session: of the store.
        connection: within a transaction of it.
        seed: of the draw.
    """
    stored = connection.scalar(select(func.count()).select_from(pages)) or 0
    rows = _sampled(session, connection, seed)
    answers = reviewed_pairs(connection)
    reviewed = pair_estimates(session, connection, answers)
    pairs = []
    waiting = [row for row in rows if row.status != "exact" and _is_comparable(row, session)]
    for start in range(0, len(waiting), _PAGES_LOOKED_UP_AT_ONCE):
        part = waiting[start : start + _PAGES_LOOKED_UP_AT_ONCE]
        for row, nearest in _with_nearest(session, connection, part):
            ids = (min(row.id, nearest.id), max(row.id, nearest.id))
            resemblance = _estimate(row, nearest)
            pairs.append(CandidatePair(row.url, nearest.url, resemblance, answers.get(ids), ids))
    exact = sum(row.status == "exact" for row in rows)
    damaged = sum(row.damaged for row in rows)
    told = [(reviewed[ids], same) for ids, same in answers.items() if ids in reviewed]
    return Candidates(stored, len(rows), exact, pairs, told, damaged)


def _sampled(session: Session, connection: Connection, seed: int) -> list[Row]:
    """Rows of all pages, or of as many as are sampled, drawn at random, by their ids."""
    last = connection.scalar(select(func.max(pages.c.id))) or 0
    number = min(last, _IDS_DRAWN_PER_PAGE * MAX_PAGES_SAMPLED)
    ids = random.Random(seed).sample(range(1, last + 1), number)  # noqa: S311 (no secret)
    rows = _read(session, connection, ids)
    return [rows[page_id] for page_id in ids if page_id in rows][:MAX_PAGES_SAMPLED]


def _read(session: Session, connection: Connection, ids: Iterable[int]) -> dict[int, Row]:
    """Rows by their ids; those that are damaged are noted."""
    found = {}
    for part in chunked(ids):
        for mapping in connection.execute(_BY_ID, {"values": part}).mappings():
            row = row_from(mapping, session.scheme.shingle_size)
            if row.damaged:
                session.database.damage.note(row.id, row.url, "signature")
            found[row.id] = row
    return found


def _is_comparable(row: Row, session: Session) -> bool:
    """Whether a page has a signature that tells something."""
    return not row.damaged and row.words >= session.scheme.shingle_size


def _with_nearest(
    session: Session, connection: Connection, rows: Sequence[Row]
) -> Iterator[tuple[Row, Row]]:
    """Yield rows with the row of the earlier page that looks most like it, where there is one."""
    bands = session.bands(connection)
    probes = session.index.probes(rows, session.fitting_rules)
    found = bands.find(key for keys in probes for key in keys)
    earlier = []
    for row, keys in zip(rows, probes, strict=True):
        shared = Counter(page_id for key in set(keys) for page_id in found.get(key, ()))
        ranked = sorted(shared, key=lambda page_id: (-shared[page_id], page_id))
        ids = [page_id for page_id in ranked if page_id < row.id][:_MAX_CANDIDATES_PER_PAGE]
        earlier.append(ids if row.original_id is None else [row.original_id, *ids])
    others = _read(session, connection, (page_id for ids in earlier for page_id in ids))
    for row, ids in zip(rows, earlier, strict=True):
        fitting = [
            others[page_id]
            for page_id in ids
            if page_id in others and _are_compared(row, others[page_id], session)
        ]
        if fitting:
            yield row, max(fitting, key=lambda other: (_estimate(row, other), -other.id))


def _are_compared(row: Row, other: Row, session: Session) -> bool:
    return (
        row.scope == other.scope
        and _is_comparable(other, session)
        and row.text_hash != other.text_hash
        and not row.is_of_page_of(other)
    )


def _estimate(row: Row, other: Row) -> float:
    return float(np.mean(row.minima == other.minima))


def reviewed_pairs(connection: Connection) -> dict[tuple[int, int], bool]:
    """Answers of the reviewed pairs of stored pages by their ids, the newest first: at most 5000.

    Those with the same text are left out, since no threshold decides on them.
    """
    return {
        (min(ids), max(ids)): same
        for same, *ids in connection.execute(_REVIEWED)
        if type(same) is bool
    }


def pair_estimates(
    session: Session, connection: Connection, pairs: Iterable[tuple[int, int]]
) -> dict[tuple[int, int], float]:
    """Estimated resemblances of pairs by the ids of their pages.

    Pairs of which a page is gone, is damaged, or has no whole shingle, are left out.

    Args:
        session: of the store.
        connection: within a transaction of it.
        pairs: ids of stored pages.
    """
    asked = list(pairs)
    rows = _read(session, connection, (page_id for pair in asked for page_id in pair))
    present = [(rows[a], rows[b]) for a, b in asked if a in rows and b in rows]
    return {
        (first.id, second.id): _estimate(first, second)
        for first, second in present
        if _is_comparable(first, session) and _is_comparable(second, session)
    }
