"""Similarity of the texts of labelled pairs, under one scheme after another."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shingling.similarity import distance, equal_supershingles, overlap
from shingling.sketch import fingerprint_set_of_words, sign_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.sketch import Scheme, Signature
    from shingling.text import Canonicaliser
    from shingling.tuning.pairs import LabelledPair

Scores: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class Measures:
    """Measures of labelled pairs; each distinct text is split into words once for each scheme.

    Args:
        pairs: in the order of all measures.
    """

    def __init__(self, pairs: Sequence[LabelledPair]) -> None:
        places: dict[str, int] = {}
        self._pairs = [
            tuple(places.setdefault(text, len(places)) for text in (pair.a, pair.b))
            for pair in pairs
        ]
        self._texts = list(places)
        self._words: tuple[Canonicaliser, list[list[str]]] | None = None
        self._signed: tuple[Scheme, list[Signature]] | None = None

    def resemblances(self, scheme: Scheme) -> Scores:
        """Exact resemblance of each pair: float64[n], 0 to 1."""
        shingles = [
            fingerprint_set_of_words(words, scheme) for words in self._words_of(scheme.canonical)
        ]
        found = (overlap(shingles[a], shingles[b]).resemblance for a, b in self._pairs)
        return np.fromiter(found, np.float64, len(self._pairs))

    def distances(self, scheme: Scheme) -> Scores:
        """SimHash distance of each pair in bits, all bits if a text is empty: float64[n]."""
        bits = scheme.simhash.bits
        return self._compared(scheme, lambda a, b: distance(a.simhash, b.simhash), bits)

    def supershingles(self, scheme: Scheme) -> Scores:
        """Count the equal supershingles of each pair, 0 to 6, 0 if a text is empty: float64[n]."""
        return self._compared(scheme, lambda a, b: equal_supershingles(a.minima, b.minima), 0)

    def _compared(
        self, scheme: Scheme, measure: Callable[[Signature, Signature], int], empty: int
    ) -> Scores:
        signed = self._signatures(scheme)
        pairs = ((signed[a], signed[b]) for a, b in self._pairs)
        found = (measure(a, b) if a.words and b.words else empty for a, b in pairs)
        return np.fromiter(found, np.float64, len(self._pairs))

    def _words_of(self, canonical: Canonicaliser) -> list[list[str]]:
        if self._words is None or self._words[0] != canonical:
            known: dict[str, str] = {}  # one string a word, however often it occurs
            words = [
                [known.setdefault(word, word) for word in canonical.words(text)]
                for text in self._texts
            ]
            self._words = canonical, words
        return self._words[1]

    def _signatures(self, scheme: Scheme) -> list[Signature]:
        if self._signed is None or self._signed[0] != scheme:
            words = self._words_of(scheme.canonical)
            signed = map(sign_words, words, repeat(scheme), self._texts)
            self._signed = scheme, [*signed]
        return self._signed[1]
