"""The main texts of the pages of a batch: kept, split from templates, and measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.similarity.measures import Overlap, estimated_containment, overlap, unless_forged
from shingling.sketch import fingerprint_set, shingle_text
from shingling.store.index import keys_of_sample
from shingling.store.known import read_texts
from shingling.store.model import SplitText
from shingling.text import PreparedText, title_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection

    from shingling.arrays import Fingerprints
    from shingling.sketch import Scheme
    from shingling.store.model import LastChange
    from shingling.store.schema.rows import Row
    from shingling.store.templates import Templates


class Similarity(NamedTuple):
    """How alike two pages are."""

    resemblance: float
    containment: float


@dataclass
class Texts:
    """Texts of the pages that one batch touches, held in memory until they are written.

    Args:
        connection: of the transaction.
        scheme: of the shingles.
        templates: of the sites; None if no texts are kept.
        is_split: whether texts are compared without their site's template.
        new: texts to be written, and keys of the bodies that they were extracted from, by page.
        changes: last changes of pages, which are written with their texts; None removes one.
    """

    connection: Connection
    scheme: Scheme
    templates: Templates | None
    is_split: bool
    new: dict[int, tuple[PreparedText | None, bytes | None]] = field(default_factory=dict)
    changes: dict[int, LastChange | None] = field(default_factory=dict)
    _kept: dict[int, PreparedText | None] = field(default_factory=dict)  # in the database, or not
    _samples: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    # By page; with the text, and with the number of its site's template, that they are of.
    _splits: dict[int, tuple[PreparedText, int, SplitText]] = field(default_factory=dict)
    _fingerprints: dict[str, Fingerprints] = field(default_factory=dict)  # by text

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

    def load(self, ids: Iterable[int]) -> None:
        """Read the texts of pages together, as far as they are not here."""
        missing = {*ids}.difference(self._kept, self.new)
        texts = read_texts(self.connection, missing)
        self._kept.update((page_id, texts.get(page_id)) for page_id in missing)

    def of(self, row: Row) -> PreparedText | None:
        """Text of a page, or None if it is not kept."""
        if row.id in self.new:
            return self.new[row.id][0]
        if row.id not in self._kept:
            self.load([row.id])
        return self._kept[row.id]

    def split(self, row: Row) -> SplitText | None:
        """Text of a page, split from its site's template; None if it is not known."""
        main_text = self.of(row)
        if main_text is None or self.templates is None or not self.is_split:
            return None
        site = self.templates.site(row.server)
        known = self._splits.get(row.id)
        if known is None or known[0] is not main_text or known[1] != site.number:
            known = self._splits[row.id] = main_text, site.number, site.split(main_text)
        return known[2]

    def split_or_whole(self, row: Row) -> SplitText | None:
        """Text of a page, split if templates are left out; None if it is not kept."""
        main_text = self.of(row)
        return None if main_text is None else self.split(row) or SplitText(main_text)

    def lines(self, a: Row, b: Row, min_words: int) -> tuple[list[str], list[str]] | None:
        """Lines of two pages of a site without its template; None if texts are not kept.

        If too little is left of the first one, its whole text and that of the second one.
        """
        first, second = self.split_or_whole(a), self.split_or_whole(b)
        if first is None or second is None:
            return None
        if self.is_only_template(a, min_words):
            first, second = (SplitText(self.of(row) or "") for row in (a, b))
        return first.lines_beside(second), second.lines

    def is_only_template(self, row: Row, min_words: int) -> bool:
        """Whether too little is left of a page without its site's template."""
        split = self.split(row)
        return split is not None and split.is_only_template(
            row.words, min_words, self.scheme.canonical
        )

    def words_left(self, row: Row) -> int:
        """Words of a page without its site's template."""
        split = self.split(row)
        return row.words if split is None else split.words_left(row.words, self.scheme.canonical)

    def blocks(self, row: Row) -> list[int]:
        """Keys of the blocks of a page's text; none if it is not kept."""
        main_text = self.of(row)
        return [] if main_text is None else main_text.keys.tolist()

    def title_parts(self, row: Row) -> Callable[[str], dict[int, int]]:
        """Give what finds the parts of a title, without those that many of its site have."""
        return (
            title_parts if self.templates is None else self.templates.site(row.server).title_parts
        )

    def measure(self, a: Row, b: Row, *, whole: bool = False) -> Similarity:
        """Measure two pages on their texts, or estimate without them."""
        both = self.overlap(a, b, whole=whole)
        if both is not None:
            return Similarity(both.resemblance, both.containment)
        resemblance = float(np.mean(a.minima == b.minima))
        size = self.scheme.shingle_size if self.scheme.unit == "words" else 1
        return Similarity(resemblance, estimated_containment(resemblance, a.words, b.words, size))

    def overlap(self, a: Row, b: Row, *, whole: bool = False) -> Overlap | None:
        """Shingles that two pages share, counted, or None if one of them is not kept.

        They are compared without the templates of their sites, or whole.
        """
        first, second = self._fingerprints_of(a, whole), self._fingerprints_of(b, whole)
        return None if first is None or second is None else overlap(first, second)

    def are_forged(self, a: Row, b: Row) -> bool:
        """Whether two pages share hashes, and not the words."""
        first, second, both = self.of(a), self.of(b), self.overlap(a, b, whole=True)
        if first is None or second is None or both is None:
            return False
        return unless_forged(both, first.text, second.text, self.scheme).shared < 0

    def _fingerprints_of(self, row: Row, whole: bool) -> Fingerprints | None:
        main_text = self.of(row)
        if main_text is None:
            return None
        split = None if whole else self.split(row)
        compared = main_text.text if split is None else split.compared
        if compared not in self._fingerprints:
            self._fingerprints[compared] = fingerprint_set(compared, self.scheme)
        return self._fingerprints[compared]

    def sample(self, scope: str, main_text: PreparedText | None) -> list[int]:
        """Keys of some of a text's shingles, by which its pieces are found in a scope."""
        if main_text is None:
            return []
        name = scope, main_text.text
        if name not in self._samples:
            words = self.scheme.canonical.words(main_text.text)
            long_enough = len(words) >= self.scheme.min_comparable_words
            shingles = shingle_text(main_text.text, self.scheme) if long_enough else None
            self._samples[name] = [] if shingles is None else keys_of_sample(shingles, scope)
        return self._samples[name]
