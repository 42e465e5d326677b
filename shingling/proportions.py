"""Proportions of what was looked at, and what they say of all: exact binomial bounds."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

_TAIL = 0.025  # probability beyond each end of an interval
_HALVINGS = 40


class Proportion(NamedTuple):
    """A proportion, 0 to 1, and the exact binomial interval of 95 % around it."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, part: int, number: int) -> Proportion:
        """Compute the proportion of `part` in `number`; of nothing, nothing is known.

        By Clopper and Pearson (1934).
        """
        if not number:
            return cls(0.0, 0.0, 1.0)
        low, high = _lower_end(part, number), 1 - _lower_end(number - part, number)
        return cls(part / number, low, high)

    def __str__(self) -> str:
        """Write the proportion with its interval; a dash if it is one of nothing."""
        if self.low == 0 and self.high == 1:  # of anything, one end is closer
            return "–"
        return f"{self.value:.3f} ({self.low:.2f} to {self.high:.2f})"


def most_wrong(wrong: int, number: int) -> float:
    """Compute the highest share that is wrong, with 95 % confidence, if so many of a number are.

    By Clopper and Pearson (1934), on one side. If none is wrong, it is 1 - 0.05^(1/n), about 3/n:
    the rule of three (Hanley and Lippman-Hand 1983).
    """
    return 1 - _lower_end(number - wrong, number, 2 * _TAIL)


def number_needed(wrong: int, share: float) -> int:
    """Find how many must be looked at, of which so many are wrong, for at most a share of all."""
    enough = range(int((2 * wrong + 10) / share))  # more than enough: about (wrong + 3) / share
    return bisect_left(
        enough, True, lo=wrong + 1, key=lambda number: most_wrong(wrong, number) <= share
    )


def _lower_end(part: int, number: int, tail: float = _TAIL) -> float:
    """Find the chance by which `part` of `number`, or more, are met with probability `tail`."""
    if not part:
        return 0.0
    numbers = np.arange(number + 1)
    log_factorials = np.log(np.maximum(numbers, 1)).cumsum()
    log_ways = log_factorials[-1] - log_factorials - log_factorials[::-1]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        chance = (low + high) / 2
        logs = log_ways + numbers * np.log(chance) + numbers[::-1] * np.log1p(-chance)
        if np.exp(logs[part:]).sum() < tail:
            low = chance
        else:
            high = chance
    return low
