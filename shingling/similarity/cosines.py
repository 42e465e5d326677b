"""The cosine of two texts' features, by the weights that the field knows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from shingling.errors import SchemeError
from shingling.rules import WEIGHTINGS
from shingling.sketch import feature_hashes, word_hashes
from shingling.sketch.idf import look_up, table_entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.arrays import Fingerprints, Floats
    from shingling.sketch.idf import Idf


@dataclass(frozen=True, eq=False)
class DocumentFrequencies:
    """In how many of N documents each feature occurs.

    Args:
        documents: N.
        hashes: of the features, sorted, uint64[k].
        counts: documents with each feature, float64[k].
    """

    documents: int
    hashes: Fingerprints
    counts: Floats

    @classmethod
    def of_documents(
        cls, documents: Iterable[Fingerprints], among: Fingerprints | None = None
    ) -> Self:
        """Count documents, each given as the hashes of its features.

        Args:
            documents: any number of them.
            among: hashes that are counted; None for all.
        """
        counts: Counter[int] = Counter()
        number = 0
        for hashes in documents:
            number += 1
            distinct = np.unique(hashes)
            if among is not None:
                distinct = distinct[np.isin(distinct, among)]
            counts.update(distinct.tolist())
        order = sorted(counts)
        values = np.array([counts[value] for value in order], np.float64)
        return cls(number, np.array(order, np.uint64), values)

    @classmethod
    def of_table(cls, idf: Idf) -> Self:
        """Frequencies of words that a learned table was made of, to within 1/512 of its weights."""
        hashes, weights = table_entries(idf)
        # The weight is 1 + ln((1 + N) / (1 + d)).
        return cls(idf.documents, hashes, (1 + idf.documents) / np.exp(weights - 1) - 1)

    def of(self, hashes: Fingerprints) -> Floats:
        """Documents with each of these features; 0 for those that none has."""
        return look_up(hashes, self.hashes, self.counts, 0)


@dataclass(frozen=True)
class Weighting:
    """What a cosine compares, and how much of it each feature weighs.

    Args:
        name: "tf" (how often it occurs), "tf-idf" (tf x ln(N / d)), "tf-idf-max" (the same with
            tf divided by that of the text's most frequent feature, which a cosine does not
            notice), or "smooth" (tf x (1 + ln((1 + N) / (1 + d)))), for d of N documents.
        features: "words", or what a SimHash may be made of, such as "characters+blanks:4:3".
        frequencies: of N documents; None for the two texts that are compared, N = 2.

    Raises:
        SchemeError: the name or the features are not known.
    """

    name: str = WEIGHTINGS[0]
    features: str = "words"
    frequencies: DocumentFrequencies | None = None

    def __post_init__(self) -> None:
        if self.name not in WEIGHTINGS:
            raise SchemeError(f"cosine {self.name!r} is not known: {' or '.join(WEIGHTINGS)}")
        feature_hashes([], self.features)

    def hashes(self, words: Sequence[str]) -> Fingerprints:
        """Hash each feature of canonical words, repeats included."""
        whole = self.features == "words"  # as tables of frequencies have them
        return word_hashes(words) if whole else feature_hashes(words, self.features)

    def weigh(
        self, hashes: Fingerprints, counts: Floats, frequencies: DocumentFrequencies
    ) -> Floats:
        """Weights of a text's distinct features, which occur so often in it."""
        if self.name == "tf" or not len(hashes):
            return counts
        in_documents, documents = frequencies.of(hashes), frequencies.documents
        if self.name == "smooth":
            smooth: Floats = counts * (1 + np.log((1 + documents) / (1 + in_documents)))
            return smooth
        scale = counts.max() if self.name == "tf-idf-max" else 1
        rarity: Floats = np.log(max(documents, 1) / np.clip(in_documents, 1, max(documents, 1)))
        return counts / scale * rarity


def count_features(hashes: Fingerprints) -> tuple[Fingerprints, Floats]:
    """Distinct hashes, sorted, and how often each occurs."""
    values, counts = np.unique(hashes, return_counts=True)
    return values, counts.astype(np.float64)


def cosine(a: Sequence[str], b: Sequence[str], weighting: Weighting | None = None) -> float:
    """Cosine of two texts' canonical words (Salton and McGill 1983).

    0.0 if a text has no words, or none of a weight above 0.
    """
    weighting = weighting or Weighting()
    features = [count_features(weighting.hashes(words)) for words in (a, b)]
    frequencies = weighting.frequencies or DocumentFrequencies.of_documents(
        hashes for hashes, _ in features
    )
    first, second = (weighting.weigh(*own, frequencies) for own in features)
    _, in_first, in_second = np.intersect1d(
        features[0][0], features[1][0], assume_unique=True, return_indices=True
    )
    lengths = (first @ first) * (second @ second)
    product = first[in_first] @ second[in_second]
    return min(float(product / np.sqrt(lengths)), 1.0) if lengths else 0.0
