"""Keys on their way into a table of keys: a log-structured merge tree of two levels, for SQLite.

A page has 14 keys, as good as random: put into one large B-tree, each of them writes a block of
4 KiB of its own. So a transaction appends its keys, in 64 slices of the whole range, to the small
table `recent`; of that, a slice at a time goes into the large table, where its keys are then many
to a block (O'Neil et al., The Log-Structured Merge-Tree, 1996). What is recent is held in memory by
everybody who looks keys up; of what is in the large table, who looks up many keys holds filters.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from shingling.store.index.filter import Filter
from shingling.store.index.postings import Postings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row, Table

    from shingling.store.index.postings import Entry

    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

SLICES = 64
MOST_RECENT = 1 << 20  # entries, of 14 a page: then a slice goes into the large table
_MANY = 512  # keys from which on looking at the filters first is worth having them in memory

_BITS = 64 - (SLICES - 1).bit_length()

_STATE = text("SELECT epoch, written FROM logs WHERE owner = :owner")
_NEXT = text(
    "INSERT INTO logs (owner, epoch, written) VALUES (:owner, :epoch, 1)"
    " ON CONFLICT (owner) DO UPDATE SET epoch = logs.epoch + :epoch, written = logs.written + 1"
    " RETURNING epoch, written"
)
_ALL = text("SELECT batch, entries FROM recent WHERE owner = :owner")
_LATER = text(
    "SELECT batch, entries FROM recent WHERE owner = :owner AND slice = :slice AND batch > :batch"
)
_SLICE = text(
    "SELECT batch, entries FROM recent WHERE owner = :owner AND slice = :slice ORDER BY batch"
)
_APPEND = "INSERT INTO recent (owner, slice, batch, entries) VALUES (?, ?, ?, ?)"
_FILTERS = text("SELECT slice, count, words FROM filters WHERE owner = :owner")
_FILTER = text("SELECT count, words FROM filters WHERE owner = :owner AND slice = :slice")
_KEEP_FILTER = text(
    "INSERT INTO filters (owner, slice, count, words, merged)"
    " VALUES (:owner, :slice, :count, :words, :merged)"
    " ON CONFLICT (owner, slice) DO UPDATE SET count = :count, words = :words, merged = :merged"
)
_MERGED_LATER = text("SELECT slice FROM filters WHERE owner = :owner AND merged > :batch")
_MERGED = text("DELETE FROM recent WHERE owner = :owner AND slice = :slice")

_CLEAR = (
    text("DELETE FROM recent WHERE owner = :owner"),
    text("DELETE FROM filters WHERE owner = :owner"),
)
_MOVE = (
    text("UPDATE recent SET owner = :owner WHERE owner = :made"),
    text("UPDATE filters SET owner = :owner WHERE owner = :made"),
)
_GO_ON = text(
    "UPDATE logs SET written = (SELECT max(written) FROM logs WHERE owner IN (:owner, :made))"
    " WHERE owner = :owner"
)


class Recent:
    """The recent entries of a table of keys, in memory.

    With the large table it makes up all entries: what goes there is forgotten here.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.forget()

    def forget(self) -> None:
        """Know nothing, as at the start."""
        # Of the large table, where many keys were looked up.
        self.filters: dict[int, Filter] | None = None
        self.epoch = self.written = 0
        self.gone: set[Entry] = set()
        # Keys and pages, each sorted by key, and half as long as the ones before.
        self._parts: list[tuple[Integers, Integers]] = []
        self.sizes: Integers = np.zeros(SLICES, np.int64)

    def follow(self, connection: Connection) -> None:
        """Read what other transactions have written since the last time."""
        state = connection.execute(_STATE, {"owner": self.owner}).one_or_none()
        epoch, written = state or (0, 0)
        if (epoch, written) == (self.epoch, self.written):
            return
        # A transaction that failed has left entries here that are stored nowhere.
        if epoch != self.epoch or written < self.written or self.sizes.sum() > 2 * MOST_RECENT:
            self.forget()
        rows: list[Row[Any]] = []
        if self.written == 0:
            rows += connection.execute(_ALL, {"owner": self.owner})
        else:
            self._follow_merges(connection)
            for place in range(SLICES):
                wanted = {"owner": self.owner, "slice": place, "batch": self.written}
                rows += connection.execute(_LATER, wanted)
        rows.sort(key=lambda row: int(row.batch))
        self.epoch, self.written = epoch, written
        if rows:
            self.add(*_entries(rows))

    def _follow_merges(self, connection: Connection) -> None:
        """Forget what others have merged: all that is known of those slices is older."""
        bound = {"owner": self.owner, "batch": self.written}
        for place in connection.scalars(_MERGED_LATER, bound).all():
            self.merged(place)
            if self.filters is not None:
                (row,) = connection.execute(_FILTER, {"owner": self.owner, "slice": place})
                self.filters[place] = _filter(row[1], row[0])

    def add(self, keys: Integers, pages: Integers) -> None:
        """Take in entries, in the order in which they were written."""
        self.sizes += np.bincount(_slices(keys), minlength=SLICES)
        if self.gone or (pages < 0).any():
            for key, page in zip(keys.tolist(), pages.tolist(), strict=True):
                if page < 0:
                    self.gone.add((key, -page))
                else:
                    self.gone.discard((key, page))
            there = pages > 0
            keys, pages = keys[there], pages[there]
        if not len(keys):
            return
        part = _by_key(keys, pages)
        while self._parts and len(self._parts[-1][0]) < 2 * len(part[0]):
            keys, pages = (
                np.concatenate(both) for both in zip(self._parts.pop(), part, strict=True)
            )
            part = _by_key(keys, pages)
        self._parts.append(part)

    def merged(self, place: int) -> None:
        """Forget the entries of a slice, which are in the large table now."""
        self.sizes[place] = 0
        parts = []
        for keys, pages in self._parts:
            first, last = _bounds(keys, place)
            left = np.r_[0:first, last : len(keys)]
            if len(left):
                parts.append((keys[left], pages[left]))
        self._parts = parts
        self.gone = {entry for entry in self.gone if _slice(entry[0]) != place}

    def find(self, keys: Sequence[int]) -> Iterator[Entry]:
        """Yield the entries under sorted keys."""
        wanted = np.array(keys, np.int64)
        for stored, pages in self._parts:
            first = np.searchsorted(stored, wanted, "left")
            last = np.searchsorted(stored, wanted, "right")
            for at in np.flatnonzero(last > first).tolist():
                for page in pages[first[at] : last[at]].tolist():
                    yield keys[at], page


