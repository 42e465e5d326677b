"""Tables of inverse document frequencies, which weigh the words of a SimHash or a cosine."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.shingles import word_hashes

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
    entries = idf._entries
    return entries["hash"].astype(np.uint64), entries["weight"] / _WEIGHT_UNIT


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
    looked_up = np.full(len(hashes), missing, values.dtype)
    looked_up[inside] = values[places[inside]]
    return looked_up


def _weight(documents: int, count: int) -> int:
    return round(_WEIGHT_UNIT * (1 + log((1 + documents) / (1 + count))))
