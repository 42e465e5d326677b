"""MinHash with locality-sensitive hashing, as datasketch and text-dedup use it.

`text_dedup` is written anew from the documentation of text-dedup's MinHash: signatures of some
permutations are cut into bands, texts that share a band are joined, and the first text of each
group stays. No resemblance is looked at again.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from datasketch import MinHash, MinHashLSH

from tests.peers.algorithms import shingles

if TYPE_CHECKING:
    from collections.abc import Sequence

_MERSENNE_PRIME = (1 << 61) - 1
_LARGEST_HASH = (1 << 32) - 1
_PERMUTATIONS = 128  # of datasketch


def sketches_of(texts: Sequence[str]) -> list[MinHash]:
    """Sketches of texts."""
    sketches = [MinHash(num_perm=_PERMUTATIONS) for _ in texts]
    for sketch, text in zip(sketches, texts, strict=True):
        sketch.update_batch([shingle.encode() for shingle in shingles(text)])
    return sketches


def datasketch_removed(sketches: Sequence[MinHash], threshold: float) -> set[int]:
    """Places of the sketches for which the index has an earlier one."""
    index = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    removed = set()
    for place, sketch in enumerate(sketches):
        if index.query(sketch):
            removed.add(place)
        else:
            index.insert(place, sketch)
    return removed


def text_dedup_removed(
    texts: Sequence[str], permutations: int = 250, bands: int = 25, rows: int = 10
) -> set[int]:
    """Places of the texts that are not the first of their group.

    The defaults are those of text-dedup: 25 bands of 10 rows are what its threshold of 0.7 gives.
    """
    random = np.random.default_rng(42)
    a = random.integers(1, _MERSENNE_PRIME, permutations, dtype=np.uint64)
    b = random.integers(0, _MERSENNE_PRIME, permutations, dtype=np.uint64)
    tables: list[dict[bytes, list[int]]] = [defaultdict(list) for _ in range(bands)]
    for place, text in enumerate(texts):
        ngrams = shingles(" ".join(re.split(r"\W", text)).lower())
        hashes = np.array([_sha1_hash(ngram) for ngram in ngrams], dtype=np.uint64)
        minima = ((np.outer(hashes, a) + b) % _MERSENNE_PRIME & _LARGEST_HASH).min(axis=0)
        for band, table in enumerate(tables):
            table[minima[band * rows : (band + 1) * rows].tobytes()].append(place)
    first = list(range(len(texts)))
    for table in tables:
        for group in table.values():
            roots = {_root(first, place) for place in group}
            for root in roots:
                first[root] = min(roots)
    return {place for place in range(len(texts)) if _root(first, place) != place}


def _sha1_hash(shingle: str) -> int:
    return int(struct.unpack("<I", hashlib.sha1(shingle.encode()).digest()[:4])[0])  # noqa: S324 (as the peer does)


def _root(first: list[int], place: int) -> int:
    while first[place] != place:
        place = first[place]
    return place
