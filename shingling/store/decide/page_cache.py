"""The rows of pages that one transaction has read or made."""

from __future__ import annotations

from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from shingling.store.schema.rows import COLUMNS, row_of, url_key
from shingling.store.schema.tables import fetch_rows, select_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from sqlalchemy import Connection, Table

    from shingling.store.backends.base import Database
    from shingling.store.model import Page
    from shingling.store.schema.rows import Row

_MAX_SAME_TEXT = 64  # pages of one text that are looked at, the oldest of them
_TEXTS_AT_ONCE = 64  # in one statement
_ALL = (1 << 63) - 1  # members of a group

_ID = COLUMNS.index("id")
_by_age = attrgetter("id")


class PageCache:
    """Rows of pages, each read once, and found by their URL, their text and their original.

    It must live within one transaction: nobody else changes what it reads meanwhile.

    Args:
        database: that is read.
        connection: of the transaction.
        table: of the pages.
        fewest_words: of a text that the index has.

    Attributes:
        rows: by id.
    """

    def __init__(
        self, database: Database, connection: Connection, table: Table, fewest_words: int
    ) -> None:
        self.rows: dict[int, Row] = {}
        self._database, self._connection, self._table = database, connection, table
        self._fewest_words = fewest_words
        self._by_url: dict[tuple[str, bytes], Row] = {}
        self._by_text: dict[bytes, set[int]] = {}
        self._by_original: dict[int, set[int]] = {}
        self._referred: set[int] = set()  # originals, and pages that decided
        self._members_read: dict[int, int] = {}  # how many of the newest, by original
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        self._select = f"SELECT {columns} FROM {table.name} WHERE "  # noqa: S608 (our names)

    def load(self, ids: Iterable[int]) -> None:
        """Read rows by their ids."""
        self._read("id", {*ids} - self.rows.keys())

    def load_urls(self, keys: Iterable[bytes]) -> None:
        """Read the rows of URLs by their keys, one a scope."""
        self._read("url_key", keys)

    def load_texts(self, texts: Iterable[tuple[bytes, str]]) -> None:
        """Read the oldest rows with each of some texts, given by hash and scope.

        Any number of pages may have one text: an error page under every title. Exact duplicates are
        left out; the page that they copy is among the rows.
        """
        # The condition on the status is spelled as in the index, which is not used otherwise.
        oldest = (
            f"SELECT * FROM ({self._select}text_hash = ? AND scope = ? AND status <> 'exact'"  # noqa: S608 (our names)
            f" ORDER BY id LIMIT {_MAX_SAME_TEXT}) AS oldest"
        )
        ordered = sorted(texts)
        for start in range(0, len(ordered), _TEXTS_AT_ONCE):
            part = ordered[start : start + _TEXTS_AT_ONCE]
            query = " UNION ALL ".join([oldest] * len(part))
            self._take(fetch_rows(self._connection, query, *chain.from_iterable(part)))

    def load_referred(self) -> None:
        """Read the originals of the rows, and the pages that decided on them."""
        self.load(self._referred)

    def _read(self, column: str, values: Iterable[Any]) -> None:
        self._take(select_in(self._connection, f"{self._select}{column} {{}}", values))

    def _take(self, rows: Iterable[Sequence[Any]]) -> None:
        """Hold rows as they were read, unless they are here already."""
        for values in rows:
            if values[_ID] not in self.rows:
                self.add(row_of(values, self._fewest_words))

    def add(self, row: Row) -> None:
        """Hold a row that was made, or find one by what it has now."""
        self.rows[row.id] = row
        self._by_url[row.scope, row.url_key] = row
        self._by_text.setdefault(row.text_hash, set()).add(row.id)
        if row.original_id is not None:
            self._by_original.setdefault(row.original_id, set()).add(row.id)
            self._referred.add(row.original_id)
        if row.compared_id is not None:
            self._referred.add(row.compared_id)

    def of_page(self, page: Page) -> Row | None:
        """Row of a page that was fetched, if it is here."""
        return self.of_url(page.scope, url_key(page.url))

    def of_url(self, scope: str, key: bytes) -> Row | None:
        """Row of a URL in a scope, if it is here."""
        return self._by_url.get((scope, key))

    def with_url(self, key: bytes) -> list[Row]:
        """Rows of a URL, one a scope, which are read if need be."""
        self.load_urls([key])
        rows = (row for row in self._by_url.values() if row.url_key == key)
        return sorted(rows, key=attrgetter("scope"))

    def of_text(self, text_hash: bytes) -> list[Row]:
        """Rows that have a text, oldest first."""
        rows = map(self.rows.__getitem__, sorted(self._by_text.get(text_hash, ())))
        return [row for row in rows if row.text_hash == text_hash]

    def oldest_first(self, ids: Collection[int]) -> list[Row]:
        """Rows of these ids, which are read if need be."""
        self.load(ids)
        return sorted((self.rows[page_id] for page_id in ids if page_id in self.rows), key=_by_age)

    def members(self, original: Row, newest: int = _ALL) -> list[Row]:
        """Duplicates attached to an original, or so many of the newest; oldest first."""
        if self._members_read.get(original.id, 0) < newest:
            query = f"{self._select}original_id {{}} ORDER BY id DESC LIMIT {newest}"
            self._take(select_in(self._connection, query, [original.id]))
            if newest < _ALL or self._database.alone:  # nobody else adds to it meanwhile
                self._members_read[original.id] = newest
        ids = sorted(self._by_original.get(original.id, ()))[-newest:]
        return [row for row in map(self.rows.__getitem__, ids) if row.is_member_of(original)]

    def original(self, row: Row) -> Row:
        """Original of the row's group."""
        if row.original_id is None:
            return row
        self.load([row.original_id])
        return self.rows[row.original_id]

    def compared_with(self, row: Row) -> Row | None:
        """Find the page that decided on another one, if that is not its original."""
        if row.compared_id is None:
            return None
        self.load([row.compared_id])
        return self.rows.get(row.compared_id)

    def stored_now(self, ids: Iterable[int]) -> Iterator[Row]:
        """Read rows as they are in the database now, whatever is held here."""
        for values in select_in(self._connection, f"{self._select}id {{}}", ids):
            yield row_of(values, self._fewest_words)

    def texts_of(self, rows: Iterable[Row]) -> set[tuple[str, bytes]]:
        """Scopes and hashes of the texts that rows have, and had before they changed."""
        scopes = {row.id: row.scope for row in rows}
        return {
            (scopes[page_id], text_hash)
            for text_hash, ids in self._by_text.items()
            for page_id in ids & scopes.keys()
        }
