"""The longest run of words that two texts have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Ranks: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


class Run(NamedTuple):
    """A run of words that two texts share: how long it is, and where it begins in each."""

    words: int
    a: int
    b: int


def longest_common_run(a: Sequence[str], b: Sequence[str]) -> Run:
    """Longest run of words in both texts; the first one in `a` among equals.

    Runs of 1, 2, 4, 8, ... words are numbered by what they say (prefix doubling; Karp,
    Miller and Rosenberg 1972), and the longest is put together from these:
    O(n log^2 n) for n words, and exact.
    """
    numbers: dict[str, int] = {}
    ladder = [(_numbered(a, numbers), _numbered(b, numbers))]
    if not len(np.intersect1d(*ladder[0])):
        return Run(0, 0, 0)
    while True:
        step = 1 << (len(ladder) - 1)
        first, second = ladder[-1]
        if min(len(first), len(second)) <= step:
            break
        longer = _joined(first[:-step], first[step:], second[:-step], second[step:])
        if not len(np.intersect1d(*longer)):
            break
        ladder.append(longer)
    length = 1 << (len(ladder) - 1)
    found = ladder.pop()
    while ladder:
        first, second = ladder.pop()
        step = 1 << len(ladder)
        counts = len(a) - length - step + 1, len(b) - length - step + 1
        if min(counts) < 1:
            continue
        longer = _joined(
            found[0][: counts[0]],
            first[length : length + counts[0]],
            found[1][: counts[1]],
            second[length : length + counts[1]],
        )
        if len(np.intersect1d(*longer)):
            found = longer
            length += step
    shared = np.isin(found[0], found[1])
    start = int(np.argmax(shared))
    return Run(length, start, int(np.argmax(found[1] == found[0][start])))


def _numbered(words: Sequence[str], numbers: dict[str, int]) -> Ranks:
    return np.fromiter(
        (numbers.setdefault(word, len(numbers)) for word in words), np.int64, len(words)
    )


def _joined(a: Ranks, a_next: Ranks, b: Ranks, b_next: Ranks) -> tuple[Ranks, Ranks]:
    """Ranks of the pairs of neighbouring runs of both texts; equal ones have one."""
    most = int(max(a_next.max(), b_next.max())) + 1
    pairs = np.concatenate([a * most + a_next, b * most + b_next])
    ranks = np.unique(pairs, return_inverse=True)[1]
    return ranks[: len(a)], ranks[len(a) :]
