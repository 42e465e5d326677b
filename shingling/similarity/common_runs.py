"""What two texts have in common in order: the longest run, the longest subsequence, the edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Hashes

MAX_WORD_PAIRS_ALIGNED = 10_000_000_000
"""Words of a x words of b beyond which subsequence and edits are not computed: 1 to 4 seconds."""


class Alignment(NamedTuple):
    """How two texts can be made one of the other.

    Args:
        longest_subsequence: words of the longest common subsequence: words that both have in the
            same order, with others between them.
        edit_distance: fewest words to insert, delete or replace (Levenshtein 1966).
    """

    longest_subsequence: int
    edit_distance: int


def longest_common_run(a: Sequence[str], b: Sequence[str]) -> int:
    """Words of the longest run in both texts.

    Runs of one length are numbered in both texts, so that equal ones have one number: those of
    twice the length by pairs of numbers (prefix doubling; Karp, Miller and Rosenberg 1972). From
    runs of 1, 2, 4, ... words the longest one is put together. Its time is O(n log(n) log(l)) for n
    words and a run of l.
    """
    runs = _single_words(a, b)
    doubled: list[Hashes] = []  # runs of 1, 2, 4, ... words
    while _have_common(runs, len(a)):
        doubled.append(runs)
        runs = _followed(runs, runs, 1 << (len(doubled) - 1))
    if not doubled:
        return 0
    longest, words = doubled.pop(), 1 << len(doubled)
    while doubled:
        longer = _followed(longest, doubled.pop(), words)
        if _have_common(longer, len(a)):
            longest, words = longer, words + (1 << len(doubled))
    return words


def _have_common(runs: Hashes, a_words: int) -> bool:
    """Whether a run of the first text is in the second one."""
    return bool(np.isin(runs[:a_words], runs[a_words + 1 :]).any())


def _followed(runs: Hashes, others: Hashes, words: int) -> Hashes:
    """Put other runs behind runs of so many words, and number what each two of them make."""
    behind = others[words:]
    pairs = runs[: len(behind)] << np.uint64(32) | behind
    _, numbers = np.unique(pairs, return_inverse=True)
    numbered: Hashes = numbers.astype(np.uint64)
    return numbered


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
    first, second = _numbered(a, b)
    # A word of one text alone is in no common subsequence.
    both = (first[np.isin(first, second)].tolist(), second[np.isin(second, first)].tolist())
    return Alignment(
        LCSseq.similarity(*both), Levenshtein.distance(first.tolist(), second.tolist())
    )


def _single_words(a: Sequence[str], b: Sequence[str]) -> Hashes:
    """Put the numbered words of both texts behind each other.

    A zero is between them: a run that goes beyond it is like no other.
    """
    first, second = _numbered(a, b)
    return np.concatenate([first, np.zeros(1, np.uint64), second])


def _numbered(*texts: Sequence[str]) -> list[Hashes]:
    """Give each word of texts a number; equal words have one number."""
    numbers: dict[str, int] = {}
    return [
        np.array([numbers.setdefault(word, len(numbers) + 1) for word in words], np.uint64)
        for words in texts
    ]
