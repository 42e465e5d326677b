"""The main texts of the pages of a batch: kept, split from templates, and measured."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, select

from shingling.similarity import Overlap, overlap
from shingling.sketch import shingle_text
from shingling.store.index.lookup import keys_of_sample
from shingling.store.schema.damage import damage_of
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages, texts
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from shingling.sketch import Fingerprints, Scheme
    from shingling.store.model import SplitText
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Templates

_TEXT = select(texts.c.zlib).where(texts.c.page_id == bindparam("page_id"))
_URL = select(pages.c.url).where(pages.c.id == bindparam("page_id"))
_TEXTS = select(texts.c.page_id, texts.c.zlib).where(among(texts.c.page_id))


@dataclass
class Texts:
    """Texts of the pages that one batch touches, held in memory until they are written.

    Args:
        connection: of the transaction.
        scheme: of the shingles.
        templates: of the sites, which texts are compared without; None compares whole texts.
        new: texts to be written, and keys of the bodies that they were extracted from, by page.
        new_body_keys: of texts that stay.
    """

    connection: Connection
    scheme: Scheme
    templates: Templates | None
    new: dict[int, tuple[PreparedText | None, bytes | None]] = field(default_factory=dict)
    new_body_keys: dict[int, bytes] = field(default_factory=dict)
    _kept: dict[int, PreparedText | None] = field(default_factory=dict)  # in the database, or not
    _shingles: dict[str, Fingerprints] = field(default_factory=dict)
    _samples: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    _damaged: set[int] = field(default_factory=set)  # pages whose kept text cannot be read
    # By page, and whether they are of the whole text; with the text that they are of.
    _fingerprints: dict[tuple[int, bool], tuple[str, Fingerprints]] = field(default_factory=dict)

    def put(
        self,
        row: Row,
        main_text: PreparedText | None,
        body_key: bytes | None,
        former: Row | None = None,
    ) -> None:
        """Give a page its text.

        Args:
            row: the page.
            main_text: None keeps none.
            body_key: of what the text was extracted from.
            former: the page before it changed, which keeps the text that it had.
        """
        if former is not None:
            self._kept[former.id] = self.of(row)
        self.new[row.id] = main_text, body_key
        self._kept.pop(row.id, None)
        self.new_body_keys.pop(row.id, None)

    def confirm(self, row: Row, main_text: PreparedText | None, body_key: bytes) -> None:
        """Note another body that the kept text of a page was extracted from, if it was."""
        kept = self.of(row)
        if main_text is None or (kept != main_text and row.id not in self._damaged):
            return
        if row.id in self.new or row.id in self._damaged:
            self.new[row.id] = main_text, body_key
        else:
            self.new_body_keys[row.id] = body_key

    def load(self, ids: Collection[int]) -> None:
        """Read the texts of pages together."""
        self._kept.update({**dict.fromkeys(ids), **read_texts(self.connection, ids, self._damaged)})

    def of(self, row: Row) -> PreparedText | None:
        """Text of a page, or None where it is not kept."""
        if row.id in self.new:
            return self.new[row.id][0]
        if row.id not in self._kept:
            self._kept[row.id] = read_text(self.connection, row.id, self._damaged)
        return self._kept[row.id]

    def split(self, row: Row) -> SplitText | None:
        """Text of a page, split from its site's template; None where it is not known."""
        main_text = self.of(row)
        if main_text is None or self.templates is None:
            return None
        return self.templates.split(row.site, main_text)

    def blocks(self, row: Row) -> list[int]:
        """Keys of the blocks of a page's text; none where it is not kept."""
        main_text = self.of(row)
        return [] if main_text is None else main_text.keys.tolist()

    def measure(self, a: Row, b: Row, *, whole: bool = False) -> tuple[float, float]:
        """Resemblance and containment: measured on the texts, or estimated without them."""
        both = self.overlap(a, b, whole=whole)
        if both is not None:
            return both.resemblance, both.containment
        resemblance = float(np.mean(a.minima == b.minima))
        size = self.scheme.shingle_size if self.scheme.unit == "words" else 1
        return resemblance, estimated_containment(resemblance, a.words, b.words, size)

    def overlap(self, a: Row, b: Row, *, whole: bool = False) -> Overlap | None:
        """Shingles that two pages share, counted, or None where one of them is not kept.

        They are compared without the templates of their sites, or whole.
        """
        first, second = self._fingerprints_of(a, whole), self._fingerprints_of(b, whole)
        return None if first is None or second is None else overlap(first, second)

    def _fingerprints_of(self, row: Row, whole: bool) -> Fingerprints | None:
        main_text = self.of(row)
        if main_text is None:
            return None
        split = None if whole else self.split(row)
        compared = main_text.text if split is None else split.compared
        name = row.id, whole
        if name not in self._fingerprints or self._fingerprints[name][0] != compared:
            self._fingerprints[name] = compared, np.unique(self._shingles_of(compared))
        return self._fingerprints[name][1]

    def sample(self, scope: str, main_text: PreparedText | None) -> list[int]:
        """Keys of some of a text's shingles, by which its pieces are found in a scope."""
        if main_text is None:
            return []
        name = scope, main_text.text
        if name not in self._samples:
            words = self.scheme.canonical.words(main_text.text)
            long_enough = len(words) >= self.scheme.min_comparable_words
            self._samples[name] = (
                keys_of_sample(self._shingles_of(main_text.text), scope) if long_enough else []
            )
        return self._samples[name]

    def _shingles_of(self, text: str) -> Fingerprints:
        """Fingerprints of a text's shingles, in text order: uint64[n]."""
        if text not in self._shingles:
            self._shingles[text] = shingle_text(text, self.scheme)
        return self._shingles[text]


