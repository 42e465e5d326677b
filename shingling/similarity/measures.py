"""The single measures: of signatures and of sets of shingles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch import FUNCTIONS, SUPERSHINGLES, shingle_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.arrays import Fingerprints, Floats, Minima
    from shingling.sketch import Scheme, Signature

Number: TypeAlias = "float | Floats"


class Counts(NamedTuple):
    """Shingles and words of two texts; those of b may be arrays, of many texts."""

    a: Number
    b: Number
    words_a: Number
    words_b: Number


# What the shared shingles are a share of.
_WHOLES: dict[str, Callable[[Number, Counts], Number]] = {
    "resemblance": lambda shared, counts: counts.a + counts.b - shared,
    "dice": lambda _, counts: (counts.a + counts.b) / 2,
    "share": lambda _, counts: np.minimum(counts.words_a, counts.words_b),
    "containment": lambda _, counts: np.minimum(counts.a, counts.b),
}


def measure_sets(measure: str, shared: Number, counts: Counts) -> Floats:
    """One of `shingling.rules.SET_MEASURES`, from 0 to 1; 0 if there is nothing.

    Args:
        measure: "resemblance" (shared / all), "dice" (2 shared / (a + b); Dice 1945), "share"
            (shared / words of the text with fewer) or "containment" (shared / the smaller set).
        shared: shingles that both have.
        counts: of both texts.

    Returns:
        float64[n] for arrays of n texts, else float64[].
    """
    return np.asarray(shared / np.maximum(_WHOLES[measure](shared, counts), 1))


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
        """Shared shingles / all shingles (Jaccard); 0.0 if there are none."""
        return self.shared / max(self.a + self.b - self.shared, 1)

    @property
    def containment(self) -> float:
        """Shared shingles / shingles of the smaller text; 0.0 if it has none."""
        return self.shared / max(min(self.a, self.b), 1)


def overlap(a: Fingerprints, b: Fingerprints) -> Overlap:
    """Overlap of two sets of fingerprints; each sorted, without repeats."""
    both = np.sort(np.concatenate((a, b)), kind="stable")  # it merges what is sorted
    shared = int(np.count_nonzero(both[1:] == both[:-1]))
    return Overlap(shared, len(a), len(b))


def unless_forged(both: Overlap, a: str, b: str, scheme: Scheme) -> Overlap:
    """Overlap of two texts, of less than nothing if they share hashes and not the words.

    Methods without a threshold decide by public hashes, which anybody can make other words of.
    """
    public = overlap(*(np.unique(shingle_text(text, scheme)) for text in (a, b)))
    return both if public.shared <= both.shared else replace(both, shared=-1)


def standard_error(resemblance: float) -> float:
    """Compute the standard error of a resemblance estimated from 84 minima."""
    return sqrt(resemblance * (1 - resemblance) / FUNCTIONS)


def estimate(a: Signature, b: Signature) -> float:
    """Resemblance of two texts as their minima show it: equal minima / 84.

    0.0 if a text has no words.

    Raises:
        SchemeError: the signatures were made under two schemes.
    """
    if a.scheme != b.scheme:
        raise SchemeError(f"signatures of two schemes, {a.scheme} and {b.scheme}")
    if not (a.words and b.words):
        return 0.0
    return float(np.mean(a.minima == b.minima))


def nearest(
    minima: Minima, others: Sequence[Minima], least: float, limit: int
) -> list[tuple[int, float]]:
    """Places of the signatures that look most alike, and their estimates, the nearest first.

    Args:
        minima: of one text.
        others: of the others; among equals the first one comes first.
        least: estimated resemblance.
        limit: how many to return.
    """
    if not others:
        return []
    return ranked((np.stack(others) == minima).mean(axis=1), least, limit)


def ranked(estimates: Floats, least: float, limit: int) -> list[tuple[int, float]]:
    """Places of the highest estimates, and these: the highest first, among equals the first."""
    order = np.argsort(-estimates, kind="stable")[:limit].tolist()
    return [(at, float(estimates[at])) for at in order if estimates[at] >= least]


def equal_supershingles(a: Minima, b: Minima) -> int:
    """Supershingles, of 6 groups of 14 minima, that are equal (Broder 2000).

    Where m of them are, m (m - 1) / 2 of the 15 megashingles are (Fetterly, Manasse and
    Najork 2003).
    """
    return int((a == b).reshape(SUPERSHINGLES, -1).all(axis=1).sum())


def distance(a: int, b: int) -> int:
    """Hamming distance of two SimHashes: how many bits differ."""
    return (a ^ b).bit_count()


def estimated_containment(resemblance: float, a_words: int, b_words: int, size: int) -> float:
    """Containment that an estimated resemblance means for the lengths of two texts."""
    a, b = max(a_words - size + 1, 1), max(b_words - size + 1, 1)
    shared = resemblance * (a + b) / (1 + resemblance)
    return min(shared / min(a, b), 1.0)
