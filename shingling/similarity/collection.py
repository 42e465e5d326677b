"""Many documents against each other at once: a row of measures for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.similarity.cosines import DocumentFrequencies, Weighting, count_features
from shingling.similarity.measures import Counts, measure_sets
from shingling.sketch import Scheme, fingerprint_set_of_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shingling.arrays import Fingerprints, Floats

_MAX_HASHES_LOOKED_UP = 1024  # at a time; each may be in all documents


class MeasuredDocument(NamedTuple):
    """What is measured of a document.

    Args:
        name: as it is shown.
        text: the document itself.
        words: number of canonical words.
        shingles: distinct fingerprints, sorted, uint64[k].
        features: distinct hashes of what the cosine compares, sorted, uint64[m].
        counts: how often each of these occurs, float64[m].
    """

    name: str
    text: str
    words: int
    shingles: Fingerprints
    features: Fingerprints
    counts: Floats

    @classmethod
    def of_text(
        cls, name: str, text: str, scheme: Scheme, weighting: Weighting
    ) -> MeasuredDocument:
        """Take what is measured of a text.

        Raises:
            SchemeError: the scheme asks for a language pack that is not installed.
        """
        words = scheme.canonical.words(text)
        shingles = fingerprint_set_of_words(words, scheme)
        return cls(name, text, len(words), shingles, *count_features(weighting.hashes(words)))


class MeasuredPair(NamedTuple):
    """Two documents by their places, and their measure."""

    value: float
    a: int
    b: int


class Collection:
    """Documents that are measured against each other.

    A row is made from lists of the documents that have each of its shingles (or words): time and
    memory grow with what documents share, not with all pairs of what they have.

    Args:
        documents: at least one.
        weighting: of the cosine; frequencies of None are those of the documents.
    """

    def __init__(self, documents: Sequence[MeasuredDocument], weighting: Weighting) -> None:
        self._weighting = weighting
        self._documents = documents
        self._words = np.array([document.words for document in documents], np.float64)
        self._sizes = np.array([len(document.shingles) for document in documents], np.float64)
        shingles = [document.shingles for document in documents]
        self._shared = _Postings(shingles, [np.ones(len(document)) for document in shingles])

    def rows(self, measure: str) -> Iterator[Floats]:
        """Yield the measures of each document with all: float64[n], its own place included."""
        if measure == "cosine":
            yield from self._cosines()
            return
        for place in range(len(self._documents)):
            shared = self._shared.row(place)
            counts = Counts(self._sizes[place], self._sizes, self._words[place], self._words)
            yield measure_sets(measure, shared, counts)

    def _cosines(self) -> Iterator[Floats]:
        documents, weighting = self._documents, self._weighting
        frequencies = weighting.frequencies or DocumentFrequencies.of_documents(
            document.features for document in documents
        )
        weights = [
            weighting.weigh(document.features, document.counts, frequencies)
            for document in documents
        ]
        lengths = [float(np.sqrt((values**2).sum())) for values in weights]
        scaled = [
            values / length if length else values
            for values, length in zip(weights, lengths, strict=True)
        ]
        postings = _Postings([document.features for document in documents], scaled)
        for place in range(len(documents)):
            yield np.minimum(postings.row(place), 1.0)

    def pairs(self, measure: str, threshold: float) -> Iterator[MeasuredPair]:
        """Yield pairs at or above the threshold, by the places of their documents."""
        for place, row in enumerate(self.rows(measure)):
            later = row[place + 1 :]
            for other in np.flatnonzero(later >= threshold).tolist():
                yield MeasuredPair(float(later[other]), place, place + 1 + other)

    def uniqueness(self) -> Floats:
        """Share of each document's shingles that no other has: float64[n], 1.0 without any."""
        alone = self._shared.alone()
        return np.divide(alone, self._sizes, out=np.ones(len(alone)), where=self._sizes > 0)


class _Postings:
    """Which documents have each hash, in one array sorted by hash.

    Args:
        hashes: of each document, sorted, without repeats.
        weights: of these.
    """

    def __init__(self, hashes: Sequence[Fingerprints], weights: Sequence[Floats]) -> None:
        joined = np.concatenate(hashes)
        order = np.argsort(joined, kind="stable")
        self._hashes = joined[order]
        self._documents = np.repeat(np.arange(len(hashes)), [*map(len, hashes)])[order]
        self._weights = np.concatenate(weights)[order]
        self._own_hashes, self._own_weights = hashes, weights

    def row(self, place: int) -> Floats:
        """Sum of the products of weights that a document has in common with each: float64[n]."""
        row = np.zeros(len(self._own_hashes))
        hashes = self._own_hashes[place]
        for start in range(0, len(hashes), _MAX_HASHES_LOOKED_UP):
            part = slice(start, start + _MAX_HASHES_LOOKED_UP)
            first = np.searchsorted(self._hashes, hashes[part])
            counts = np.searchsorted(self._hashes, hashes[part], side="right") - first
            before = np.cumsum(counts) - counts
            places = np.arange(counts.sum()) + np.repeat(first - before, counts)
            weights = self._weights[places] * np.repeat(self._own_weights[place][part], counts)
            row += np.bincount(self._documents[places], weights, len(row))
        return row

    def alone(self) -> Floats:
        """Hashes of each document that no other has: float64[n]."""
        _, first, counts = np.unique(self._hashes, return_index=True, return_counts=True)
        alone = self._documents[first[counts == 1]]
        return np.bincount(alone, minlength=len(self._own_hashes)).astype(np.float64)
