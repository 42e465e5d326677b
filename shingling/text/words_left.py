"""A warning where the options of a canonicaliser leave little of most texts."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.text.canonical import Canonicaliser

logger = logging.getLogger(__name__)

MIN_TEXTS = 5
MAX_TEXTS = 20
MIN_WORDS = 20
"""Words of a text that is counted: of a short one, little may be left by chance."""

_MIN_SHARE = 0.5


class WordsLeft:
    """What a canonicaliser leaves of the first texts of a crawl or a command.

    Warns once, if there are 5 texts, and less than half of the words of most of them are left.
    At most 20 texts are looked at.

    Args:
        canonical: by which the texts are cut into words.
    """

    def __init__(self, canonical: Canonicaliser) -> None:
        self._canonical = canonical
        self._texts = self._little_left = 0
        self.is_open = canonical.drops_words

    def note(self, text: str) -> None:
        """Count what is left of a text, if it is one of the first."""
        if not self.is_open:
            return
        left, words = self._canonical.count_left(text)
        if words < MIN_WORDS:
            return
        self._texts += 1
        self._little_left += left < _MIN_SHARE * words
        is_little = self._texts >= MIN_TEXTS and 2 * self._little_left > self._texts
        if is_little:
            logger.warning(
                "the stop words and dropped parts of speech of DEDUP_SCHEME take more than half of"
                " the words of %d of the first %d texts: texts that differ only in those words are"
                " taken for the same",
                self._little_left,
                self._texts,
            )
        self.is_open = not is_little and self._texts < MAX_TEXTS
