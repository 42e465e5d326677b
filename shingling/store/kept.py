"""What rooms keep in a store besides pages: it is exported, checked and forgotten with them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from shingling.rooms import offered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Table

    from shingling.store.schema.checks import Check


class KeptRows(Protocol):
    """Rows of a room in a store: what the function `kept_rows` of its module `room` makes."""

    kind: str
    """Of its records in an export."""

    fields: Mapping[str, Check]
    """Of these records, with what they may be."""

    damage: tuple[str, str]
    """Kind of a finding of a check, and what was found."""

    def read(self, connection: Connection) -> Iterator[Mapping[str, Any]]:
        """Yield the fields of its records."""
        ...

    def merge(self, connection: Connection, records: Iterable[Mapping[str, Any]]) -> None:
        """Take in the fields of records of another store."""
        ...

    def forget(
        self, connection: Connection, urls: Sequence[str], *, site: str | None, before: int | None
    ) -> None:
        """Forget what belongs to these URLs, and to pages of a site, last seen before a time."""
        ...

    def unsound(self, connection: Connection) -> Iterator[tuple[Table, Any]]:
        """Yield table and site of each damaged row."""
        ...

    def copy(self, connection: Connection, into: Connection) -> None:
        """Copy sound rows that its records do not have to another store."""
        ...


@cache
def kept_rows() -> dict[str, KeptRows]:
    """Find out what rooms keep, by the kind of its records."""
    made: list[KeptRows] = [make() for make in offered("kept_rows")]
    return {one.kind: one for one in made}
