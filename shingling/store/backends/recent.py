"""A table of keys in SQLite as a log-structured merge tree of two levels.

A page has 28 keys at the default threshold, which are practically random: inserted into one large
B-tree, each of them writes a block of its own. So a transaction appends its keys to the small table
`recent`, in one row. When the table is full, the largest of eight slices of the range of keys is
merged into the large table, where many of its keys share a block (O'Neil et al., The Log-Structured
Merge-Tree, 1996), and the other entries become one row. Every process that looks up keys holds the
recent entries in memory.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.store.backends.base import Postings
from shingling.store.schema.tables import execute_each, fetch_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from shingling.arrays import Integers


SLICES = 8
MAX_RECENT_ENTRIES = 1 << 19  # above it, the largest slice is merged into the large table
_ENTRIES_AT_ONCE = 1 << 16  # that are Python objects

_SLICE_BITS = 64 - (SLICES - 1).bit_length()
# Rows have entries of all slices. Those of earlier releases, which had 64, may have a slice's.
_PLACE = 64
_PLACES = str([*range(_PLACE + 1)])

_STATE = "SELECT epoch, written FROM logs WHERE owner = ?"
_NEXT = (
    "INSERT INTO logs (owner, epoch, written) VALUES (?1, ?2, 1)"
    " ON CONFLICT (owner) DO UPDATE SET epoch = logs.epoch + ?2, written = logs.written + 1"
    " RETURNING epoch, written"
)
_SINCE = (
    "SELECT entries FROM recent WHERE owner = ?"
    " AND slice IN (SELECT value FROM json_each(?)) AND batch > ? ORDER BY batch"
)
_APPEND = "INSERT INTO recent (owner, slice, batch, entries) VALUES (?, ?, ?, ?)"
_CLEAR = "DELETE FROM recent WHERE owner = ?"


class Recent:
    """The recent entries of a table of keys, in memory.

    Together with those of the large table they are all entries of the table of keys.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.forget()

    def forget(self) -> None:
        """Forget all entries, as at the start."""
        self.epoch = self.written = 0
        self.gone: dict[int, set[int]] = {}  # pages that are no longer under a key
        # Each sorted by key, and half as long as the one before.
        self._parts: list[Integers] = []
        self.sizes: Integers = np.zeros(SLICES, np.int64)

    def follow(self, connection: Connection) -> None:
        """Read the entries that other transactions have appended since the last call."""
        ((epoch, written),) = fetch_rows(connection, _STATE, self.owner) or [(0, 0)]
        if (epoch, written) == (self.epoch, self.written):
            return
        if epoch != self.epoch or written < self.written:
            self.forget()
        rows = fetch_rows(connection, _SINCE, self.owner, _PLACES, self.written)
        self.epoch, self.written = epoch, written
        if rows:
            self.add_entries(_entries(raw for (raw,) in rows))

    def add_entries(self, entries: Integers) -> None:
        """Add entries, in the order in which they were appended; a negative page id removes one."""
        self.sizes += np.bincount(_slice(entries[0]), minlength=SLICES)
        is_new = entries[1] > 0
        if self.gone or not is_new.all():
            for at, (key, page) in enumerate(entries.T.tolist()):
                if page < 0:
                    self.gone.setdefault(key, set()).add(-page)
                elif page in self.gone.get(key, ()):  # it was there before, and is there again
                    self.gone[key].remove(page)
                    is_new[at] = False
        part = _by_key(entries[:, is_new])
        while self._parts and self._parts[-1].shape[1] < 2 * part.shape[1]:
            part = _by_key(np.concatenate((self._parts.pop(), part), axis=1))
        self._parts.append(part)

    def take(self, place: int) -> tuple[Integers, Integers]:
        """Take out the entries of a slice: those that are removed, and those that were added."""
        taken = []
        for at, part in enumerate(self._parts):
            is_own = _slice(part[0]) == place
            taken.append(part[:, is_own])
            self._parts[at] = part[:, ~is_own]
        come = _by_key(np.concatenate(taken, axis=1))
        gone = {key: self.gone.pop(key) for key in [*self.gone] if _slice(key) == place}
        stays = [page not in gone.get(key, ()) for key, page in come.T.tolist()]
        self.sizes[place] = 0
        return _removed(gone), come[:, np.array(stays, np.bool_)]

    def entries(self) -> list[Integers]:
        """All entries, as `add_entries` takes them: those that were added, and then removed."""
        none: Integers = np.empty((2, 0), np.int64)
        added = np.concatenate((none, *self._parts), axis=1)
        return [added, _removed(self.gone) * [[1], [-1]]]

    def find(self, keys: Sequence[int], most: int) -> dict[int, list[int]]:
        """Find recent pages under sorted keys: the oldest of each key, or some more."""
        wanted, ids = np.array(keys, np.int64), dict[int, list[int]]()
        for stored, pages in filter(np.size, self._parts):
            first = stored.searchsorted(wanted)
            for at in np.flatnonzero(stored[first.clip(max=len(stored) - 1)] == wanted).tolist():
                last = stored.searchsorted(wanted[at], "right")
                own = pages[first[at] : last]
                enough = most + len(self.gone.get(keys[at], ()))
                if len(own) > enough:
                    own = np.partition(own, enough - 1)[:enough]
                ids.setdefault(keys[at], []).extend(own.tolist())
        return ids


