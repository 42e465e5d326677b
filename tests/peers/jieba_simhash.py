"""SimHash of the thirty words of a text that weigh most by tf-idf, cut and weighed by jieba.

Written anew from an article on a collection in MongoDB. Its hash of a word is Python's own, which
differs from one run to the next; here it is another one of 64 bits.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from jieba import analyse

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEYWORDS = 30
_BITS = 64


def simhash(text: str) -> int:
    votes = [0.0] * _BITS
    for word, weight in analyse.extract_tags(text, topK=_KEYWORDS, withWeight=True):
        digest = hashlib.blake2b(word.encode(), digest_size=_BITS // 8).digest()
        value = int.from_bytes(digest, "big")
        for bit in range(_BITS):
            votes[bit] += weight if value >> bit & 1 else -weight
    return sum(1 << bit for bit in range(_BITS) if votes[bit] > 0)


def removed(texts: Iterable[str], least_distance: int = 3) -> dict[int, list[int]]:
    """Places of texts that differ in fewer bits from an earlier one that stays: from which ones."""
    kept: list[tuple[int, int]] = []
    found = {}
    for place, text in enumerate(texts):
        bits = simhash(text)
        near = [one for one, other in kept if (bits ^ other).bit_count() < least_distance]
        if near:
            found[place] = near
        else:
            kept.append((place, bits))
    return found
