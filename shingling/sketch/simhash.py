"""Fingerprints to SimHash (Charikar 2002; Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.idf import Idf
from shingling.sketch.shingles import UNITS, fingerprints, unit_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch.shingles import Fingerprints

BITS = 64
WIDTHS = (32, 64)
_CHUNK = 4096  # below 2^16, so that a 16-bit lane cannot overflow

_SHIFTS = np.arange(16, dtype=np.uint64)[:, np.newaxis]
_LANES = np.uint64(0x0001_0001_0001_0001)
_FEATURES = re.compile(r"(?P<unit>[a-z]+)(?::(?P<low>\d{1,3})(?:-(?P<high>\d{1,3}))?)?")
_LONGEST = 100


@dataclass(frozen=True)
class SimhashFeatures:
    """What a SimHash is made of.

    Args:
        bits: 32 or 64.
        features: `words`, `words:2` (shingles of two words), `words:1-3` (of one, two and
            three), `characters:4` (overlapping pieces of four), and so on.
        keywords: only so many words, those of the greatest weight; 0 takes all.
        idf: weights words by how rare they are; None weights features by how often they
            occur (tf). With `keywords` or `idf`, the features are `words`.

    Raises:
        SchemeError: a value that is not accepted.
    """

    bits: int = BITS
    features: str = "words:1-3"
    keywords: int = 0
    idf: Idf | None = None

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS or type(self.bits) is not int:
            raise SchemeError(f"simhash bits {self.bits!r} are not accepted: 32 or 64")
        if not isinstance(self.features, str) or self._parsed is None:
            raise SchemeError(
                f"simhash features {self.features!r} are not accepted: words or characters, with"
                " how many of them, such as words:2, words:1-3 or characters:4"
            )
        if self._parsed[1][-1] > _LONGEST:
            raise SchemeError(f"simhash features {self.features!r}: at most {_LONGEST} at a time")
        if type(self.keywords) is not int or self.keywords < 0:
            raise SchemeError(f"simhash keywords {self.keywords!r} are not accepted: 0 or more")
        if self.idf is not None and not isinstance(self.idf, Idf):
            raise SchemeError("simhash idf: not a table of document frequencies")
        if (self.keywords or self.idf) and self.features not in ("words", "words:1"):
            raise SchemeError(
                f"simhash keywords and idf weigh words: set features to 'words',"
                f" not {self.features!r}"
            )

    @cached_property
    def _parsed(self) -> tuple[str, range] | None:
        """Return unit and sizes of the features; None where the text of them says neither."""
        match = _FEATURES.fullmatch(self.features)
        if match is None or match["unit"] not in UNITS:
            return None
        low = int(match["low"] or 1)
        sizes = range(low, int(match["high"] or low) + 1)
        return (match["unit"], sizes) if low and sizes else None

    @property
    def shingle_sizes(self) -> range | None:
        """Return how many words the features have, where they are shingles and count equally."""
        assert self._parsed is not None
        unit, sizes = self._parsed
        return sizes if unit == "words" and not self.keywords and self.idf is None else None

    def simhash(self, words: Sequence[str], hashes: Fingerprints) -> int:
        """Return the SimHash of canonical words, given with their hashes."""
        assert self._parsed is not None
        unit, sizes = self._parsed
        if unit == "characters":
            hashes = unit_hashes(words, "characters")
        weights = None
        if self.keywords or self.idf:
            features, counts = np.unique(fingerprints(hashes, 1), return_counts=True)
            weights = counts.astype(np.int64)
            if self.idf is not None:
                distinct = np.unique(hashes)
                order = np.argsort(fingerprints(distinct, 1))
                weights *= self.idf.weights(distinct[order])
            if self.keywords and len(features) > self.keywords:
                chosen = np.lexsort((features, -weights))[: self.keywords]
                features, weights = features[chosen], weights[chosen]
        else:
            features = np.concatenate([fingerprints(hashes, size) for size in sizes])
        return simhash(features, weights) & ((1 << self.bits) - 1)


def simhash(
    features: Fingerprints, weights: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
) -> int:
    """Return the SimHash of features.

    Bit j is set where the features that have bit j set weigh more than half of all.

    Args:
        features: uint64[n], in any order.
        weights: int64[n]; None counts each feature once, so that features given for every
            occurrence are weighted by how often they occur (tf).

    Returns:
        64 bits as an int; 0 where there are no features.
    """
    if weights is None:
        counts, total = _count(features), len(features)
    else:
        bits = np.unpackbits(
            features.astype("<u8").view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"
        )
        counts, total = weights @ bits.astype(np.int64), int(weights.sum())
    return int.from_bytes(np.packbits(2 * counts > total, bitorder="little").tobytes(), "little")


def _count(features: Fingerprints) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many features have each bit set: int64[64]."""
    counts = np.zeros((16, 4), dtype=np.int64)  # [shift, lane]: bit 16 * lane + shift
    for start in range(0, len(features), _CHUNK):
        bits = (features[start : start + _CHUNK] >> _SHIFTS) & _LANES
        counts += bits.sum(axis=1, dtype="<u8").astype("<u8").view("<u2").reshape(16, 4)
    return counts.T.reshape(BITS)
