"""What is damaged in a store: what stands in for a signature, and who is told."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from shingling.sketch import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

logger = logging.getLogger(__name__)

MINIMA_BYTES = 4 * FUNCTIONS
HASH_BYTES = 16

_MAX_REMEMBERED = 10_000  # rows, so that each is told once
DAMAGE = "shingling_damage"
"""Where `Connection.info` has the notes of a store."""


def blank_signature(page_id: int) -> dict[str, Any]:
    """Columns of a signature that stands for a damaged one: of one word, and like no other."""
    raw = hashlib.shake_128(b"damaged %d" % page_id).digest(HASH_BYTES + MINIMA_BYTES + 8)
    return {
        "words": 1,
        "text_hash": raw[:HASH_BYTES],
        "minima": raw[HASH_BYTES:-8],
        "simhash": int.from_bytes(raw[-8:], "little", signed=True),
    }


class Damage:
    """Damaged rows that were met since a store was opened.

    Args:
        where: the store, as messages name it.

    Attributes:
        number: of the rows.
        tell: is called with a line for each row; None logs a warning about the first one.
    """

    def __init__(self, where: str) -> None:
        self.number = 0
        self.tell: Callable[[str], None] | None = None
        self._where = where
        self._known: set[tuple[int, str]] = set()

    def note(self, page_id: int, url: object, what: str) -> None:
        """Note that something of a page is damaged, and say so where it is news.

        Args:
            page_id: of the page.
            url: its address; None where it is not known.
            what: its signature, say.
        """
        if (page_id, what) in self._known:
            return
        if len(self._known) < _MAX_REMEMBERED:
            self._known.add((page_id, what))
        self.number += 1
        name = f"page {page_id}" if url is None else f"page {page_id} ({url})"
        if self.tell is not None:
            self.tell(f"{name}: its {what} is damaged; run `scrapy dedup check`")
        elif self.number == 1:
            logger.warning(
                "%s: the %s of %s is damaged and is not compared (no more such rows will be"
                " shown); run `scrapy dedup check`, which finds all damage",
                self._where,
                what,
                name,
            )


def damage_of(connection: Connection) -> Damage:
    """Find the notes of the store that a connection belongs to."""
    damage: Damage = connection.info[DAMAGE]
    return damage
