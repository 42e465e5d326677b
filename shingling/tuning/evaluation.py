"""Precision, recall and F1 of a rule that parts pairs, and how sure they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.tuning.measuring import Scores
    from shingling.tuning.pairs import LabelledPair

Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
Folds: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

_FLAT = 0.002  # of F1: thresholds that lose no more are as good as the best
_RESAMPLES = 2000
_SEED = 84


class Quality(NamedTuple):
    """Precision, recall and F1 (van Rijsbergen 1979), 0 to 1; 0 where one is not defined."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False)
class Ladder:
    """Scores of all pairs, and the cutoffs that may part them.

    A pair is taken for the same where its score is at or above the cutoff.

    Args:
        scores: float64[n], the higher the more alike.
        cutoffs: float64[m], rising.
        choosable: how many of the cutoffs, the last ones, a setting may have; None is all.
    """

    scores: Scores
    cutoffs: Scores
    choosable: int | None = None

    def curve(self, same: Flags) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """Return precision, recall and F1 at every cutoff: float64[3, m]."""
        size = len(self.cutoffs)
        passed = np.searchsorted(self.cutoffs, self.scores, side="right")
        counts = [
            np.bincount(passed[flags], minlength=size + 1)[::-1].cumsum()[::-1][1:]
            for flags in (same, ~same)
        ]
        return _quality(counts[0], counts[1], np.int64(same.sum()) - counts[0])

    def of(self, part: Flags) -> Ladder:
        """Return the ladder of some of the pairs."""
        return Ladder(self.scores[part], self.cutoffs, self.choosable)


class Choice(NamedTuple):
    """A cutoff of one of several ladders."""

    ladder: int
    cutoff: float


def choose(ladders: Sequence[Ladder], same: Flags) -> Choice:
    """Return the cutoff with the highest F1: the middle of the widest stretch of such ones.

    The middle, because pairs yet unseen lie to both sides of those that were. Among ladders,
    the best one; among equals, that with the widest stretch.
    """
    found = []
    for place, ladder in enumerate(ladders):
        start = len(ladder.cutoffs) - (ladder.choosable or len(ladder.cutoffs))
        f1 = ladder.curve(same)[2, start:]
        middle, width = _widest(f1)
        found.append((round(float(f1.max()), 9), width, place, start + middle))
    _, _, place, middle = max(found)
    return Choice(place, float(ladders[place].cutoffs[middle]))


def _widest(f1: Scores) -> tuple[int, int]:
    """Return middle and width of the widest stretch that has a best F1 and is flat."""
    best = f1.max()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], f1 >= best - _FLAT, [False]])))
    stretches = [
        (int(end - start), -int(start))
        for start, end in edges.reshape(-1, 2)
        if f1[start:end].max() == best
    ]
    width, start = max(stretches)
    return -start + (width - 1) // 2, width


def folds_of(pairs: Sequence[LabelledPair], number: int) -> Folds:
    """Return the fold of each pair, int64[n]: stratified, by a hash of the two texts."""
    folds = np.zeros(len(pairs), dtype=np.int64)
    lots = [
        hashlib.blake2b(f"{pair.a}\0{pair.b}".encode("utf-8", "replace")).digest() for pair in pairs
    ]
    for label in (True, False):
        places = [place for place, pair in enumerate(pairs) if pair.same is label]
        places.sort(key=lambda place: (lots[place], place))
        folds[places] = np.arange(len(places)) % number
    return folds


def held_out(ladders: Sequence[Ladder], same: Flags, folds: Folds) -> Flags:
    """Return for each pair whether it is taken for the same, by what the other folds tell.

    The cutoff of a fold is chosen without its pairs (cross-validation; Kohavi 1995).
    """
    taken = np.zeros(len(same), dtype=np.bool_)
    for fold in np.unique(folds):
        left_out = folds == fold
        choice = choose([ladder.of(~left_out) for ladder in ladders], same[~left_out])
        taken[left_out] = ladders[choice.ladder].scores[left_out] >= choice.cutoff
    return taken


def quality(taken: Flags, same: Flags) -> Quality:
    """Return precision, recall and F1 of decisions."""
    counts = (taken & same).sum(), (taken & ~same).sum(), (~taken & same).sum()
    precision, recall, f1 = _quality(*(np.array([count]) for count in counts))[:, 0].tolist()
    return Quality(precision, recall, f1)


def _quality(
    found: np.ndarray[tuple[int], np.dtype[np.int64]],
    wrong: np.ndarray[tuple[int], np.dtype[np.int64]],
    missed: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.stack(
        [
            found / np.maximum(found + wrong, 1),
            found / np.maximum(found + missed, 1),
            2 * found / np.maximum(2 * found + wrong + missed, 1),
        ]
    )


def area_under_curve(scores: Scores, same: Flags) -> float:
    """Return the probability that a pair which is the same scores above one which is not.

    Ties count half (Mann and Whitney 1947; Hanley and McNeil 1982). 0.5 where all pairs
    have one label.
    """
    ranks = np.unique(scores, return_inverse=True)[1]
    same_at, other_at = (np.bincount(ranks[flags], minlength=len(ranks)) for flags in (same, ~same))
    below = other_at.cumsum() - other_at
    number = int(same_at.sum()) * int(other_at.sum())
    return float((same_at * (below + other_at / 2)).sum() / number) if number else 0.5


def f1_error(taken: Flags, same: Flags) -> float:
    """Return the standard error of F1 by the bootstrap (Efron 1979)."""
    return gap_error(taken, np.zeros_like(taken), same)


def gap_error(a: Flags, b: Flags, same: Flags) -> float:
    """Return the standard error of the difference in F1 of two sets of decisions.

    Pairs are resampled; as F1 only counts them, their eight kinds are.
    """
    kinds = np.bincount(4 * same + 2 * a + b, minlength=8)
    total = int(kinds.sum())
    draws = np.random.default_rng(_SEED).multinomial(total, kinds / total, size=_RESAMPLES)
    by_kind = draws.reshape(-1, 2, 2, 2)  # resample, same, a, b
    f1 = []
    for summed in (by_kind.sum(axis=3), by_kind.sum(axis=2)):
        found, wrong, missed = summed[:, 1, 1], summed[:, 0, 1], summed[:, 1, 0]
        f1.append(_quality(found, wrong, missed)[2])
    return sqrt(float(np.var(f1[0] - f1[1])))
