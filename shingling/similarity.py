"""How alike two signatures, or two texts, are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch import BITS, FUNCTIONS, Scheme, fingerprints_of, sign_words
from shingling.text import canonical_words

if TYPE_CHECKING:
    from shingling.sketch import Fingerprints, Signature

_SUPERSHINGLES = 6


@dataclass(frozen=True)
class Overlap:
    """What two sets of shingles have in common, counted.

    Args:
        shared: shingles in both.
        a, b: distinct shingles of each text.
    """

    shared: int
    a: int
    b: int

    @property
    def resemblance(self) -> float:
        """Shared shingles / all shingles (Jaccard); 0.0 where there are none."""
        union = self.a + self.b - self.shared
        return self.shared / union if union else 0.0

    @property
    def containment(self) -> float:
        """Shared shingles / shingles of the smaller text; 0.0 where it has none."""
        smaller = min(self.a, self.b)
        return self.shared / smaller if smaller else 0.0


@dataclass(frozen=True)
class Comparison:
    """Every measure of two texts a and b.

    Args:
        words_a, words_b: canonical words.
        shingles_a, shingles_b, shared: distinct shingles.
        resemblance: shared / all, exact.
        estimate: resemblance from the 84 minima.
        standard_error: of the estimate, sqrt(s (1 - s) / 84).
        containment_a, containment_b: shared / shingles of a, of b.
        dice: 100 x 2 shared / (shingles of a + shingles of b).
        supershingles: equal ones of 6.
        megashingles: equal ones of 15.
        simhash_distance: differing bits of 64.
        simhash_likeness: (64 - distance) / 64.
        exact: the canonical words are the same.
    """

    words_a: int
    words_b: int
    shingles_a: int
    shingles_b: int
    shared: int
    resemblance: float
    estimate: float
    standard_error: float
    containment_a: float
    containment_b: float
    dice: float
    supershingles: int
    megashingles: int
    simhash_distance: int
    simhash_likeness: float
    exact: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the measures by name."""
        return asdict(self)


def standard_error(resemblance: float) -> float:
    """Return the standard error of a resemblance estimated from 84 minima."""
    return sqrt(max(resemblance * (1 - resemblance), 0.0) / FUNCTIONS)


def estimate(a: Signature, b: Signature) -> float:
    """Return the resemblance of two texts as their minima show it: equal minima / 84.

    0.0 where a text has no words.

    Raises:
        SchemeError: the signatures were made under two schemes.
    """
    if a.scheme != b.scheme:
        raise SchemeError(f"signatures of two schemes, {a.scheme} and {b.scheme}")
    if not (a.words and b.words):
        return 0.0
    return float(np.mean(a.minima == b.minima))


def overlap(a: Fingerprints, b: Fingerprints) -> Overlap:
    """Return what two sets of fingerprints share; each sorted, without repeats."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return Overlap(shared, len(a), len(b))


def compare(a: str, b: str, scheme: Scheme | None = None) -> Comparison:
    """Return every measure of two texts."""
    scheme = scheme or Scheme()
    words = canonical_words(a), canonical_words(b)
    first, second = (sign_words(part, scheme) for part in words)
    sets = overlap(*(fingerprints_of(part, scheme) for part in words))
    resemblance = sets.resemblance
    equal = int(np.sum(np.all((first.minima == second.minima).reshape(_SUPERSHINGLES, -1), axis=1)))
    if not (first.words and second.words):
        equal = 0
    distance = (first.simhash ^ second.simhash).bit_count()
    return Comparison(
        words_a=first.words,
        words_b=second.words,
        shingles_a=sets.a,
        shingles_b=sets.b,
        shared=sets.shared,
        resemblance=resemblance,
        estimate=estimate(first, second),
        standard_error=standard_error(resemblance),
        containment_a=sets.shared / sets.a if sets.a else 0.0,
        containment_b=sets.shared / sets.b if sets.b else 0.0,
        dice=200 * sets.shared / (sets.a + sets.b) if sets.a + sets.b else 0.0,
        supershingles=equal,
        megashingles=equal * (equal - 1) // 2,
        simhash_distance=distance,
        simhash_likeness=(BITS - distance) / BITS if first.words and second.words else 0.0,
        exact=bool(first.words) and first.text_hash == second.text_hash,
    )
