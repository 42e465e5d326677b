"""How often decisions on labelled pairs are right, and the thresholds that make them so."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


Values: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True)
class Figures:
    """How often decisions are right.

    Args:
        found: pairs rightly called the same.
        wrong: pairs wrongly called the same.
        missed: pairs wrongly called different.
    """

    found: int
    wrong: int
    missed: int

    @classmethod
    def of(cls, decided: Flags, same: Flags) -> Figures:
        """Return the figures of decisions, given the answers."""
        return cls(
            int(np.sum(decided & same)),
            int(np.sum(decided & ~same)),
            int(np.sum(~decided & same)),
        )

    @property
    def precision(self) -> float | None:
        """Return found / all called the same; None where none was."""
        called = self.found + self.wrong
        return self.found / called if called else None

    @property
    def recall(self) -> float | None:
        """Return found / all that are the same; None where none is."""
        there = self.found + self.missed
        return self.found / there if there else None

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall; 0.0 where nothing was found."""
        return 2 * self.found / max(2 * self.found + self.wrong + self.missed, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and what follows from them."""
        shares = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**asdict(self), **shares}


def halves(groups: Sequence[str]) -> Flags:
    """Return which of the pairs are in the first half, given their groups.

    The largest groups are dealt first, each to the smaller half: hashes break ties.
    """
    sizes = Counter(groups)
    order = sorted(
        sizes, key=lambda group: (-sizes[group], hashlib.blake2b(group.encode()).digest())
    )
    first: set[str] = set()
    ahead = 0
    for group in order:
        if ahead <= 0:
            first.add(group)
            ahead += sizes[group]
        else:
            ahead -= sizes[group]
    return np.array([group in first for group in groups], dtype=np.bool_)


def accepted(scores: Scores, thresholds: Sequence[float]) -> Flags:
    """Return which pairs reach every threshold."""
    reached: Flags = np.all(scores >= np.array(thresholds), axis=1)
    return reached


def _best_cut(values: Values, same: Flags, there: int) -> tuple[float, float]:
    """Return the greatest F1 and the highest threshold that reaches it.

    The threshold lies half-way to the next lower value. `there` counts the pairs that are
    the same, also those that are not among the values.
    """
    levels = np.unique(values)[::-1]
    reached = np.searchsorted(np.sort(-values), -levels, side="right")
    found = np.searchsorted(np.sort(-values[same]), -levels, side="right")
    f1 = 2 * found / (reached + there)
    best = int(np.argmax(f1))
    lower = levels[best + 1] if best + 1 < len(levels) else levels[best]
    return float(f1[best]), float(levels[best] + lower) / 2


def tune(scores: Scores, same: Flags) -> tuple[float, ...]:
    """Return the thresholds of the greatest F1; of two, every pair of values is tried."""
    there = int(np.sum(same))
    last = scores[:, -1]
    if scores.shape[1] == 1:
        return (_best_cut(last, same, there)[1],)
    first = scores[:, 0]
    tried = []
    for cut in np.unique(first):
        inside = first >= cut
        tried.append((*_best_cut(last[inside], same[inside], there), float(cut)))
    _, threshold, cut = max(tried)
    return cut, threshold


def ranks(values: Values) -> Values:
    """Return the ranks of values from 1 up; equal ones share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    means = np.cumsum(counts) - (counts - 1) / 2
    taken: Values = means[place]
    return taken


def auc(scores: Scores, same: Flags) -> float | None:
    """Return how often a pair that is the same scores above one that is not; a tie is half.

    Exact, from the ranks (Mann and Whitney 1947). Of two scores, the lower of the two ranks
    counts. None where there are no pairs of one kind.
    """
    there, rest = int(np.sum(same)), int(np.sum(~same))
    if not (there and rest):
        return None
    lower = np.min([ranks(column) for column in scores.T], axis=0)
    above = float(np.sum(ranks(lower)[same])) - there * (there + 1) / 2
    return above / (there * rest)


def held_out(scores: Scores, same: Flags, first: Flags) -> tuple[Figures, list[tuple[float, ...]]]:
    """Return the figures of both halves by the thresholds of the other, and the thresholds."""
    decided = np.zeros(len(same), dtype=np.bool_)
    thresholds = []
    for half in (first, ~first):
        thresholds.append(tune(scores[~half], same[~half]))
        decided[half] = accepted(scores[half], thresholds[-1])
    return Figures.of(decided, same), thresholds


def evaluate(scores: Scores, same: Flags, first: Flags, usual: Sequence[float]) -> dict[str, Any]:
    """Return AUC, the figures at tuned thresholds and those at the usual ones."""
    figures, thresholds = held_out(scores, same, first)
    return {
        "auc": auc(scores, same),
        "tuned": {"thresholds": thresholds, **figures.as_dict()},
        "usual": {
            "thresholds": list(usual),
            **Figures.of(accepted(scores, usual), same).as_dict(),
        },
    }
