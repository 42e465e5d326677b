"""The main texts of pages: kept, read, and measured."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import bindparam, delete, select, update

from shingling.similarity import Overlap, overlap
from shingling.store.backends.base import insert_rows
from shingling.store.index.lookup import some
from shingling.store.schema.tables import texts
from shingling.store.templates import Parted
from shingling.text import differ_in_numbers_only, split_blocks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from shingling.sketch import Fingerprints, Scheme
    from shingling.store.index.lookup import Lookup
    from shingling.store.schema.rows import Row
    from shingling.store.templates import OpenTemplates
    from shingling.text import Blocks

_COUNTED = 2000  # characters that mostly hold enough words
_TEXT = select(texts.c.zlib).where(texts.c.page_id == bindparam("page_id"))
_READ_FROM = (
    update(texts).where(texts.c.page_id == bindparam("of")).values(body_key=bindparam("key"))
)


class Texts:
    """Texts of the pages that one batch touches, held in memory until they are written."""

    def __init__(
        self,
        connection: Connection,
        lookup: Lookup,
        scheme: Scheme,
        templates: OpenTemplates | None,
    ) -> None:
        self._connection = connection
        self._lookup = lookup
        self._scheme = scheme
        self._new: dict[int, tuple[str | None, bytes | None]] = {}
        self._read_from: dict[int, bytes] = {}  # texts that stay, from other bodies
        self._kept: dict[int, str] = {}  # in the database
        self._templates = templates
        self._blocks: dict[int, tuple[str, list[str], Blocks]] = {}
        # By page, with what was left of the text.
        self._fingerprints: dict[int, tuple[str, Fingerprints]] = {}
        self._former: dict[int, Fingerprints | None] = {}

    def put(self, row: Row, main_text: str | None, body_key: bytes | None = None) -> None:
        """Give a page its text, and what it was read from; None keeps none."""
        self._new[row.id] = main_text, body_key
        self._kept.pop(row.id, None)
        self._read_from.pop(row.id, None)

    def read_from(self, row: Row, main_text: str | None, body_key: bytes) -> None:
        """Note that a body reads as the text that is kept of a page, if it does."""
        if main_text is None or self.of(row) != main_text:
            return
        if row.id in self._new:
            self._new[row.id] = main_text, body_key
        else:
            self._read_from[row.id] = body_key

    def load(self, ids: Collection[int]) -> dict[int, str]:
        """Read the texts that are kept of some pages, at once."""
        kept = read_texts(self._connection, ids)
        self._kept.update(kept)
        return kept

    def of(self, row: Row) -> str | None:
        """Return the text of a page, or None where it is not kept."""
        if row.id in self._new:
            return self._new[row.id][0]
        if row.id in self._kept:
            return self._kept[row.id]
        main_text = read_text(self._connection, row.id)
        if main_text is not None:
            self._kept[row.id] = main_text
        return main_text

    def copy(self, row: Row, other: Row) -> None:
        """Have another row measured as this one is now."""
        self._former[other.id] = self._shingles(row)

    def overlap(self, a: Row, b: Row, *, whole: bool = False) -> Overlap | None:
        """Return what two pages' texts share, or None where one of them is not kept.

        They are compared without the templates of their sites, or whole.
        """
        first, second = self._shingles(a, whole), self._shingles(b, whole)
        return None if first is None or second is None else overlap(first, second)

    def measure(self, a: Row, b: Row, *, whole: bool = False) -> tuple[float, float]:
        """Return resemblance and containment: from the texts, or estimated without them."""
        both = self.overlap(a, b, whole=whole)
        if both is not None:
            return both.resemblance, both.containment
        resemblance = float(np.mean(a.minima == b.minima))
        size = self._scheme.shingle_size if self._scheme.unit == "words" else 1
        return resemblance, estimated_containment(resemblance, a.words, b.words, size)

    def _shingles(self, row: Row, whole: bool = False) -> Fingerprints | None:
        if row.id in self._former:
            return self._former[row.id]
        left = self.of(row) if whole else self.left(row)
        if left is None:
            return None
        if row.id not in self._fingerprints or self._fingerprints[row.id][0] != left:
            self._fingerprints[row.id] = left, np.unique(self._lookup.shingles(left))
        return self._fingerprints[row.id][1]

    def blocks(self, row: Row) -> Blocks:
        """Return the keys of the blocks of a page's text; none where it is not kept."""
        return self._split(row, self.of(row) or "")[1]

    def left(self, row: Row) -> str | None:
        """Return a page's text without its site's template, or None where it is not kept."""
        parted = self._parted(row)
        return None if parted is None else parted.left

    def _parted(self, row: Row) -> Parted | None:
        main_text = self.of(row)
        if main_text is None or self._templates is None:
            return None if main_text is None else Parted(main_text, ())
        return self._templates.site(row.site).part(main_text, *self._split(row, main_text))

    def is_template(self, row: Row, fewest: int) -> bool:
        """Return whether fewer words than these are left of a page without its site's template."""
        if self._templates is None or not self._templates.site(row.site):
            return False
        parted = self._parted(row)
        if parted is None or not parted.template:
            return False
        words = self._scheme.canonical.words
        enough = len(words(parted.left[:_COUNTED])) >= fewest
        return not enough and len(words(parted.left)) < fewest

    def words_left(self, row: Row) -> int:
        """Return how many words are left of a page without its site's template."""
        parted = self._parted(row)
        if parted is None or not parted.template:
            return row.words
        return len(self._scheme.canonical.words(parted.left))

    def differ_in_numbers_only(self, a: Row, b: Row) -> bool:
        """Return whether two texts differ in numbers and symbols; False where one is not kept."""
        first, second = self.of(a), self.of(b)
        return first is not None and second is not None and differ_in_numbers_only(first, second)

    def template_share(self, row: Row) -> float | None:
        """Return the share of a page's text that is template, or None where it is not known."""
        parted = None if self._templates is None else self._parted(row)
        return None if parted is None else parted.share

    def _split(self, row: Row, main_text: str) -> tuple[list[str], Blocks]:
        known = self._blocks.get(row.id)
        if known is None or known[0] is not main_text:
            known = self._blocks[row.id] = main_text, *split_blocks(main_text)
        return known[1], known[2]

    def write(self, known: Collection[int]) -> None:
        """Write the new texts, in place of those of pages that are known."""
        delete_texts(self._connection, [page_id for page_id in self._new if page_id in known])
        kept = [
            (page_id, zlib.compress(main_text.encode("utf-8", "replace")), body_key)
            for page_id, (main_text, body_key) in self._new.items()
            if main_text is not None
        ]
        insert_rows(self._connection, texts, ("page_id", "zlib", "body_key"), kept)
        if self._read_from:
            changed = [{"of": page_id, "key": key} for page_id, key in self._read_from.items()]
            self._connection.execute(_READ_FROM, changed)
        self._new.clear()
        self._read_from.clear()