def read_texts(
    connection: Connection, ids: Collection[int], damaged: set[int] | None = None
) -> dict[int, PreparedText]:
    """Texts that are kept of pages; a damaged one is noted, and left out.

    Args:
        connection: to the store.
        ids: of the pages.
        damaged: ids of pages with a damaged text are added to it.
    """
    found: dict[int, PreparedText] = {}
    for part in chunked(ids):
        for page_id, raw in connection.execute(_TEXTS, {"values": part}):
            text = _noted(raw, page_id, connection, damaged)
            if text is not None:
                found[page_id] = text
    return found


def _noted(
    raw: Any, page_id: int, connection: Connection, damaged: set[int] | None
) -> PreparedText | None:
    """Text as it was packed; a damaged one is noted."""
    text = unpacked(raw)
    if text is None:
        url = connection.scalar(_URL, {"page_id": page_id})
        damage_of(connection).note(page_id, url, "text")
        if damaged is not None:
            damaged.add(page_id)
    return text


def unpacked(raw: Any) -> PreparedText | None:
    """Text as it was packed, or None where it is damaged: a zlib stream ends with a checksum."""
    try:
        text = PreparedText.unpacked(raw)
        text.text  # noqa: B018 (it is unpacked now)
    except (TypeError, ValueError, zlib.error):
        return None
    return text


def read_text(
    connection: Connection, page_id: int, damaged: set[int] | None = None
) -> PreparedText | None:
    """Text of a page, or None where it is not kept, or damaged; as `read_texts`."""
    raw = connection.scalar(_TEXT, {"page_id": page_id})
    return None if raw is None else _noted(raw, page_id, connection, damaged)


def estimated_containment(resemblance: float, a_words: int, b_words: int, size: int) -> float:
    """Containment that an estimated resemblance means for the lengths of two texts."""
    a, b = max(a_words - size + 1, 1), max(b_words - size + 1, 1)
    shared = resemblance * (a + b) / (1 + resemblance)
    return min(shared / min(a, b), 1.0)
