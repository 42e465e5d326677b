"""Tables of keys, under each of which the originals are found that have it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Table

Entry = tuple[int, int]
"""A key and the id of a page."""

MAX_PAGES_PER_KEY = 128
"""Pages looked at under one key, the oldest first. Keys with more tell little: a template."""


def require_methods(cls: type) -> None:
    """Check that a class defines every abstract method of its bases.

    Called when a subclass is defined: a database that lacks a method fails when it is imported,
    not in the middle of a crawl.

    Raises:
        TypeError: methods are missing; the message names them.
    """
    names = {name for base in cls.__mro__ for name in getattr(base, "__abstractmethods__", ())}
    missing = [name for name in names if getattr(getattr(cls, name), "__isabstractmethod__", False)]
    if missing:
        raise TypeError(f"{cls.__name__} does not define {', '.join(sorted(missing))}")


class Postings(ABC):
    """A table of keys as one transaction sees it. Each database has a class of its own.

    Args:
        connection: within a transaction.
        table: with the columns `key` and `page_id`.
    """

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self._table = table

    def find(self, keys: Iterable[int], most: int = MAX_PAGES_PER_KEY) -> dict[int, list[int]]:
        """Ids of the oldest pages under each key; of one more than `most` at most."""
        wanted = sorted(set(keys))
        found = self._select(wanted, most + 1) if wanted else {}
        return {key: sorted(ids)[: most + 1] for key, ids in found.items() if ids}

    @abstractmethod
    def _select(self, keys: Sequence[int], most: int) -> Mapping[int, Collection[int]]:
        """Read the ids of pages under keys: of each key the smallest ones, or some more.

        Args:
            keys: any number of them, sorted, without repetition.
            most: ids of one key that are needed.
        """

    @abstractmethod
    def write(self, gone: Collection[Entry], come: Collection[Entry]) -> None:
        """Remove entries, and insert others that are not there."""

    def clear(self) -> None:
        """Remove all entries."""
        self._connection.execute(delete(self._table))

    def take_over(self, made: Table) -> None:
        """Replace all entries by those of another table of keys."""
        self.clear()
        ordered = select(made).order_by(made.c.key, made.c.page_id)
        self._connection.execute(insert(self._table).from_select(["key", "page_id"], ordered))
