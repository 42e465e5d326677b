"""Cosine of term vectors over a set of documents, as an article for .NET has it.

A term of a document weighs (how often it occurs / how often the document's most frequent term
does) x ln(documents / documents with the term); single precision is not imitated.
"""

from __future__ import annotations

import math


class TermVectors:
    def __init__(self, documents: list[list[str]]) -> None:
        self._documents = documents
        self._having: dict[str, int] = {}
        for words in documents:
            for term in set(words):
                self._having[term] = self._having.get(term, 0) + 1

    def _vector(self, place: int) -> dict[str, float]:
        words = self._documents[place]
        counts = {term: words.count(term) for term in set(words)}
        most = max(counts.values())
        every = len(self._documents)
        return {
            term: count / most * math.log(every / self._having[term])
            for term, count in counts.items()
        }

    def similarity(self, place: int, other: int) -> float:
        return cosine_of_vectors(self._vector(place), self._vector(other))


def cosine_of_vectors(a: dict[str, float], b: dict[str, float]) -> float:
    inner = sum(value * b.get(term, 0.0) for term, value in a.items())
    lengths = [math.sqrt(sum(value * value for value in one.values())) for one in (a, b)]
    return inner / (lengths[0] * lengths[1]) if all(lengths) else 0.0
