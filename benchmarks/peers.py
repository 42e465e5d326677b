"""Other packages' measures of two texts, written as their own examples write them.

datasketch has no tokeniser: its README feeds it the words of a text. Windows of words and of
characters are what its users feed it most besides. The two uses of simhash are the one of its
documentation (windows of 3 characters) and the one that it has built in (windows of 4), which
is written out here: given a text, simhash 2.1.2 fails under NumPy 2 where a window occurs more
than 255 times, and counts the same otherwise.
"""

from __future__ import annotations

import re
from functools import lru_cache

from datasketch import MinHash
from simhash import Simhash

PERMUTATIONS = 128
BITS = 64
_CACHED = 4096  # texts: one stands in several pairs


def _words(text: str) -> list[str]:
    return text.lower().split()


@lru_cache(_CACHED)
def _of_words(text: str) -> MinHash:
    return _minhash(set(_words(text)))


@lru_cache(_CACHED)
def _of_five_words(text: str) -> MinHash:
    words = _words(text)
    return _minhash({" ".join(words[i : i + 5]) for i in range(max(len(words) - 4, 1))})


@lru_cache(_CACHED)
def _of_five_characters(text: str) -> MinHash:
    line = " ".join(_words(text))
    return _minhash({line[i : i + 5] for i in range(max(len(line) - 4, 1))})


def _minhash(features: set[str]) -> MinHash:
    sketch = MinHash(num_perm=PERMUTATIONS)
    sketch.update_batch([feature.encode() for feature in features])
    return sketch


def datasketch_words(a: str, b: str) -> float:
    """Return datasketch's estimate of the resemblance of two sets of words."""
    return float(_of_words(a).jaccard(_of_words(b)))


def datasketch_five_words(a: str, b: str) -> float:
    """Return datasketch's estimate of the resemblance of two sets of 5-word shingles."""
    return float(_of_five_words(a).jaccard(_of_five_words(b)))


def datasketch_five_characters(a: str, b: str) -> float:
    """Return datasketch's estimate of the resemblance of two sets of 5-character shingles."""
    return float(_of_five_characters(a).jaccard(_of_five_characters(b)))


@lru_cache(_CACHED)
def _of_characters(text: str, width: int) -> Simhash:
    line = re.sub(r"[^\w]+", "", text.lower())
    return Simhash([line[i : i + width] for i in range(max(len(line) - width + 1, 1))])


def _equal_bits(a: Simhash, b: Simhash) -> float:
    return (BITS - int(a.distance(b))) / BITS


def simhash_three_characters(a: str, b: str) -> float:
    """Return the share of equal bits of two Simhashes over windows of 3 characters."""
    return _equal_bits(_of_characters(a, 3), _of_characters(b, 3))


def simhash_four_characters(a: str, b: str) -> float:
    """Return the share of equal bits of two Simhashes over windows of 4 characters."""
    return _equal_bits(_of_characters(a, 4), _of_characters(b, 4))
