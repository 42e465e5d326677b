"""Thresholds on labelled pairs: precision and recall of each, and the choice of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Flags, Floats

THRESHOLDS = np.arange(1, 101) / 100
_FOLDS = 5
_F1_TOLERANCE = 0.002  # a threshold that loses no more is as good as the best
_TAIL = 0.025  # probability beyond each end of an interval
_HALVINGS = 40


class Proportion(NamedTuple):
    """A proportion of pairs, 0 to 1, and the exact binomial interval of 95 % around it."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, found: int, number: int) -> Proportion:
        """Compute the proportion of `found` in `number`; of nothing, nothing is known.

        By Clopper and Pearson (1934).
        """
        if not number:
            return cls(0.0, 0.0, 1.0)
        low, high = _lower_end(found, number), 1 - _lower_end(number - found, number)
        return cls(found / number, low, high)

    def __str__(self) -> str:
        """Write the proportion with its interval."""
        return f"{self.value:.3f} ({self.low:.2f} to {self.high:.2f})"


def most_wrong(wrong: int, number: int) -> float:
    """Compute the highest share that is wrong, with 95 % confidence, if so many of a number are.

    By Clopper and Pearson (1934), on one side. If none is wrong, it is 1 - 0.05^(1/n), about 3/n:
    the rule of three (Hanley and Lippman-Hand 1983).
    """
    return 1 - _lower_end(number - wrong, number, 2 * _TAIL)


def number_needed(wrong: int, share: float) -> int:
    """Find how many must be looked at, of which so many are wrong, for at most a share of all."""
    low, high = wrong, wrong + 1
    while most_wrong(wrong, high) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if most_wrong(wrong, middle) <= share else (middle, high)
    return high


def _lower_end(found: int, number: int, tail: float = _TAIL) -> float:
    """Find the chance by which `found` of `number`, or more, are met with probability `tail`."""
    if not found:
        return 0.0
    numbers = np.arange(number + 1)
    log_factorials = np.log(np.maximum(numbers, 1)).cumsum()
    log_ways = log_factorials[-1] - log_factorials - log_factorials[::-1]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        chance = (low + high) / 2
        logs = log_ways + numbers * np.log(chance) + numbers[::-1] * np.log1p(-chance)
        if np.exp(logs[found:]).sum() < tail:
            low = chance
        else:
            high = chance
    return low


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
    found, taken, all_same = (int(flags.sum()) for flags in (decided & same, decided, same))
    return Quality(
        Proportion.of(found, taken),
        Proportion.of(found, all_same),
        2 * found / max(taken + all_same, 1),
    )


def curve(resemblances: Floats, same: Flags) -> Floats:
    """Compute precision, recall and F1 at each of `THRESHOLDS`: float64[3, 100]."""
    decided = resemblances >= THRESHOLDS[:, None]
    found, taken, all_same = (decided & same).sum(axis=1), decided.sum(axis=1), same.sum()
    return np.stack(
        [
            found / np.maximum(taken, 1),
            found / np.maximum(all_same, 1),
            2 * found / np.maximum(taken + all_same, 1),
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
