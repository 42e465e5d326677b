"""What two texts have in common in order: the longest run, the longest subsequence, the edits."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

MAX_WORD_PAIRS_ALIGNED = 10_000_000_000
"""Words of a x words of b beyond which subsequence and edits are not computed: 1 to 4 seconds."""

_PRIMES = ((1 << 31) - 1, (1 << 31) - 19)  # their products with a residue fit into 64 bits


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

    Its length is found by bisection, since a common run has common runs of every smaller length:
    for one length, the polynomial hashes of all runs are compared (Karp and Rabin 1987), modulo
    two primes and with random bases. What is found is compared word by word, so that the result
    is exact: O(n log n) for n words, and radix sorts.
    """
    numbers: dict[str, int] = {}
    ids = [_numbered(words, numbers) for words in (a, b)]
    found = None
    while found is None:  # again where hashes collide, which nobody can provoke
        found = _longest_by_hashes(*ids)
    return found


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
        (numbers.setdefault(word, len(numbers) + 1) for word in words), np.uint64, len(words)
    )


def _longest_by_hashes(a: Numbers, b: Numbers) -> Run | None:
    """Longest common run of numbered words; None where hashes of two other runs collide."""
    hashed = _RunHashes(a, b)
    low, high = 0, min(len(a), len(b))  # runs of `low` words are common, longer than `high` not
    while low < high:
        middle = (low + high + 1) // 2
        if hashed.have_common(middle):
            low = middle
        else:
            high = middle - 1
    if not low:
        return Run(0, 0, 0)
    first, second = hashed.of_runs(low)
    start = int(np.argmax(np.isin(first, second)))
    other = int(np.argmax(second == first[start]))
    same = np.array_equal(a[start : start + low], b[other : other + low])
    return Run(low, start, other) if same else None


class _RunHashes:
    """Polynomial hashes of all runs of two texts, from sums over their beginnings."""

    def __init__(self, a: Numbers, b: Numbers) -> None:
        self._lengths = len(a), len(b)
        longest = max(self._lengths)
        self._powers = []
        self._sums = []
        for prime in _PRIMES:
            powers = _powers(secrets.randbelow(prime - 2) + 2, longest + 1, prime)
            # Sums of residues below 2^31: no overflow below 2^33 words.
            self._sums.append(
                [
                    np.concatenate(
                        [
                            np.zeros(1, np.uint64),
                            np.cumsum(words * powers[: len(words)] % np.uint64(prime)),
                        ]
                    )
                    % np.uint64(prime)
                    for words in (a, b)
                ]
            )
            self._powers.append(powers)

    def of_runs(self, size: int) -> tuple[Numbers, Numbers]:
        """Hashes of the runs of `size` words of both texts, below 2^62."""
        first, second = (self._of_text(place, size) for place in (0, 1))
        return first, second

    def _of_text(self, place: int, size: int) -> Numbers:
        count = self._lengths[place] - size + 1
        longest = max(self._lengths)
        joined = np.zeros(count, np.uint64)
        for number, powers, sums in zip(_PRIMES, self._powers, self._sums, strict=True):
            prime, own = np.uint64(number), sums[place]
            values = (own[size : size + count] + prime - own[:count]) % prime
            # All runs as if they began at the last word.
            values *= powers[longest : longest - count : -1]
            joined = (joined << np.uint64(31)) | (values % prime)
        return joined

    def have_common(self, size: int) -> bool:
        """Whether the texts have equal hashes of runs of this size: one sort of both."""
        first, second = self.of_runs(size)
        one = np.uint64(1)
        marked = np.sort(np.concatenate([first << one, (second << one) | one]))
        # The last of a among equals stands before the first of b.
        return bool(((marked[1:] ^ marked[:-1]) == one).any())


def _powers(base: int, count: int, prime: int) -> Numbers:
    """First powers of a base, modulo a prime: uint64[count]."""
    powers = np.ones(count, np.uint64)
    done = 1
    while done < count:
        more = min(done, count - done)
        powers[done : done + more] = powers[:more] * np.uint64(pow(base, done, prime))
        powers[done : done + more] %= np.uint64(prime)
        done += more
    return powers