class RecentPostings(Postings):
    """A table of keys in SQLite, together with what is on its way into it."""

    def __init__(self, connection: Connection, table: Table, recent: Recent) -> None:
        super().__init__(connection, table)
        self._recent = recent
        recent.follow(connection)

    def _select(self, keys: Sequence[int], most: int) -> Iterable[Entry]:
        gone = self._recent.gone
        found = set(self._recent.find(keys))
        stored = self._filtered(keys) if len(keys) >= _MANY else keys
        # Bound to the oldest pages by a range of the primary key: no bucket is read further.
        query = (
            f"SELECT wanted.value, own.page_id FROM json_each(?) AS wanted"  # noqa: S608 (our table)
            f" CROSS JOIN {self._table.name} AS own ON own.key = wanted.value AND own.page_id <="
            f" ifnull((SELECT page_id FROM {self._table.name} WHERE key = wanted.value"
            " ORDER BY page_id LIMIT 1 OFFSET ?), 9223372036854775807)"
        )
        listed = f"[{','.join(map(str, stored))}]"
        rows = self._connection.exec_driver_sql(query, (listed, most - 1 + len(gone)))
        found.update((key, page_id) for key, page_id in rows)
        return _oldest(found - gone if gone else found, most)

    def _filtered(self, keys: Sequence[int]) -> Sequence[int]:
        """Return those of sorted keys that the large table may have."""
        recent = self._recent
        if recent.filters is None:
            recent.filters = {}
            for place, count, words in self._connection.execute(_FILTERS, {"owner": recent.owner}):
                recent.filters[place] = _filter(words, count)
            for place in set(range(SLICES)).difference(recent.filters):
                recent.filters[place] = self._scanned(place)
        wanted = np.array(keys, np.int64)
        cuts = np.searchsorted(_slices(wanted), np.arange(SLICES + 1)).tolist()
        return [
            key
            for place, (first, last) in enumerate(pairwise(cuts))
            for key in wanted[first:last][
                recent.filters[place].may_have(wanted[first:last])
            ].tolist()
        ]

    def _scanned(self, place: int) -> Filter:
        """Return a filter of a slice as it is in the large table."""
        first = (place - SLICES // 2) << _BITS
        query = f"SELECT key FROM {self._table.name} WHERE key BETWEEN ? AND ?"  # noqa: S608 (our table)
        bounds = first, first + (1 << _BITS) - 1
        rows = self._connection.exec_driver_sql(query, bounds)
        return Filter.for_keys(np.fromiter((key for (key,) in rows), np.int64))

    def write(self, gone: Collection[Entry], come: Collection[Entry]) -> None:
        """Append entries, and merge the largest slices where there are too many."""
        if not gone and not come:
            return
        owner = self._recent.owner
        count = len(gone) + len(come)
        keys = np.fromiter((key for key, _ in chain(gone, come)), np.int64, count)
        pages = np.fromiter((page_id for _, page_id in chain(gone, come)), np.int64, count)
        pages[: len(gone)] *= -1
        keys, pages = _by_key(keys, pages)
        epoch, batch = self._connection.execute(_NEXT, {"owner": owner, "epoch": 0}).one()
        entries = np.stack([keys, pages], axis=1)
        cuts = np.searchsorted(_slices(keys), np.arange(SLICES + 1)).tolist()
        rows = [
            (owner, place, batch, entries[first:last].tobytes())
            for place, (first, last) in enumerate(pairwise(cuts))
            if first < last
        ]
        self._connection.exec_driver_sql(_APPEND, rows)
        self._recent.epoch, self._recent.written = epoch, batch
        self._recent.add(keys, pages)
        while self._recent.sizes.sum() > MOST_RECENT:
            self._merge(int(self._recent.sizes.argmax()))

    def _merge(self, place: int) -> None:
        """Move a slice into the large table."""
        wanted = {"owner": self._recent.owner, "slice": place}
        rows = self._connection.execute(_SLICE, wanted).all()
        keys, pages = _entries(rows)
        if (pages < 0).any():
            last: dict[Entry, bool] = {}
            for key, page in zip(keys.tolist(), pages.tolist(), strict=True):
                last[key, abs(page)] = page > 0
            removed = [entry for entry, there in last.items() if not there]
            statement = f"DELETE FROM {self._table.name} WHERE key = ? AND page_id = ?"  # noqa: S608 (our table)
            if removed:
                self._connection.exec_driver_sql(statement, sorted(removed))
            come = sorted(entry for entry, there in last.items() if there)
        else:
            keys, pages = _by_key(keys, pages)
            come = [*zip(keys.tolist(), pages.tolist(), strict=True)]
        kept = self._connection.execute(_FILTER, wanted).one_or_none()
        known = None if kept is None else _filter(kept[1], kept[0])
        self._insert(come)
        if known is not None:
            known.add(np.fromiter((key for key, _ in come), np.int64, len(come)))
        if known is None or not known.has_room:
            known = self._scanned(place)
        words = known.words.tobytes()
        kept_as = {"count": known.count, "words": words, "merged": self._recent.written}
        self._connection.execute(_KEEP_FILTER, {**wanted, **kept_as})
        if self._recent.filters is not None:
            self._recent.filters[place] = known
        self._connection.execute(_MERGED, wanted)
        self._recent.merged(place)

    def clear(self) -> None:
        """Take all entries out, the recent ones as well."""
        super().clear()
        for statement in _CLEAR:
            self._connection.execute(statement, {"owner": self._recent.owner})
        self._anew()

    def take_over(self, made: Table) -> None:
        """Put the entries of another table of keys, and what is recent of it, in the place."""
        super().take_over(made)
        bound = {"owner": self._recent.owner, "made": made.name}
        for statement in _MOVE:
            self._connection.execute(statement, bound)
        self._connection.execute(_GO_ON, bound)  # no batch may have the number of one of those
        self._anew()

    def _insert(self, entries: Sequence[Entry]) -> None:
        statement = f"INSERT OR IGNORE INTO {self._table.name} (key, page_id) VALUES (?, ?)"  # noqa: S608 (our table)
        if entries:
            self._connection.exec_driver_sql(statement, entries)

    def _anew(self) -> None:
        """Have everybody read anew what is recent."""
        self._connection.execute(_NEXT, {"owner": self._recent.owner, "epoch": 1})
        self._recent.forget()
        self._recent.follow(self._connection)


def _entries(rows: Sequence[Row[Any]]) -> tuple[Integers, Integers]:
    """Return the keys and pages of rows of `recent`; pages are negative where they go."""
    both = np.frombuffer(b"".join(row.entries for row in rows), "<i8").reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def _filter(words: bytes, count: int) -> Filter:
    return Filter(np.frombuffer(words, np.uint64).copy(), count)


def _by_key(keys: Integers, pages: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(keys, kind="stable")
    return keys[order], pages[order]


def _bounds(keys: Integers, place: int) -> tuple[int, int]:
    """Return where a slice begins and ends among sorted keys."""
    first, last = np.searchsorted(_slices(keys), [place, place + 1])
    return int(first), int(last)


def _slices(keys: Integers) -> Integers:
    return (keys >> _BITS) + SLICES // 2


def _slice(key: int) -> int:
    return (key >> _BITS) + SLICES // 2


def _oldest(entries: Iterable[Entry], most: int) -> list[Entry]:
    """Return at most so many entries a key, those with the smallest ids."""
    taken: list[Entry] = []
    key, count = None, 0
    for entry in sorted(entries):
        key, count = entry[0], count + 1 if entry[0] == key else 1
        if count <= most:
            taken.append(entry)
    return taken
