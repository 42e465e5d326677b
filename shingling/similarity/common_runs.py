"""What two texts have in common in order: the longest run, the longest subsequence, the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Hashes


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

    Runs of one length are numbered in both texts, so that equal ones have one number: those of
    twice the length by pairs of numbers (prefix doubling; Karp, Miller and Rosenberg 1972). From
    runs of 1, 2, 4, ... words the longest one is put together. Its time is O(n log(n) log(l)) for n
    words and a run of l.
    """
    numbers: dict[str, int] = {}
    first, second = (_numbered(words, numbers) for words in (a, b))
    runs = _Runs(1, first, second)
    doubled: list[_Runs] = []
    while runs.are_common:
        doubled.append(runs)
        runs = runs.followed_by(runs)
    if not doubled:
        return Run(0, 0, 0)
    longest = doubled.pop()
    for runs in reversed(doubled):
        longer = longest.followed_by(runs)
        longest = longer if longer.are_common else longest
    start = int(np.argmax(np.isin(longest.a, longest.b)))
    return Run(longest.words, start, int(np.argmax(longest.b == longest.a[start])))


class _Runs(NamedTuple):
    """Numbers of all runs of so many words, by the word that they begin at in each text."""

    words: int
    a: Hashes
    b: Hashes

    @property
    def are_common(self) -> bool:
        return bool(np.isin(self.a, self.b).any())

    def followed_by(self, others: _Runs) -> _Runs:
        """Put runs behind these, and number what each two of them make."""
        pairs = [_pairs(self.a, others.a, self.words), _pairs(self.b, others.b, self.words)]
        _, numbers = np.unique(np.concatenate(pairs), return_inverse=True)
        found = numbers.astype(np.uint64)
        return _Runs(self.words + others.words, found[: len(pairs[0])], found[len(pairs[0]) :])


def _pairs(first: Hashes, second: Hashes, words: int) -> Hashes:
    """Numbers of runs, each with that of the run that begins so many words later: in one number."""
    behind = second[words:]
    return (first[: len(behind)] << np.uint64(32)) | behind


def align(a: Sequence[str], b: Sequence[str]) -> Alignment | None:
    """Longest common subsequence and edit distance of two texts, in words, by rapidfuzz.

    None if rapidfuzz is not installed, or the texts have more than `MAX_WORD_PAIRS_ALIGNED`
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


def _numbered(words: Sequence[str], numbers: dict[str, int]) -> Hashes:
    return np.fromiter(
        (numbers.setdefault(word, len(numbers) + 1) for word in words), np.uint64, len(words)
    )