class SqlitePostings(Postings):
    """A table of keys in SQLite."""

    def _select(self, keys: Sequence[int], most: int) -> Mapping[int, Collection[int]]:
        # Bound to the oldest pages by a range of the primary key: no bucket is read further.
        query = (
            f"SELECT wanted.value, own.page_id FROM json_each(?) AS wanted"  # noqa: S608 (our table)
            f" CROSS JOIN {self._table.name} AS own ON own.key = wanted.value AND own.page_id <="
            f" ifnull((SELECT page_id FROM {self._table.name} WHERE key = wanted.value"
            " ORDER BY page_id LIMIT 1 OFFSET ?), 9223372036854775807)"
        )
        ids = defaultdict[int, list[int]](list)
        listed = f"[{','.join(map(str, keys))}]"
        for key, page in fetch_rows(self._connection, query, listed, most - 1):
            ids[key].append(page)
        return ids

    def _change(self, gone: Integers, come: Integers) -> None:
        self._change_large(gone, come)

    def _change_large(self, gone: Integers, come: Integers) -> None:
        table = self._table.name
        for statement, entries in (
            (f"DELETE FROM {table} WHERE key = ? AND page_id = ?", gone),  # noqa: S608 (our table)
            (f"INSERT OR IGNORE INTO {table} (key, page_id) VALUES (?, ?)", come),  # noqa: S608 (our table)
        ):
            for first in range(0, entries.shape[1], _ENTRIES_AT_ONCE):
                keys, pages = entries[:, first : first + _ENTRIES_AT_ONCE].tolist()
                execute_each(self._connection, statement, [*zip(keys, pages, strict=True)])

    def fill(self, entries: Integers) -> None:
        """Insert many entries into the large table."""
        self._change_large(entries[:, :0], _by_key(entries))


class RecentPostings(SqlitePostings):
    """A table of keys in SQLite, together with its recent entries."""

    def __init__(self, connection: Connection, table: Table, recent: Recent) -> None:
        super().__init__(connection, table)
        self._recent = recent
        recent.follow(connection)

    def _select(self, keys: Sequence[int], most: int) -> Mapping[int, Collection[int]]:
        recent, gone = self._recent.find(keys, most), self._recent.gone
        more = max((len(gone.get(key, ())) for key in keys), default=0) if gone else 0
        for key, stored in super()._select(keys, most + more).items():
            recent.setdefault(key, []).extend(stored)
        return {key: {*pages} - gone.get(key, set()) for key, pages in recent.items()}

    def entries(self) -> Iterator[Sequence[int]]:
        """Yield all entries: those of the large table, and those that are recent."""
        gone, (added, _) = self._recent.gone, self._recent.entries()
        for key, page_id in chain(super().entries(), added.T.tolist()):
            if page_id not in gone.get(key, ()):
                yield key, page_id

    def _change(self, gone: Integers, come: Integers) -> None:
        """Append entries; if they are too many, merge slices, and write the others anew."""
        entries: Integers = np.concatenate((gone * [[1], [-1]], come), axis=1)
        if not entries.size:
            return
        recent = self._recent
        self._append(entries, epoch=0)
        recent.add_entries(entries)
        is_full = recent.sizes.sum() > MAX_RECENT_ENTRIES
        while recent.sizes.sum() > MAX_RECENT_ENTRIES:
            self._change_large(*recent.take(int(recent.sizes.argmax())))
        if is_full:
            self._write_anew()

    def _append(self, entries: Integers, *, epoch: int) -> None:
        """Append entries as the next batch, and begin a new epoch or not."""
        recent = self._recent
        (state,) = fetch_rows(self._connection, _NEXT, recent.owner, epoch)
        recent.epoch, recent.written = state
        row = recent.owner, _PLACE, recent.written, entries.T.tobytes()
        execute_each(self._connection, _APPEND, [row])

    def _write_anew(self) -> None:
        """Write all entries anew; every process reads them from the start."""
        execute_each(self._connection, _CLEAR, [(self._recent.owner,)])
        for entries in self._recent.entries():
            self._append(entries, epoch=1)

    def clear(self) -> None:
        """Remove all entries, the recent ones as well."""
        super().clear()
        self._recent.forget()
        self._write_anew()


def _entries(stored: Iterable[bytes]) -> Integers:
    """Entries in rows of `recent`; the pages of removed ones are negative."""
    return np.frombuffer(b"".join(stored), "<i8").reshape(-1, 2).T.copy()


def _removed(gone: Mapping[int, Iterable[int]]) -> Integers:
    """Entries of pages that are no longer under keys."""
    removed = [(key, page) for key, pages in gone.items() for page in pages]
    return np.array(removed, np.int64).reshape(-1, 2).T


def _by_key(entries: Integers) -> Integers:
    return entries[:, np.argsort(entries[0], kind="stable")]


def _slice(keys: Any) -> Any:
    """Slice of a key, or of each of an array of keys: 0 to 7."""
    return (keys >> _SLICE_BITS) + SLICES // 2
