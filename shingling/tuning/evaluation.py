"""Thresholds on labelled pairs: precision and recall of each, and the choice of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.proportions import Proportion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Flags, Floats

THRESHOLDS = np.arange(1, 101) / 100
_FOLDS = 5
_F1_TOLERANCE = 0.002  # a threshold that loses no more is as good as the best


class Quality(NamedTuple):
    """Precision and recall of decisions, and their F1 (van Rijsbergen 1979), 0 to 1."""

    precision: Proportion
    recall: Proportion
    f1: float


def quality(decided: Flags, same: Flags) -> Quality:
    """Compute the quality of decisions on pairs.

    Args:
        decided: whether each pair is decided to be the same.
        same: whether it is labelled so.
    """
    right, taken, all_same = (int(flags.sum()) for flags in (decided & same, decided, same))
    return Quality(
        Proportion.of(right, taken),
        Proportion.of(right, all_same),
        2 * right / max(taken + all_same, 1),
    )


def curve(resemblances: Floats, same: Flags) -> Floats:
    """Compute precision, recall and F1 at each of `THRESHOLDS`: float64[3, 100]."""
    decided = resemblances >= THRESHOLDS[:, None]
    right, taken, all_same = (decided & same).sum(axis=1), decided.sum(axis=1), same.sum()
    return np.stack(
        [
            right / np.maximum(taken, 1),
            right / np.maximum(all_same, 1),
            2 * right / np.maximum(taken + all_same, 1),
        ]
    )


def choose(resemblances: Floats, same: Flags) -> float:
    """Choose the threshold with the highest F1, in the middle of those that are equally good.

    The middle, because resemblances of unseen pairs may lie on either side.
    """
    f1 = curve(resemblances, same)[2]
    best = THRESHOLDS[f1 >= f1.max() - _F1_TOLERANCE]
    return float(best[(len(best) - 1) // 2])


def cross_validated(resemblances: Floats, same: Flags, order: Sequence[bytes]) -> Flags:
    """Decide each pair by a threshold that is chosen on the other folds (Kohavi 1995): bool[n].

    Args:
        resemblances: of the pairs.
        same: their labels, of which each fold has its share.
        order: hashes of the pairs, by which they are given to folds.
    """
    ranked = sorted(range(len(same)), key=lambda place: (bool(same[place]), order[place]))
    folds = np.empty(len(same), np.int64)
    folds[ranked] = np.arange(len(same)) % _FOLDS
    decided = np.zeros(len(same), np.bool_)
    for fold in range(_FOLDS):
        out = folds == fold
        decided[out] = resemblances[out] >= choose(resemblances[~out], same[~out])
    return decided
