"""A table of keys in SQLite as a log-structured merge tree of two levels.

A page has 28 keys at the default threshold, which are practically random: inserted into one large
B-tree, each of them writes a block of 4 KiB. So a transaction appends its keys to the small table
`recent`, divided into 64 slices of their range. When that is full, its largest slice is merged into
the large table, where many of its keys share a block (O'Neil et al., The Log-Structured Merge-Tree,
1996). Every process that looks up keys holds the recent entries in memory; one that looks up many
keys at once also holds Bloom filters of the large table.
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
MAX_RECENT_ENTRIES = 1 << 20  # above it, the largest slice is merged into the large table
_ENTRY_BYTES = 16
_MIN_FILTERED_KEYS = 512  # looked up at once; fewer are not worth reading the filters

_SLICE_BITS = 64 - (SLICES - 1).bit_length()

_STATE = text("SELECT epoch, written FROM logs WHERE owner = :owner")
_NEXT_BATCH = text(
    "INSERT INTO logs (owner, epoch, written) VALUES (:owner, :epoch, 1)"
    " ON CONFLICT (owner) DO UPDATE SET epoch = logs.epoch + :epoch, written = logs.written + 1"
    " RETURNING epoch, written"
)
_ALL = text("SELECT batch, entries FROM recent WHERE owner = :owner")
_SINCE = text(
    "SELECT batch, entries FROM recent WHERE owner = :owner AND slice = :slice AND batch > :batch"
)
_SLICE = text(
    "SELECT batch, entries FROM recent WHERE owner = :owner AND slice = :slice ORDER BY batch"
)
_APPEND = "INSERT INTO recent (owner, slice, batch, entries) VALUES (?, ?, ?, ?)"
_FILTERS = text("SELECT slice, count, words FROM filters WHERE owner = :owner")
_FILTER = text("SELECT count, words FROM filters WHERE owner = :owner AND slice = :slice")
_STORE_FILTER = text(
    "INSERT INTO filters (owner, slice, count, words, merged)"
    " VALUES (:owner, :slice, :count, :words, :merged)"
    " ON CONFLICT (owner, slice) DO UPDATE SET count = :count, words = :words, merged = :merged"
)
_MERGED_SINCE = text("SELECT slice FROM filters WHERE owner = :owner AND merged > :batch")
_DROP_MERGED = text("DELETE FROM recent WHERE owner = :owner AND slice = :slice")

_CLEAR = (
    text("DELETE FROM recent WHERE owner = :owner"),
    text("DELETE FROM filters WHERE owner = :owner"),
)
_MOVE = (
    text("UPDATE recent SET owner = :owner WHERE owner = :made"),
    text("UPDATE filters SET owner = :owner WHERE owner = :made"),
)
_CONTINUE_NUMBERS = text(
    "UPDATE logs SET written = (SELECT max(written) FROM logs WHERE owner IN (:owner, :made))"
    " WHERE owner = :owner"
)


class Recent:
    """The recent entries of a table of keys, in memory.

    Together with those of the large table they are all entries of the table of keys.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.forget()

    def forget(self) -> None:
        """Forget all entries, as at the start."""
        # Of the large table, where many keys were looked up.
        self.filters: dict[int, Filter] | None = None
        self.epoch = self.written = 0
        self.gone: set[Entry] = set()
        # Keys and pages, each sorted by key, and half as long as the ones before.
        self._parts: list[tuple[Integers, Integers]] = []
        self.sizes: Integers = np.zeros(SLICES, np.int64)

    def follow(self, connection: Connection) -> None:
        """Read the entries that other transactions have appended since the last call."""
        state = connection.execute(_STATE, {"owner": self.owner}).one_or_none()
        epoch, written = state or (0, 0)
        if (epoch, written) == (self.epoch, self.written):
            return
        # A transaction that failed has left entries here that are stored nowhere.
        too_many = self.sizes.sum() > 2 * MAX_RECENT_ENTRIES
        if epoch != self.epoch or written < self.written or too_many:
            self.forget()
        rows: list[Row[Any]] = []
        if self.written == 0:
            rows += connection.execute(_ALL, {"owner": self.owner})
        else:
            self._follow_merges(connection)
            for place in range(SLICES):
                wanted = {"owner": self.owner, "slice": place, "batch": self.written}
                rows += connection.execute(_SINCE, wanted)
        rows.sort(key=lambda row: int(row.batch))
        self.epoch, self.written = epoch, written
        if rows:
            self.add(*_entries(rows))

    def _follow_merges(self, connection: Connection) -> None:
        """Forget slices that others have merged: all known entries of those are older."""
        bound = {"owner": self.owner, "batch": self.written}
        for place in connection.scalars(_MERGED_SINCE, bound).all():
            self.merged(place)
            if self.filters is not None:
                (row,) = connection.execute(_FILTER, {"owner": self.owner, "slice": place})
                kept = _filter(row[1], row[0])
                if kept is None:
                    self.filters = None
                else:
                    self.filters[place] = kept

    def add(self, keys: Integers, pages: Integers) -> None:
        """Add entries, in the order in which they were appended; a negative page id removes one."""
        self.sizes += np.bincount(slices(keys), minlength=SLICES)
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
        """Forget the entries of a slice, which is in the large table now."""
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
        """Yield the recent entries under sorted keys."""
        wanted = np.array(keys, np.int64)
        for stored, pages in self._parts:
            first = np.searchsorted(stored, wanted, "left")
            last = np.searchsorted(stored, wanted, "right")
            for at in np.flatnonzero(last > first).tolist():
                for page in pages[first[at] : last[at]].tolist():
                    yield keys[at], page


