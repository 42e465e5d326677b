"""Keys on their way into a table of keys: a log-structured merge tree of two levels, for SQLite.

A page has 14 keys, as good as random: put into one large B-tree, each of them writes a block of
4 KiB of its own. So a transaction appends its keys, in 64 slices of the whole range, to the small
table `recent`; of that, a slice at a time goes into the large table, where its keys are then many
to a block (O'Neil et al., The Log-Structured Merge-Tree, 1996). What is recent is held in
memory by everybody who looks keys up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from shingling.store._postings import Postings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Row, Table

    from shingling.store._postings import Entry

    Entries = np.ndarray[tuple[int], np.dtype[np.void]]
    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

SLICES = 64
MOST_RECENT = 1 << 20  # entries, of 14 a page: then a slice goes into the large table

# The id of a page is negative where it was taken out.
_ENTRY = np.dtype([("key", "<i8"), ("page", "<i8")])
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
_MERGED = text("DELETE FROM recent WHERE owner = :owner AND slice = :slice")


class Recent:
    """The recent entries of a table of keys, in memory.

    It may hold more than the table `recent` does: entries that have been merged since, and
    entries of pages that another process has merged. Those are found in both places.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.forget()

    def forget(self) -> None:
        """Know nothing, as at the start."""
        self.epoch = self.written = 0
        self.gone: set[Entry] = set()
        self._parts: list[Entries] = []  # each sorted by key, and half as long as that before
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
            for place in range(SLICES):
                wanted = {"owner": self.owner, "slice": place, "batch": self.written}
                rows += connection.execute(_LATER, wanted)
        rows.sort(key=lambda row: int(row.batch))
        self.epoch, self.written = epoch, written
        if rows:
            self.add(np.frombuffer(b"".join(row.entries for row in rows), _ENTRY))

    def add(self, entries: Entries) -> None:
        """Take in entries, in the order in which they were written."""
        self.sizes += np.bincount(_slices(entries["key"]), minlength=SLICES)
        come = entries
        if self.gone or (entries["page"] < 0).any():
            for key, page in entries.tolist():
                if page < 0:
                    self.gone.add((key, -page))
                else:
                    self.gone.discard((key, page))
            come = entries[entries["page"] > 0]
        if not len(come):
            return
        part = come[np.argsort(come["key"], kind="stable")]
        while self._parts and len(self._parts[-1]) < 2 * len(part):
            both = np.concatenate([self._parts.pop(), part])
            part = both[np.argsort(both["key"], kind="stable")]
        self._parts.append(part)

    def merged(self, place: int) -> None:
        """Forget the entries of a slice, which are in the large table now."""
        self.sizes[place] = 0
        left = [part[_slices(part["key"]) != place] for part in self._parts]
        self._parts = [part for part in left if len(part)]
        self.gone = {entry for entry in self.gone if _slice(entry[0]) != place}

    def find(self, keys: Sequence[int]) -> Iterator[Entry]:
        """Yield the entries under sorted keys."""
        wanted = np.array(keys, np.int64)
        for part in self._parts:
            stored = part["key"]
            first = np.searchsorted(stored, wanted, "left")
            last = np.searchsorted(stored, wanted, "right")
            for at in np.flatnonzero(last > first).tolist():
                for page in part["page"][first[at] : last[at]].tolist():
                    yield keys[at], page


class RecentPostings(Postings):
    """A table of keys in SQLite, together with what is on its way into it."""

    def __init__(self, connection: Connection, table: Table, recent: Recent) -> None:
        super().__init__(connection, table)
        self._recent = recent
        recent.follow(connection)

    def _select(self, keys: Sequence[int], most: int) -> Iterable[Entry]:
        gone = self._recent.gone
        # Bound to the oldest pages by a range of the primary key: no bucket is read further.
        query = (
            f"SELECT wanted.value, own.page_id FROM json_each(?) AS wanted"  # noqa: S608 (our table)
            f" CROSS JOIN {self._table.name} AS own ON own.key = wanted.value AND own.page_id <="
            f" ifnull((SELECT page_id FROM {self._table.name} WHERE key = wanted.value"
            " ORDER BY page_id LIMIT 1 OFFSET ?), 9223372036854775807)"
        )
        listed = f"[{','.join(map(str, keys))}]"
        found = set(self._recent.find(keys))
        rows = self._connection.exec_driver_sql(query, (listed, most - 1 + len(gone)))
        found.update((key, page_id) for key, page_id in rows)
        return _oldest(found - gone if gone else found, most)

    def write(self, gone: Collection[Entry], come: Collection[Entry]) -> None:
        """Append entries, and merge the largest slices where there are too many."""
        if not gone and not come:
            return
        owner = self._recent.owner
        changed = [(key, -page_id) for key, page_id in gone] + list(come)
        epoch, batch = self._connection.execute(_NEXT, {"owner": owner, "epoch": 0}).one()
        entries = np.array(changed, _ENTRY)
        order = np.argsort(entries["key"], kind="stable")
        entries = entries[order]
        cuts = np.searchsorted(_slices(entries["key"]), np.arange(SLICES + 1))
        self._connection.exec_driver_sql(
            _APPEND,
            [
                (owner, place, batch, entries[cuts[place] : cuts[place + 1]].tobytes())
                for place in range(SLICES)
                if cuts[place] < cuts[place + 1]
            ],
        )
        self._recent.epoch, self._recent.written = epoch, batch
        self._recent.add(entries)
        while self._recent.sizes.sum() > MOST_RECENT:
            self._merge(int(self._recent.sizes.argmax()))

    def _merge(self, place: int) -> None:
        """Move a slice into the large table."""
        wanted = {"owner": self._recent.owner, "slice": place}
        rows = self._connection.execute(_SLICE, wanted).all()
        entries = np.frombuffer(b"".join(row.entries for row in rows), _ENTRY)
        if (entries["page"] < 0).any():
            last: dict[Entry, bool] = {}
            for key, page in entries.tolist():
                last[key, abs(page)] = page > 0
            removed = [entry for entry, there in last.items() if not there]
            statement = f"DELETE FROM {self._table.name} WHERE key = ? AND page_id = ?"  # noqa: S608 (our table)
            if removed:
                self._connection.exec_driver_sql(statement, sorted(removed))
            come = sorted(entry for entry, there in last.items() if there)
        else:
            come = entries[np.argsort(entries["key"], kind="stable")].tolist()
        self._insert(come)
        self._connection.execute(_MERGED, wanted)
        self._recent.merged(place)

    def clear(self) -> None:
        """Take all entries out, the recent ones as well."""
        super().clear()
        self._connection.execute(
            text("DELETE FROM recent WHERE owner = :owner"), {"owner": self._recent.owner}
        )
        self.changed()

    def _insert(self, entries: Sequence[Entry]) -> None:
        statement = f"INSERT OR IGNORE INTO {self._table.name} (key, page_id) VALUES (?, ?)"  # noqa: S608 (our table)
        if entries:
            self._connection.exec_driver_sql(statement, entries)

    def changed(self) -> None:
        """Have everybody read anew what is recent."""
        self._connection.execute(_NEXT, {"owner": self._recent.owner, "epoch": 1})
        self._recent.forget()
        self._recent.follow(self._connection)


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
