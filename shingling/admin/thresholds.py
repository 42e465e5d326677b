"""What another threshold would change: pages dropped at each, and the pairs that it decides on.

A rebuild decides pages in the order of their age, each against the originals before it. Here a
page is decided by the same function, against the earlier pages that look most like it, at the
lowest threshold: the resemblance that it gives tells of all thresholds. It is a duplicate at those
at which such a page would be an original. Of a page that is looked at itself, that is known; a
near-duplicate is taken for an original above its stored resemblance, and any other page for one.

The earlier pages that look most like a page are found without the index of the store: that finds
originals, from the threshold on that it was made for. At another threshold, pairs that are less
alike count as well, and duplicates may be originals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import nsmallest
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import func, select

from shingling.rules import DEFAULT_METHOD, METHODS
from shingling.similarity.following import Following
from shingling.sketch import FUNCTIONS, Banding
from shingling.store.decide.batch import Batch
from shingling.store.decide.decide import place
from shingling.store.index import Index
from shingling.store.schema.fields import MINIMA_BYTES
from shingling.store.schema.rows import read_minima, row_from
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import LIVE, pages
from shingling.store.session import Session
from shingling.text import canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Flags, Minima, Octets
    from shingling.store.decide.batch import Decision, Met
    from shingling.store.schema.rows import Row


MAX_PAGES_SAMPLED = 1000
"""Pages that are looked at: a share of them has a standard error of 0.016 or less."""
LOWEST_THRESHOLD = 0.3
THRESHOLDS = tuple(step / 100 for step in range(30, 101))

_AT = np.array(THRESHOLDS)
MAX_LOOKALIKES = 32  # of each kind: as many candidates are measured
_PAGES_COMPARED_AT_ONCE = 4096
_IDS_READ_AT_ONCE = 10_000
_PAGES_DECIDED_AT_ONCE = 100  # their texts, and those of their lookalikes, are held in memory
_MAX_FOLLOWED = 4  # lookalikes of each kind that a page is decided against, one after another
# Equal to LIVE, but not the same: what is only looked at needs no lock against other writers.
_LOOKED_AT = replace(LIVE)
# What an exact copy looks like, the page that it copies looks like as well.
_PAGES = select(
    pages.c.id, pages.c.first_seen, pages.c.scope, pages.c.original_id, pages.c.minima
).where(pages.c.status != "exact")
_COUNTS = select(
    func.count(), func.count(pages.c.original_id), func.count().filter(pages.c.status == "exact")
)
_BY_ID = select(pages).where(among(pages.c.id))


@dataclass(frozen=True)
class CandidatePair:
    """A page and the earlier page that is most like it.

    Args:
        url: of the page.
        nearest: URL of the earlier one.
        resemblance: by which it is decided whether the page is a duplicate of it.
        ids: of both pages, the smaller one first.
    """

    url: str
    nearest: str
    resemblance: float
    ids: tuple[int, int]


@dataclass(frozen=True)
class DroppedPages:
    """Pages that are dropped at a threshold.

    Args:
        threshold: at or above which near-duplicates are dropped.
        pages: of the store, 0 or more.
        share: of all pages. By a sample of 1000 pages, it is off by 0.03 at most in 19 of 20 draws.
    """

    threshold: float
    pages: int
    share: float


@dataclass(frozen=True)
class Candidates:
    """What thresholds decide on, in a random sample of the stored pages.

    Args:
        stored: pages in the store.
        duplicates: those of them that are duplicates now.
        exact: those of them that are exact duplicates now.
        sampled: pages that were looked at: all of them, or 1000 drawn at random.
        dropped: how many pages would be dropped at 0.3, 0.31, ... 1, if all were decided again.
        pairs: pages that were looked at with the earlier page that is most like each, where a
            threshold from 0.3 on decides on the two, and their texts, without the templates of
            their sites, have words and differ in them.
        damaged: sampled pages whose signatures cannot be read.
    """

    stored: int
    duplicates: int
    exact: int
    sampled: int
    dropped: list[DroppedPages]
    pairs: list[CandidatePair]
    damaged: int = 0


def candidates(session: Session, connection: Connection, seed: int = 84) -> Candidates:
    """Find what other thresholds would change, and the pairs that they decide on.

    Args:
        session: of the store.
        connection: within a transaction of it.
        seed: of the draw.
    """
    stored, duplicates, exact = connection.execute(_COUNTS).one()
    rows = _sampled(session, connection, seed)
    sound = [row for row in rows if row is not None]
    pairs = []
    changes = np.zeros(len(THRESHOLDS), np.int64)
    for row, dropped, near in _Deciding(session, connection).decide(sound):
        changes += dropped.astype(np.int64) - (row.original_id is not None)
        if near is not None and near.original is not None:
            ids = sorted((near.original.id, row.id))
            resemblance = near.resemblance or 0.0
            pairs.append(CandidatePair(row.url, near.original.url, resemblance, (ids[0], ids[1])))
    # What the store has is counted; the share that would change is estimated (Cochran 1977).
    number = max(stored, 1)
    shares = np.clip(duplicates / number + changes / max(len(sound), 1), 0, 1).tolist()
    dropped_at = [
        DroppedPages(threshold, round(share * number), share)
        for threshold, share in zip(THRESHOLDS, shares, strict=True)
    ]
    return Candidates(
        stored, duplicates, exact, len(rows), dropped_at, pairs, len(rows) - len(sound)
    )


def _sampled(session: Session, connection: Connection, seed: int) -> list[Row | None]:
    """Rows of all pages, or of as many as are sampled, drawn at random."""
    ids = connection.scalars(select(pages.c.id), execution_options={"yield_per": _IDS_READ_AT_ONCE})
    stored = np.sort(np.fromiter(ids, np.int64))
    number = min(len(stored), MAX_PAGES_SAMPLED)
    drawn = np.random.default_rng(seed).choice(stored, number, replace=False).tolist()
    return [
        row_from(mapping, session.scheme.shingle_size)
        for part in chunked(drawn)
        for mapping in connection.execute(_BY_ID, {"values": part}).mappings()
    ]


class _Deciding:
    """Decides stored pages at all thresholds from 0.3 on; nothing is written.

    Args:
        session: of the store.
        connection: within a transaction of it.
    """

    def __init__(self, session: Session, connection: Connection) -> None:
        self._session, self._connection = session, connection
        rules = session.fitting_rules
        method = rules.method if METHODS[rules.method].threshold else DEFAULT_METHOD
        self._rules = replace(rules, method=method, threshold=LOWEST_THRESHOLD)
        at_each = [replace(self._rules, threshold=threshold) for threshold in THRESHOLDS]
        self._bandings = [Banding.for_threshold(threshold) for threshold in THRESHOLDS]
        self._worth = np.array([Following.by(one).worth for one in at_each])
        self._dropped: dict[int, Flags] = {}

    def decide(self, rows: Sequence[Row]) -> Iterator[tuple[Row, Flags, Decision | None]]:
        """Decide pages at each threshold, the oldest first.

        Yields:
            A page; whether it would be a duplicate at each of `THRESHOLDS`; and how the earlier
            page that is most like it decides on it: None where no threshold decides on the two, or
            their difference cannot be seen.
        """
        session = self._session
        ordered = sorted(rows, key=_age)
        index = Index.for_rules(replace(self._rules, threshold=1.0), session.scheme)
        # Batches are not to be written, and find no candidates.
        alone = Session(session.database, session.scheme, index, self._rules)
        least = self._worth[0]
        alike = _lookalikes(self._connection, ordered, self._rules.min_words, least)
        for start in range(0, len(ordered), _PAGES_DECIDED_AT_ONCE):
            part = slice(start, start + _PAGES_DECIDED_AT_ONCE)
            batch = Batch(alone, self._connection, self._rules, _LOOKED_AT)
            for row in ordered[part]:
                batch.admit(row)
            batch.load({page_id for one in alike[part] for ids in one for page_id in ids})
            batch.read_again_for(ordered[part])
            for row, own in zip(ordered[part], alike[part], strict=True):
                yield self._decide(row, own, batch)

    def _decide(
        self, row: Row, alike: list[list[int]], batch: Batch
    ) -> tuple[Row, Flags, Decision | None]:
        # As the page is while it is in no group.
        alone = replace(row, status="new", original_id=None, resemblance=None, containment=None)
        met = batch.meet(alone)
        met = met._replace(
            reviewed=[head for head in met.reviewed if _age(head) < _age(row)],
            same_text=[(twin, head) for twin, head in met.same_text if _age(twin) < _age(row)],
        )
        dropped, near = self._at_thresholds(alone, met, alike, batch)
        if met.reviewed or met.excluded:  # what a person has said does not change what is measured
            bare = met._replace(reviewed=[], excluded=set())
            near = self._at_thresholds(alone, bare, alike, batch)[1]
        self._dropped[row.id] = dropped
        if near is not None and near.original and not _differ(row, near.original, batch):
            near = None
        return row, dropped, near

    def _at_thresholds(
        self, row: Row, met: Met, alike: list[list[int]], batch: Batch
    ) -> tuple[Flags, Decision | None]:
        """Thresholds at which a page is a duplicate, and how the most alike page decides on it."""
        dropped = np.zeros(len(_AT), np.bool_)
        nearest: Decision | None = None
        for ids in alike:
            waiting = batch.rows_of(ids)
            for _ in range(_MAX_FOLLOWED):
                if not (waiting or met.reviewed or met.same_text or self._rules.containment):
                    break  # it meets nobody
                near = place(row, row.first_seen, batch, met._replace(candidates=waiting))
                # A page may be a piece of a later one.
                if near.original is None or _age(near.original) > _age(row):
                    break
                if near.status == "exact" or near.reason or near.resemblance is None:
                    return np.ones(len(_AT), np.bool_), None  # whatever the threshold is
                if nearest is None or near.resemblance > (nearest.resemblance or 0.0):
                    nearest = near
                at = near.resemblance >= _AT
                dropped |= at & self._finds(row, near.original) & self._is_original(near.original)
                if dropped[at].all():
                    break
                waiting.remove(near.original)
        return dropped, nearest

    def _finds(self, row: Row, other: Row) -> Flags:
        """Thresholds whose indexes find another page, and at which it is worth measuring."""
        shared = row.minima == other.minima
        by_banding = {
            one: bool(shared.reshape(one.bands, one.rows).all(axis=1).any())
            for one in {*self._bandings}
        }
        found = np.array([by_banding[one] for one in self._bandings], np.bool_)
        found[self._worth > shared.mean()] = False
        return found

    def _is_original(self, row: Row) -> Flags:
        """Thresholds at which a page is an original."""
        if row.id in self._dropped:
            return ~self._dropped[row.id]
        if row.original_id is None:
            return np.ones(len(_AT), np.bool_)
        return (1.0 if row.resemblance is None else row.resemblance) < _AT


def _differ(row: Row, other: Row, batch: Batch) -> bool:
    """Whether the texts of two pages, as they are shown, have words and differ in them."""
    words = []
    for one in (row, other):
        text = batch.texts.of(one)
        if text is None:  # no text is shown
            return True
        split = None if batch.templates is None else batch.templates.split(one.site, text)
        words.append(canonical_words(text.text if split is None else split.compared))
    return all(words) and words[0] != words[1]


def _age(page: Row) -> tuple[int, int]:
    """Sort key of pages, when all of them are decided again."""
    return page.first_seen, page.id


def _lookalikes(
    connection: Connection, rows: Sequence[Row], min_words: int, least: float
) -> list[list[list[int]]]:
    """Find the earlier pages that look most like each of some pages: all pages are read.

    Args:
        connection: to the store.
        rows: the pages.
        min_words: of a page that others are compared with.
        least: estimated resemblance from which on a page is found.

    Returns:
        For each page, the ids of those that are originals now, and of the others.
    """
    found: list[list[list[tuple[int, int]]]] = [[[], []] for _ in rows]
    query = _PAGES.where(pages.c.words >= min_words)
    query = query.execution_options(yield_per=_PAGES_COMPARED_AT_ONCE)
    with connection.execute(query) as streamed:
        for part in streamed.partitions():
            sound = [one for one in part if len(one.minima) == MINIMA_BYTES]
            minima = _bytes_of([read_minima(one.minima) for one in sound])
            ids, seen = np.array([(one.id, one.first_seen) for one in sound]).reshape(-1, 2).T
            scopes = np.array([one.scope for one in sound], object)
            is_duplicate = np.array([one.original_id is not None for one in sound])
            for row, kinds in zip(rows, found, strict=True):
                equal = (minima == _bytes_of([row.minima])).view(np.uint8)
                shared = np.add.reduce(equal, axis=0, dtype=np.uint8)
                places = np.flatnonzero(shared >= least * FUNCTIONS)
                if not len(places):
                    continue
                same_time = seen[places] == row.first_seen
                older = (seen[places] < row.first_seen) | (same_time & (ids[places] < row.id))
                places = places[older & (scopes[places] == row.scope)]
                for kind in (False, True):
                    own = places[is_duplicate[places] == kind]
                    ranked = zip(
                        (-shared[own].astype(int)).tolist(), ids[own].tolist(), strict=True
                    )
                    kinds[kind] = nsmallest(MAX_LOOKALIKES, [*kinds[kind], *ranked])
    return [[[page_id for _, page_id in kind] for kind in kinds] for kinds in found]


def _bytes_of(minima: Sequence[Minima]) -> Octets:
    """Lowest bytes of the minima of n pages, which tell nearly as much as the whole: uint8[84, n].

    Two of them are equal by chance once in 256 times; what is found is measured.
    """
    rows = np.array(minima, np.uint32).reshape(-1, FUNCTIONS)
    return np.ascontiguousarray(rows.T.astype(np.uint8))