class RecentPostings(Postings):
    """A table of keys in SQLite, together with its recent entries."""

    def __init__(self, connection: Connection, table: Table, recent: Recent) -> None:
        super().__init__(connection, table)
        self._recent = recent
        recent.follow(connection)

    def _select(self, keys: Sequence[int], most: int) -> Iterable[Entry]:
        gone = self._recent.gone
        found = set(self._recent.find(keys))
        stored = self._filtered(keys) if len(keys) >= _MIN_FILTERED_KEYS else keys
        # Bound to the oldest pages by a range of the primary key: no bucket is read further.
        query = (
            f"SELECT wanted.value, own.page_id FROM json_each(?) AS wanted"  # noqa: S608 (our table)
            f" CROSS JOIN {self._table.name} AS own ON own.key = wanted.value AND own.page_id <="
            f" ifnull((SELECT page_id FROM {self._table.name} WHERE key = wanted.value"
            " ORDER BY page_id LIMIT 1 OFFSET ?), 9223372036854775807)"
        )
        listed = f"[{','.join(map(str, stored))}]"
        rows = self._connection.exec_driver_sql(query, (listed, most - 1 + len(gone)))
        found.update(map(tuple, rows.all()))
        return _oldest(found - gone if gone else found, most)

    def _filtered(self, keys: Sequence[int]) -> Sequence[int]:
        """Select those of sorted keys that the large table may have."""
        recent = self._recent
        if recent.filters is None:
            recent.filters = {}
            for place, count, words in self._connection.execute(_FILTERS, {"owner": recent.owner}):
                kept = _filter(words, count)
                if kept is not None:
                    recent.filters[place] = kept
            for place in set(range(SLICES)).difference(recent.filters):
                recent.filters[place] = self._scanned(place)
        wanted = np.array(keys, np.int64)
        cuts = np.searchsorted(slices(wanted), np.arange(SLICES + 1)).tolist()
        return [
            key
            for place, (first, last) in enumerate(pairwise(cuts))
            for key in wanted[first:last][
                recent.filters[place].may_have(wanted[first:last])
            ].tolist()
        ]

    def _scanned(self, place: int) -> Filter:
        """Make a filter of a slice from the large table."""
        first = (place - SLICES // 2) << _SLICE_BITS
        query = f"SELECT key FROM {self._table.name} WHERE key BETWEEN ? AND ?"  # noqa: S608 (our table)
        bounds = first, first + (1 << _SLICE_BITS) - 1
        keys = self._connection.exec_driver_sql(query, bounds).scalars().all()
        return Filter.for_keys(np.array(keys, np.int64))

    def write(self, gone: Collection[Entry], come: Collection[Entry]) -> None:
        """Append entries, and merge the largest slices while there are too many."""
        if not gone and not come:
            return
        owner = self._recent.owner
        count = len(gone) + len(come)
        keys = np.fromiter((key for key, _ in chain(gone, come)), np.int64, count)
        pages = np.fromiter((page_id for _, page_id in chain(gone, come)), np.int64, count)
        pages[: len(gone)] *= -1
        keys, pages = _by_key(keys, pages)
        epoch, batch = self._connection.execute(_NEXT_BATCH, {"owner": owner, "epoch": 0}).one()
        entries = np.stack([keys, pages], axis=1)
        cuts = np.searchsorted(slices(keys), np.arange(SLICES + 1)).tolist()
        rows = [
            (owner, place, batch, entries[first:last].tobytes())
            for place, (first, last) in enumerate(pairwise(cuts))
            if first < last
        ]
        self._connection.exec_driver_sql(_APPEND, rows)
        self._recent.epoch, self._recent.written = epoch, batch
        self._recent.add(keys, pages)
        while self._recent.sizes.sum() > MAX_RECENT_ENTRIES:
            self._merge(int(self._recent.sizes.argmax()))

    def _merge(self, place: int) -> None:
        """Merge the recent entries of a slice into the large table."""
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
        self._connection.execute(_STORE_FILTER, {**wanted, **kept_as})
        if self._recent.filters is not None:
            self._recent.filters[place] = known
        self._connection.execute(_DROP_MERGED, wanted)
        self._recent.merged(place)

    def clear(self) -> None:
        """Remove all entries, the recent ones as well."""
        super().clear()
        for statement in _CLEAR:
            self._connection.execute(statement, {"owner": self._recent.owner})
        self._restart()

    def take_over(self, made: Table) -> None:
        """Replace all entries by those of another table of keys, the recent ones as well."""
        super().take_over(made)
        bound = {"owner": self._recent.owner, "made": made.name}
        for statement in _MOVE:
            self._connection.execute(statement, bound)
        self._connection.execute(_CONTINUE_NUMBERS, bound)  # no number of a batch is used twice
        self._restart()

    def _insert(self, entries: Sequence[Entry]) -> None:
        statement = f"INSERT OR IGNORE INTO {self._table.name} (key, page_id) VALUES (?, ?)"  # noqa: S608 (our table)
        if entries:
            self._connection.exec_driver_sql(statement, entries)

    def _restart(self) -> None:
        """Begin a new epoch: every process reads the recent entries from the start."""
        self._connection.execute(_NEXT_BATCH, {"owner": self._recent.owner, "epoch": 1})
        self._recent.forget()
        self._recent.follow(self._connection)


def _entries(rows: Sequence[Row[Any]]) -> tuple[Integers, Integers]:
    """Keys and pages in rows of `recent`; the pages of removed entries are negative.

    Rows that are no entries, in a damaged store, are left out.
    """
    whole = (row.entries for row in rows if are_entries(row.entries))
    both = np.frombuffer(b"".join(whole), "<i8").reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def are_entries(raw: object) -> bool:
    """Whether a value may be entries of `recent`."""
    return type(raw) is bytes and len(raw) > 0 and len(raw) % _ENTRY_BYTES == 0


def is_filter(words: object, count: object) -> bool:
    """Whether values may be those of a filter."""
    whole = type(words) is bytes and len(words) > 0 and len(words) % 8 == 0
    return whole and type(count) is int and count >= 0


def _filter(words: bytes, count: int) -> Filter | None:
    """Filter as it is stored; None where it is damaged."""
    if not is_filter(words, count):
        return None
    return Filter(np.frombuffer(words, np.uint64).copy(), count)


def _by_key(keys: Integers, pages: Integers) -> tuple[Integers, Integers]:
    order = np.argsort(keys, kind="stable")
    return keys[order], pages[order]


def _bounds(keys: Integers, place: int) -> tuple[int, int]:
    """First and last place of a slice among sorted keys."""
    first, last = np.searchsorted(slices(keys), [place, place + 1])
    return int(first), int(last)


def slices(keys: Integers) -> Integers:
    """Slice of each key: 0 to 63."""
    return (keys >> _SLICE_BITS) + SLICES // 2


def _slice(key: int) -> int:
    return (key >> _SLICE_BITS) + SLICES // 2


def _oldest(entries: Iterable[Entry], most: int) -> list[Entry]:
    """Entries with the smallest ids, at most `most` of each key."""
    taken: list[Entry] = []
    key, count = None, 0
    for entry in sorted(entries):
        key, count = entry[0], count + 1 if entry[0] == key else 1
        if count <= most:
            taken.append(entry)
    return taken
