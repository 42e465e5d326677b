"""Words -> features -> SimHash (Charikar 2002; Manku, Jain and Das Sarma 2007).

Features are fingerprints of short shingles, beside those that minima are made of. They are weighted
by how often they occur, or also by how rare words are in documents (`Idf`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.errors import SchemeError, require_accepted
from shingling.sketch.shingles import UNITS, fingerprints, fmix64, unit_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Fingerprints, Integers, Octets
    from shingling.sketch.idf import Idf


BITS = 64
WIDTHS = (32, 64)
"""Bits that a SimHash may have."""

_CHUNK_FEATURES = 4096  # counted in 16 bits
_FEATURES = re.compile(
    r"(?P<unit>[a-z+]+)(?::(?P<low>\d{1,3})(?:-(?P<high>\d{1,3})|:(?P<overlap>\d{1,3}))?)?"
)
_MAX_FEATURE_SIZE = 100  # words or characters


class _Pieces(NamedTuple):
    """Features as parsed: pieces of so many units, each beginning `step` units after the last."""

    unit: str
    sizes: range
    step: int


def _parse(features: str) -> _Pieces:
    """Parse features.

    Raises:
        SchemeError: they are not accepted.
    """
    match = _FEATURES.fullmatch(features) if isinstance(features, str) else None
    if match is not None and match["unit"] in UNITS:
        low = int(match["low"] or 1)
        sizes = range(low, int(match["high"] or low) + 1)
        step = low - int(match["overlap"] or low - 1)
        if sizes and sizes[-1] > _MAX_FEATURE_SIZE:
            raise SchemeError(
                f"simhash features {features!r}: at most {_MAX_FEATURE_SIZE} at a time"
            )
        if low and sizes and step > 0:
            return _Pieces(match["unit"], sizes, step)
    raise SchemeError(
        f"simhash features {features!r} are not accepted: {', '.join(UNITS[:-1])} or"
        f" {UNITS[-1]}, with how many of them, such as words:2, words:1-3 or characters:4,"
        " and by how many neighbours overlap, such as characters:4:3"
    )


def feature_hashes(words: Sequence[str], features: str) -> Fingerprints:
    """Fingerprints of the features of canonical words, as a SimHash is made of them: uint64[n].

    Raises:
        SchemeError: the features are not accepted; see `SimhashFeatures`.
    """
    pieces = _parse(features)
    return _hashes_of_pieces(unit_hashes(words, pieces.unit), pieces)


def _hashes_of_pieces(hashes: Fingerprints, pieces: _Pieces) -> Fingerprints:
    return np.concatenate([fingerprints(hashes, size)[:: pieces.step] for size in pieces.sizes])


@dataclass(frozen=True)
class SimhashFeatures:
    """What a SimHash is made of.

    Args:
        bits: 32 or 64.
        features: "words", "words:2" (shingles of two words), "words:1-3" (of one, two and
            three), "characters:4" (shingles of four characters), and so on. Of
            "characters+blanks:4", blanks between words count. Shingles overlap by all units but
            one; by another number with "characters:4:2", and "characters:4:0" are end to end.
        keywords: number of words that count, those of the greatest weight; 0 for all.
        idf: weights words by how rare they are in documents, times how often they occur
            (tf-idf); None weights features by how often they occur (tf). With `keywords` or
            `idf`, features are "words".

    Raises:
        SchemeError: a parameter has a value that is not accepted.
    """

    bits: int = BITS
    features: str = "words:1-3"
    keywords: int = 0
    idf: Idf | None = None

    def __post_init__(self) -> None:
        is_width = type(self.bits) is int and self.bits in WIDTHS
        require_accepted(is_width, "simhash bits", self.bits, "32 or 64")
        _ = self._pieces
        is_number = type(self.keywords) is int and self.keywords >= 0
        require_accepted(is_number, "simhash keywords", self.keywords, "0 or more")
        if self.idf is not None:
            from shingling.sketch.idf import Idf

            if not isinstance(self.idf, Idf):
                raise SchemeError("simhash idf: not a table of document frequencies")
        if (self.keywords or self.idf) and self.features not in ("words", "words:1"):
            raise SchemeError(
                f"simhash keywords and idf weigh words: set features to 'words',"
                f" not {self.features!r}"
            )

    @cached_property
    def _pieces(self) -> _Pieces:
        return _parse(self.features)

    @cached_property
    def _tf_sizes(self) -> range | None:
        """Sizes of the features if they are shingles of words weighted by tf, else None."""
        pieces = self._pieces
        if self.keywords or self.idf or pieces.unit != "words" or pieces.step != 1:
            return None
        return pieces.sizes


def simhash_of_words(words: Sequence[str], hashes: Fingerprints, features: SimhashFeatures) -> int:
    """SimHash of canonical words.

    Args:
        words: canonical words.
        hashes: their `word_hashes`, uint64[n].
        features: that the SimHash is made of.

    Returns:
        32 or 64 bits as an int.
    """
    if features.keywords or features.idf:
        hashed = simhash(*_weighted_words(hashes, features))
    else:
        pieces = features._pieces
        if pieces.unit != "words":
            hashes = unit_hashes(words, pieces.unit)
        hashed = simhash(_hashes_of_pieces(hashes, pieces))
    return hashed & ((1 << features.bits) - 1)


def _weighted_words(
    hashes: Fingerprints, features: SimhashFeatures
) -> tuple[Fingerprints, Integers]:
    """Fingerprints of single words, and their weights: tf or tf-idf."""
    distinct, counts = np.unique(hashes, return_counts=True)
    weights = counts.astype(np.int64)
    if features.idf is not None:
        from shingling.sketch.idf import word_weights

        weights *= word_weights(features.idf, distinct)
    values = fmix64(distinct)
    if features.keywords:
        chosen = np.lexsort((values, -weights))[: features.keywords]
        values, weights = values[chosen], weights[chosen]
    return values, weights


def simhash(features: Fingerprints, weights: Integers | None = None) -> int:
    """SimHash of features: bit j is set if it is set in more than half of their weight.

    Args:
        features: uint64[n], in any order.
        weights: int64[n]; None counts each feature once, so that features given for every
            occurrence are weighted by how often they occur (tf).

    Returns:
        64 bits as an int; 0 if there are no features.
    """
    if weights is None:
        counts, total = _count_bits(features), len(features)
    else:
        counts = weights @ _bits_of(features)
        total = int(weights.sum())
    return int.from_bytes(np.packbits(2 * counts > total, bitorder="little").tobytes(), "little")


def _count_bits(features: Fingerprints) -> Integers:
    """Count the features that have each bit set: int64[64]."""
    counts = np.zeros(BITS, np.int64)
    for start in range(0, len(features), _CHUNK_FEATURES):
        bits = _bits_of(features[start : start + _CHUNK_FEATURES])
        counts += bits.sum(axis=0, dtype=np.uint16)
    return counts


def _bits_of(features: Fingerprints) -> Octets:
    """Bits of features, the lowest first: uint8[n, 64]."""
    raw = features.astype("<u8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(raw, axis=1, bitorder="little")