def delete_texts(connection: Connection, ids: Iterable[int]) -> None:
    """Delete the texts of some pages."""
    for part in some(ids):
        connection.execute(delete(texts).where(texts.c.page_id.in_(part)))


def read_texts(connection: Connection, ids: Collection[int]) -> dict[int, str]:
    """Return the main texts that are kept of some pages."""
    found: dict[int, str] = {}
    for part in some(ids):
        query = select(texts.c.page_id, texts.c.zlib).where(texts.c.page_id.in_(part))
        found.update((page_id, unzip(raw)) for page_id, raw in connection.execute(query))
    return found


def read_text(connection: Connection, page_id: int) -> str | None:
    """Return a stored main text, or None where it is not kept."""
    raw = connection.scalar(_TEXT, {"page_id": page_id})
    return None if raw is None else unzip(raw)


def unzip(raw: bytes) -> str:
    """Return a main text as the table `texts` keeps it."""
    return zlib.decompress(raw).decode()


def estimated_containment(resemblance: float, a_words: int, b_words: int, size: int) -> float:
    """Return the containment that an estimated resemblance means for two texts' lengths."""
    a, b = max(a_words - size + 1, 1), max(b_words - size + 1, 1)
    shared = resemblance * (a + b) / (1 + resemblance)
    return min(shared / min(a, b), 1.0)
