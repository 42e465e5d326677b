"""What rooms keep in a store besides pages: it is forgotten with them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Protocol

from shingling.rooms import offered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection


class KeptRows(Protocol):
    """Rows of a room in a store: what the function `kept_rows` of its module `room` makes."""

    def forget(
        self, connection: Connection, urls: Sequence[str], *, site: str | None, before: int | None
    ) -> None:
        """Forget what belongs to these URLs, and to pages of a site, last seen before a time."""
        ...


@cache
def kept_rows() -> list[KeptRows]:
    """Find out what rooms keep."""
    return [make() for make in offered("kept_rows")]
