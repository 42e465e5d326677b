"""Cutoffs of scores: their precision, recall and F1, the choice of one, and standard errors.

The statistics that `settings` and `report` need.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.tuning.pairs import order_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Flags, Floats, Integers
    from shingling.tuning.pairs import LabelledPair


_F1_TOLERANCE = 0.002  # a cutoff that loses no more is as good as the best
_BOOTSTRAP_RESAMPLES = 2000
_SEED = 84


class Quality(NamedTuple):
    """Precision, recall and F1 (van Rijsbergen 1979), 0 to 1; 0 if one is not defined."""

    precision: float
    recall: float
    f1: float


class Scoring(NamedTuple):
    """A score for every pair, and the cutoffs for it.

    A pair is decided to be the same if its score is at or above the cutoff.

    Args:
        scores: the higher, the more similar: float64[n].
        cutoffs: rising: float64[m].
    """

    scores: Floats
    cutoffs: Floats

    def curve(self, same: Flags) -> Floats:
        """Compute precision, recall and F1 at every cutoff: float64[3, m]."""
        passed = np.searchsorted(self.cutoffs, self.scores, side="right")
        found, wrong = (
            np.bincount(passed[flags], minlength=len(self.cutoffs) + 1)[::-1].cumsum()[-2::-1]
            for flags in (same, ~same)
        )
        return _quality(found, wrong, np.int64(same.sum()) - found)


class Choice(NamedTuple):
    """A cutoff of one of several scorings."""

    scoring: int
    cutoff: float


def choose(scorings: Sequence[Scoring], same: Flags) -> Choice:
    """Choose the cutoff with the highest F1: the middle of the widest stretch of such cutoffs.

    The middle, because scores of unseen pairs may lie on either side. Among scorings the best one
    is chosen, and among equally good ones that with the widest stretch.
    """
    found = []
    for place, scoring in enumerate(scorings):
        f1 = scoring.curve(same)[2]
        middle, width = _widest(f1)
        found.append((round(float(f1.max()), 9), width, place, middle))
    _, _, place, middle = max(found)
    return Choice(place, float(scorings[place].cutoffs[middle]))


def _widest(f1: Floats) -> tuple[int, int]:
    """Middle and width of the widest stretch of cutoffs with the best F1, within the tolerance."""
    best = f1.max()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], f1 >= best - _F1_TOLERANCE, [False]])))
    stretches = [
        (int(end - start), -int(start))
        for start, end in edges.reshape(-1, 2)
        if f1[start:end].max() == best
    ]
    width, start = max(stretches)
    return -start + (width - 1) // 2, width


def folds_of(pairs: Sequence[LabelledPair], number: int) -> Integers:
    """Assign each pair a fold, stratified by label, by a hash of its texts: int64[n]."""
    folds = np.zeros(len(pairs), dtype=np.int64)
    for label in (True, False):
        places = [place for place, pair in enumerate(pairs) if pair.same is label]
        places.sort(key=lambda place: (order_hash(pairs[place]), place))
        folds[places] = np.arange(len(places)) % number
    return folds


def cross_validated(scorings: Sequence[Scoring], same: Flags, folds: Integers) -> Flags:
    """Decide each pair by a cutoff that is chosen on the other folds (Kohavi 1995): bool[n]."""
    decided = np.zeros(len(same), dtype=np.bool_)
    for fold in np.unique(folds):
        out = folds == fold
        others = [Scoring(one.scores[~out], one.cutoffs) for one in scorings]
        choice = choose(others, same[~out])
        decided[out] = scorings[choice.scoring].scores[out] >= choice.cutoff
    return decided


def quality(decided: Flags, same: Flags) -> Quality:
    """Compute precision, recall and F1 of decisions."""
    [[precision], [recall], [f1]] = (
        Scoring(decided.astype(np.float64), np.ones(1)).curve(same).tolist()
    )
    return Quality(precision, recall, f1)


def _quality(found: Integers, wrong: Integers, missed: Integers) -> Floats:
    return np.stack(
        [
            found / np.maximum(found + wrong, 1),
            found / np.maximum(found + missed, 1),
            2 * found / np.maximum(2 * found + wrong + missed, 1),
        ]
    )


def area_under_curve(scores: Floats, same: Flags) -> float:
    """Compute the probability that a pair which is the same scores above one which is not.

    Ties count half (Mann and Whitney 1947; Hanley and McNeil 1982). 0.5 if all pairs
    have one label.
    """
    ranks = np.unique(scores, return_inverse=True)[1]
    same_at, other_at = (np.bincount(ranks[flags], minlength=len(ranks)) for flags in (same, ~same))
    below = other_at.cumsum() - other_at
    number = int(same_at.sum()) * int(other_at.sum())
    return float((same_at * (below + other_at / 2)).sum() / number) if number else 0.5


def gap_error(a: Flags, b: Flags, same: Flags) -> float:
    """Estimate the standard error of the difference in F1 of two sets of decisions.

    By the bootstrap (Efron 1979). Pairs are resampled by drawing the counts of their eight kinds,
    on which alone F1 depends. The error of the F1 of one set is that against no decision.
    """
    kinds = np.bincount(4 * same + 2 * a + b, minlength=8)
    total = int(kinds.sum())
    draws = np.random.default_rng(_SEED).multinomial(
        total, kinds / total, size=_BOOTSTRAP_RESAMPLES
    )
    by_kind = draws.reshape(-1, 2, 2, 2)  # resample, same, a, b
    f1 = []
    for summed in (by_kind.sum(axis=3), by_kind.sum(axis=2)):
        found, wrong, missed = summed[:, 1, 1], summed[:, 0, 1], summed[:, 1, 0]
        f1.append(_quality(found, wrong, missed)[2])
    return sqrt(float(np.var(f1[0] - f1[1])))
