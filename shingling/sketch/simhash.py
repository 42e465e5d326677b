"""Words -> features -> SimHash (Charikar 2002; Manku, Jain and Das Sarma 2007).

Features are fingerprints of short shingles, beside those that minima are made of. They are weighted
by how often they occur, or also by how rare words are in documents (`Idf`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.shingles import UNITS, fingerprints, fmix64, unit_hashes, word_hashes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from shingling.arrays import Fingerprints, Floats, Integers, Records


_N = TypeVar("_N", bound=np.generic)
_WEIGHT_UNIT = 256  # weight of a word that every document has
_MAX_WORDS = 20_000
_ENTRY = np.dtype([("hash", "<u8"), ("weight", "<u2")])


@dataclass(frozen=True, repr=False)
class Idf:
    """Inverse document frequencies of words (Spärck Jones 1972, smoothed).

    A word in d of N documents weighs 256 (1 + ln((1 + N) / (1 + d))), rounded to a whole number
    so that it is the same on every machine. Words that are not in the table have d = 0. `learn`
    makes the table from documents; `len` is the number of words in it.

    Args:
        documents: N, 1 or more.
        table: word hashes and weights, compressed, in base64.

    Raises:
        SchemeError: `documents` is not accepted, or `table` cannot be read.
    """

    documents: int
    table: str

    def __post_init__(self) -> None:
        if type(self.documents) is not int or self.documents < 1:
            raise SchemeError(f"idf: {self.documents!r} documents are not accepted: 1 or more")
        if not isinstance(self.table, str):
            raise SchemeError("idf: the table is not a string in base64")
        _ = self._entries

    def __repr__(self) -> str:
        return f"Idf({self.documents:,} documents, {len(self._entries):,} words)"

    @cached_property
    def _entries(self) -> Records:
        try:
            raw = zlib.decompress(base64.b64decode(self.table, validate=True))
            entries = np.frombuffer(raw, dtype=_ENTRY)
        except (ValueError, zlib.error, binascii.Error) as error:
            raise SchemeError(f"idf: the table cannot be read ({error})") from error
        if not (np.diff(entries["hash"].astype(object)) > 0).all():
            raise SchemeError("idf: the table is not sorted")
        return entries

    def __len__(self) -> int:
        return len(self._entries)

    @classmethod
    def learn(cls, documents: Iterable[Sequence[str]], max_words: int = _MAX_WORDS) -> Idf:
        """Learn the table from documents, each given as its canonical words.

        Args:
            documents: at least one.
            max_words: words in the table, at most; the most frequent ones are kept. Words of a
                single document are left out.

        Raises:
            SchemeError: there are no documents.
        """
        counts: Counter[int] = Counter()
        number = 0
        for words in documents:
            number += 1
            counts.update(set(word_hashes(words).tolist()))
        if not number:
            raise SchemeError("idf: there are no documents to learn from")
        frequent = sorted(
            (item for item in counts.items() if item[1] > 1), key=lambda item: (-item[1], item[0])
        )
        rows = sorted((value, _weight(number, count)) for value, count in frequent[:max_words])
        raw = np.array(rows, dtype=_ENTRY).tobytes()
        return cls(number, base64.b64encode(zlib.compress(raw, 9)).decode("ascii"))

    def to_json(self) -> str:
        """JSON object of the table, as `scrapy dedup tune --idf` writes it."""
        return json.dumps({"documents": self.documents, "table": self.table})

    @classmethod
    def from_json(cls, text: str) -> Idf:
        """Read the table that `to_json` wrote.

        Raises:
            SchemeError: the text is not such a table.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            return cls(**fields)
        except (ValueError, TypeError) as error:
            if isinstance(error, SchemeError):
                raise
            raise SchemeError("not a table that `scrapy dedup tune --idf` wrote") from error


def table_entries(idf: Idf) -> tuple[Fingerprints, Floats]:
    """Hashes of the words of a table, sorted, and their weights: uint64[n], float64[n]."""
    found = idf._entries
    return found["hash"].astype(np.uint64), found["weight"] / _WEIGHT_UNIT


def word_weights(idf: Idf, hashes: Fingerprints) -> Integers:
    """Weights of words, given by their hashes (uint64[n]), in 1/256: int64[n]."""
    entries = idf._entries
    weights = entries["weight"].astype(np.int64)
    return look_up(hashes, entries["hash"], weights, _weight(idf.documents, 0))


def look_up(
    hashes: Fingerprints, known: Fingerprints, values: NDArray[_N], missing: int
) -> NDArray[_N]:
    """Values of hashes by a table.

    Args:
        hashes: uint64[n].
        known: hashes of the table, sorted, without repeats: uint64[k].
        values: of these, [k].
        missing: value of a hash that is not in the table.
    """
    places = np.searchsorted(known, hashes)
    inside = places < len(known)
    inside[inside] = known[places[inside]] == hashes[inside]
    found = np.full(len(hashes), missing, values.dtype)
    found[inside] = values[places[inside]]
    return found


def _weight(documents: int, count: int) -> int:
    return round(_WEIGHT_UNIT * (1 + log((1 + documents) / (1 + count))))


BITS = 64
WIDTHS = (32, 64)
"""Bits that a SimHash may have."""

_CHUNK_FEATURES = 4096  # below 2^16, so that a 16-bit lane cannot overflow
_SHIFTS = np.arange(16, dtype=np.uint64)[:, np.newaxis]
_LANES = np.uint64(0x0001_0001_0001_0001)
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
        if self.bits not in WIDTHS or type(self.bits) is not int:
            raise SchemeError(f"simhash bits {self.bits!r} are not accepted: 32 or 64")
        _ = self._pieces
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
    def _pieces(self) -> _Pieces:
        return _parse(self.features)


def tf_shingle_sizes(features: SimhashFeatures) -> range | None:
    """Sizes of the features if they are shingles of words weighted by tf, else None."""
    pieces = features._pieces
    weighted = features.keywords or features.idf is not None
    return pieces.sizes if pieces.unit == "words" and pieces.step == 1 and not weighted else None


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
        found = simhash(*_weighted_words(hashes, features))
    else:
        pieces = features._pieces
        if pieces.unit != "words":
            hashes = unit_hashes(words, pieces.unit)
        found = simhash(_hashes_of_pieces(hashes, pieces))
    return found & ((1 << features.bits) - 1)


def _weighted_words(
    hashes: Fingerprints, features: SimhashFeatures
) -> tuple[Fingerprints, Integers]:
    """Fingerprints of single words, and their weights: tf or tf-idf."""
    distinct, counts = np.unique(hashes, return_counts=True)
    weights = counts.astype(np.int64)
    if features.idf is not None:
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
        raw = features.astype("<u8").view(np.uint8).reshape(-1, 8)
        counts = weights @ np.unpackbits(raw, axis=1, bitorder="little")
        total = int(weights.sum())
    return int.from_bytes(np.packbits(2 * counts > total, bitorder="little").tobytes(), "little")


def _count_bits(features: Fingerprints) -> Integers:
    """Count the features that have each bit set: int64[64]."""
    counts = np.zeros((16, 4), dtype=np.int64)  # [shift, lane]: bit 16 * lane + shift
    for start in range(0, len(features), _CHUNK_FEATURES):
        bits = (features[start : start + _CHUNK_FEATURES] >> _SHIFTS) & _LANES
        counts += bits.sum(axis=1, dtype="<u8").astype("<u8").view("<u2").reshape(16, 4)
    return counts.T.reshape(BITS)
