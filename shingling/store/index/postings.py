"""A table of keys, under each of which originals are found."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import Connection, Table

Entry = tuple[int, int]
"""A key and the id of a page."""

MOST = 128
"""Pages looked at under one key, the oldest first. Keys with more tell little: a template."""


class Postings:
    """A table of keys as one transaction sees it. This one is for PostgreSQL."""

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self._table = table

    def find(self, keys: Iterable[int], most: int = MOST) -> dict[int, list[int]]:
        """Return the ids of the oldest pages under keys; of one more than `most` at most."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        wanted = sorted(set(keys))
        if wanted:
            for key, page_id in self._select(wanted, most + 1):
                found[key].append(page_id)
        for ids in found.values():
            ids.sort()
        return found

    def _select(self, keys: Sequence[int], most: int) -> Iterable[Entry]:
        query = text(
            "SELECT wanted.key, found.page_id FROM unnest(CAST(:keys AS bigint[])) AS wanted(key),"  # noqa: S608 (our table)
            f" LATERAL (SELECT page_id FROM {self._table.name} AS own WHERE own.key = wanted.key"
            " ORDER BY page_id LIMIT :most) AS found"
        )
        found = self._connection.execute(query, {"keys": list(keys), "most": most})
        return ((key, page_id) for key, page_id in found)

    def write(self, gone: Collection[Entry], come: Collection[Entry]) -> None:
        """Take entries out, and put others in."""
        name = self._table.name
        rows = "unnest(CAST(:keys AS bigint[]), CAST(:ids AS bigint[]))"
        if gone:
            self._connection.execute(
                text(
                    f"DELETE FROM {name} USING {rows} AS old(key, page_id)"  # noqa: S608 (our table)
                    f" WHERE {name}.key = old.key AND {name}.page_id = old.page_id"
                ),
                _columns(gone),
            )
        if come:
            self._connection.execute(
                text(f"INSERT INTO {name} (key, page_id) SELECT * FROM {rows}"),  # noqa: S608 (our table)
                _columns(come),
            )

    def clear(self) -> None:
        """Take all entries out."""
        self._connection.execute(delete(self._table))

    def take_over(self, made: Table) -> None:
        """Put the entries of another table of keys in the place of these."""
        self.clear()
        ordered = select(made).order_by(made.c.key, made.c.page_id)
        self._connection.execute(insert(self._table).from_select(["key", "page_id"], ordered))


def _columns(entries: Collection[Entry]) -> dict[str, list[int]]:
    """Return entries in key order: neighbours in the index are written together."""
    ordered = sorted(entries)
    return {"keys": [key for key, _ in ordered], "ids": [page_id for _, page_id in ordered]}
