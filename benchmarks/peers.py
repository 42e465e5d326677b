"""Other packages' measures of two texts, written as their own examples write them.

datasketch has no tokeniser: its README feeds it the words of a text; windows of words are what its
users feed it besides. simhash gets windows of 3 characters, as in its documentation.
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


@lru_cache(_CACHED)
def _of_three_characters(text: str) -> Simhash:
    line = re.sub(r"[^\w]+", "", text.lower())
    return Simhash([line[i : i + 3] for i in range(max(len(line) - 2, 1))])


def simhash_three_characters(a: str, b: str) -> float:
    """Return the share of equal bits of two Simhashes over windows of 3 characters."""
    return (BITS - int(_of_three_characters(a).distance(_of_three_characters(b)))) / BITS
