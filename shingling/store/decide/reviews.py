"""What reviews say of the pages of a batch."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from shingling.store.backends.base import NeedsExclusiveWriterError
from shingling.store.schema.tables import fetch_rows, select_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from shingling.store.decide.page_cache import PageCache
    from shingling.store.schema.rows import Row

_OF_URLS = "SELECT a_key, b_key, same FROM reviews WHERE {} {{}}"
_ANY = "SELECT 1 FROM reviews LIMIT 1"


class Reviews:
    """Reviews of the URLs of pages, as one transaction reads them.

    Args:
        connection: of the transaction.
        pages: that it has read.
        others_write: whether others may store pages meanwhile.
    """

    def __init__(self, connection: Connection, pages: PageCache, *, others_write: bool) -> None:
        self._connection, self._pages, self._others_write = connection, pages, others_write
        self._read: dict[bytes, dict[bytes, bool]] = {}  # of pairs of URLs

    @cached_property
    def _are_there(self) -> bool:
        return bool(fetch_rows(self._connection, _ANY))

    def read_of_urls(self, keys: Collection[bytes]) -> None:
        """Read the reviews of URLs, and the pages that they compare them with.

        Raises:
            NeedsExclusiveWriterError: there are some, and others may store a page that they name.
        """
        unread = {*keys} - self._read.keys()
        if not unread or not self._are_there:
            return
        self._read.update((key, {}) for key in unread)
        for column in ("a_key", "b_key"):
            for a, b, same in select_in(self._connection, _OF_URLS.format(column), unread):
                for key, other in ((a, b), (b, a)):
                    if key in unread:
                        self._read[key][other] = bool(same)
        others = {other for key in unread for other in self._read[key]}
        if others and self._others_write:
            raise NeedsExclusiveWriterError
        self._pages.load_urls(others)
        self._pages.load_referred()

    def pages(self, row: Row, *, same: bool) -> list[Row]:
        """Pages of the row's scope that are the same, or different, by a review; oldest first."""
        if not self._are_there:
            return []
        self.read_of_urls({row.url_key})
        rows = (
            self._pages.of_url(row.scope, key)
            for key, is_same in self._read[row.url_key].items()
            if is_same is same
        )
        return sorted((other for other in rows if other is not None), key=lambda page: page.id)
