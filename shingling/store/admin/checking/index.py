"""Whether the pages of a store are found by their own keys, and by no others.

Keys are compared as sums of their hashes, one for each page: a table of keys is read once for each
two million pages, and nothing else of it is held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import select, text

from shingling.sketch import fmix64, shingle_text
from shingling.store.decide.texts import unpacked
from shingling.store.index.filter import Filter
from shingling.store.index.lookup import keys_of_sample
from shingling.store.index.recent import are_entries, is_filter, slices
from shingling.store.schema.rows import row_of
from shingling.store.schema.tables import LIVE, pages, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection, Table

    from shingling.sketch import Scheme
    from shingling.store.admin.checking.findings import Findings
    from shingling.store.index.keys import Index

    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
    Sums = np.ndarray[tuple[int], np.dtype[np.uint64]]

PAGES_AT_ONCE = 2_000_000  # 48 MB of sums
_ROWS_READ_AT_ONCE, _ENTRIES_READ_AT_ONCE = 1000, 100_000
_MAX_ID = (1 << 63) - 1

_RECENT = text("SELECT entries FROM recent WHERE owner = :owner")
_FILTER = text("SELECT count, words FROM filters WHERE owner = :owner AND slice = :slice")


class IndexCheck:
    """Compares the tables of keys with what pages are to be found by.

    Args:
        connection: of a transaction that sees one state of the store.
        scheme: of the signatures.
        index: of the store.
        findings: where damage is noted.
        show: is told how many pages are done.
    """

    def __init__(
        self,
        connection: Connection,
        scheme: Scheme,
        index: Index,
        findings: Findings,
        show: Callable[[str, int], None],
    ) -> None:
        self._connection = connection
        self._scheme, self._index = scheme, index
        self._findings, self._show = findings, show

    def run(self) -> None:
        """Examine the tables of keys."""
        first = True
        after, done = -_MAX_ID, 0
        while first or after is not None:
            ids, bands, samples, known = self._expected(after, done)
            done += len(ids)
            last = int(ids[-1]) if len(ids) == PAGES_AT_ONCE else _MAX_ID
            for table, expected in ((LIVE.bands, bands), (LIVE.samples, samples)):
                if table is LIVE.samples and not self._index.sampled:
                    expected[:] = 0
                found = np.zeros(len(ids), np.uint64)
                strangers = self._add_up(table, ids, found, after, last, filters=first)
                wrong = np.flatnonzero((found != expected) & known)
                names = [f"page {ids[at]} in {table}" for at in wrong[:20].tolist()]
                self._findings.note("index", *names, number=len(wrong))
                if strangers:
                    name = f"{strangers:,} keys of pages that are not there, in {table}"
                    self._findings.note("index", name)
            if last == _MAX_ID:
                return
            after, first = last, False

    def _expected(self, after: int, done: int) -> tuple[Integers, Sums, Sums, Any]:
        """Pages after an id: their ids, sums of keys and samples, and which of these are known."""
        ids: list[Integers] = []
        bands: list[Sums] = []
        samples: list[Sums] = []
        known: list[Any] = []
        query = select(*pages.c, texts.c.zlib if self._index.sampled else text("NULL"))
        if self._index.sampled:
            query = query.join_from(pages, texts, isouter=True)
        query = query.where(pages.c.id > after).order_by(pages.c.id).limit(PAGES_AT_ONCE)
        streamed = query.execution_options(yield_per=_ROWS_READ_AT_ONCE)
        with self._connection.execute(streamed) as result:
            for part in result.partitions():
                rows = [row_of(one[:-1], self._scheme.min_comparable_words) for one in part]
                ids.append(np.array([row.id for row in rows], np.int64))
                known.append(np.array([not row.damaged for row in rows]))
                bands.append(np.zeros(len(rows), np.uint64))
                samples.append(np.zeros(len(rows), np.uint64))
                keyed = [at for at, row in enumerate(rows) if row.indexed is not None]
                own = self._index.keys([rows[at] for at in keyed]) if keyed else []
                for at, keys in zip(keyed, own, strict=True):
                    bands[-1][at] = _sum_of(keys)
                    row, packed = rows[at], part[at][-1]
                    main_text = None if packed is None else unpacked(packed)
                    if main_text is not None and row.status != "skipped":
                        shingles = shingle_text(main_text.text, self._scheme)
                        samples[-1][at] = _sum_of(keys_of_sample(shingles, row.scope))
                done += len(rows)
                self._show("keys", done)
        if not ids:
            nothing = np.zeros(0, np.uint64)
            return nothing.view(np.int64), nothing, nothing.copy(), np.zeros(0, bool)
        return (
            np.concatenate(ids),
            np.concatenate(bands),
            np.concatenate(samples),
            np.concatenate(known),
        )

    def _add_up(
        self, table: Table, ids: Integers, sums: Sums, after: int, last: int, *, filters: bool
    ) -> int:
        """Add the keys in a table to the sums of their pages.

        Returns:
            How many keys belong to no page, among those with ids from `after` to `last`.
        """
        own = sums, np.zeros(1, np.int64)
        is_sqlite = self._connection.dialect.name == "sqlite"
        for keys, owners in self._recent(table) if is_sqlite else ():
            here = (np.abs(owners) > after) & (np.abs(owners) <= last)
            _add(keys[here], owners[here], ids, *own)
        for keys, owners in self._entries(table, filters=filters and is_sqlite):
            here = (owners > after) & (owners <= last)
            _add(keys[here], owners[here], ids, *own)
        return abs(int(own[1][0]))

    def _recent(self, table: Table) -> Iterator[tuple[Integers, Integers]]:
        """Yield the entries of the log; the ids of those that are removed are negative."""
        for (entries,) in self._connection.execute(_RECENT, {"owner": table.name}):
            if are_entries(entries):
                both = np.frombuffer(entries, "<i8").reshape(-1, 2)
                yield both[:, 0], both[:, 1]
            else:
                self._findings.note("index", f"recent entries of {table}")

    def _entries(self, table: Table, *, filters: bool) -> Iterator[tuple[Integers, Integers]]:
        """Yield the entries of a table in parts, with the filters compared."""
        query = select(table.c.key, table.c.page_id).order_by(table.c.key)
        streamed = query.execution_options(yield_per=_ENTRIES_READ_AT_ONCE)
        place, kept = -1, None
        with self._connection.execute(streamed) as result:
            for part in result.partitions():
                whole = [tuple(one) for one in part if set(map(type, one)) == {int}]
                if len(whole) < len(part):
                    name = f"{len(part) - len(whole):,} entries of {table}"
                    self._findings.note("index", name)
                both = np.array(whole, np.int64).reshape(-1, 2)
                yield both[:, 0], both[:, 1]
                for own in np.unique(slices(both[:, 0])).tolist() if filters else ():
                    if own != place:
                        place, kept = own, self._filter(table, own)
                    keys = both[slices(both[:, 0]) == own, 0]
                    lacking = 0 if kept is None else int((~kept.may_have(keys)).sum())
                    if lacking:
                        name = f"filter {own} of {table} lacks {lacking:,} keys"
                        self._findings.note("index", name)

    def _filter(self, table: Table, place: int) -> Filter | None:
        bound = {"owner": table.name, "slice": place}
        row = self._connection.execute(_FILTER, bound).one_or_none()
        if row is None:
            return None
        count, words = row
        if not is_filter(words, count):
            self._findings.note("index", f"filter {place} of {table}")
            return None
        return Filter(np.frombuffer(words, np.uint64), count)


def _hashed(keys: Integers) -> Sums:
    hashed: Sums = fmix64(np.ascontiguousarray(keys).view(np.uint64))
    return hashed


def _sum_of(keys: Sequence[int]) -> np.uint64:
    own = np.array(sorted(set(keys)), np.int64)
    total: np.uint64 = _hashed(own).sum(dtype=np.uint64)
    return total


def _add(keys: Integers, owners: Integers, ids: Integers, sums: Sums, strangers: Integers) -> None:
    """Add keys to the sums of their pages, or subtract those of negative ids; count the others."""
    if not len(ids):
        strangers += np.sign(owners).sum()
        return
    places = np.minimum(np.searchsorted(ids, np.abs(owners)), len(ids) - 1)
    known = ids[places] == np.abs(owners)
    for sign in (1, -1):
        there = known & (np.sign(owners) == sign)
        values = _hashed(keys[there])
        np.add.at(sums, places[there], values if sign > 0 else np.uint64(0) - values)
    strangers += np.sign(owners[~known]).sum()
