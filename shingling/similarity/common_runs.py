"""What two texts have in common in order: the longest run, the longest subsequence, the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

MAX_WORD_PAIRS_ALIGNED = 10_000_000_000
"""Words of a x words of b beyond which subsequence and edits are not computed: 1 to 4 seconds."""


class Run(NamedTuple):
    """A run of words that two texts share: how long it is, and where it begins in each."""

    words: int
    a: int
    b: int


class Alignment(NamedTuple):
    """How two texts can be made one of the other.

    Args:
        longest_subsequence: words of the longest common subsequence: words that both have in the
            same order, with others between them.
        edit_distance: fewest words to insert, delete or replace (Levenshtein 1966).
    """

    longest_subsequence: int
    edit_distance: int


def longest_common_run(a: Sequence[str], b: Sequence[str]) -> Run:
    """Longest run of words in both texts; the first one in `a` among equals.

    All runs of one length are numbered, equal ones alike. Two neighbouring runs give one that is
    as long as both, so lengths are doubled while the texts have a run in common, and what was
    found is made longer by ever smaller ones (Karp, Miller and Rosenberg 1972): O(n log² n).
    """
    border = len(a)  # a word of neither text stands there, so that no common run goes across
    words = _numbered([*a, "", *b], {"": 0})
    doubled = []  # runs of 1, 2, 4, ... words
    longer = words
    while _are_common(longer, border):
        doubled.append(longer)
        longer = _joined(longer, longer[1 << (len(doubled) - 1) :])
    runs, size = np.zeros(len(words) + 1, np.int64), 0
    for power in reversed(range(len(doubled))):
        longer = _joined(runs, doubled[power][size:])
        if _are_common(longer, border):
            runs, size = longer, size + (1 << power)
    if not size:
        return Run(0, 0, 0)
    start = int(np.argmax(np.isin(runs[:border], runs[border + 1 :])))
    return Run(size, start, int(np.argmax(runs[border + 1 :] == runs[start])))


def _joined(first: Numbers, second: Numbers) -> Numbers:
    """Numbers of the pairs of a run in `first` and the one at its place in `second`."""
    count = min(len(first), len(second))
    pairs = first[:count] * (len(first) + 1) + second[:count]
    numbers: Numbers = np.unique(pairs, return_inverse=True)[1]
    return numbers


def _are_common(runs: Numbers, border: int) -> bool:
    """Whether some run is before the border and after it."""
    return bool(np.isin(runs[:border], runs[border + 1 :]).any())


def align(a: Sequence[str], b: Sequence[str]) -> Alignment | None:
    """Longest common subsequence and edit distance of two texts, in words, by rapidfuzz.

    None where rapidfuzz is not installed, or the texts have more than `MAX_WORD_PAIRS_ALIGNED`
    pairs of words: the time grows with these (bit-parallel; Hyyro 2003 and 2004).
    """
    if len(a) * len(b) > MAX_WORD_PAIRS_ALIGNED:
        return None
    try:
        from rapidfuzz.distance import LCSseq, Levenshtein
    except ImportError:
        return None
    numbers: dict[str, int] = {}
    first, second = (_numbered(words, numbers) for words in (a, b))
    # A word of one text alone is in no common subsequence.
    both = (first[np.isin(first, second)].tolist(), second[np.isin(second, first)].tolist())
    return Alignment(
        LCSseq.similarity(*both), Levenshtein.distance(first.tolist(), second.tolist())
    )


def _numbered(words: Sequence[str], numbers: dict[str, int]) -> Numbers:
    return np.fromiter(
        (numbers.setdefault(word, len(numbers) + 1) for word in words), np.int64, len(words)
    )
