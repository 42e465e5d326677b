"""Algorithms of three articles, written anew: for PHP and Node.js, and for .NET.

- Shingles by their checksums. Words at blanks, a list of marks that are removed, a list of short
  words that are dropped; overlapping shingles of 3 or 10 words; CRC-32 of each. PHP gives a signed
  number and divides by the words of the first text; Node.js takes Dice's coefficient of all
  shingles, times 100. PHP's `strtolower` changes the case of letters of ASCII only.
- SimHash of 32 bits over overlapping pieces of characters, blanks included. The hash of a piece is
  the caller's: .NET's own differs from one run to the next.
- Cosine of term vectors over a set of documents. A term of a document weighs (how often it occurs /
  how often the document's most frequent term does) x ln(documents / documents with the term);
  single precision is not imitated.
"""

from __future__ import annotations

import math
from binascii import crc32
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable

MARKS = ',.!?()-—:;"'
DROPPED_WORDS = frozenset(
    "это как так в на над к ко до за то с со для о ну же ж что он она б бы ли и у".split()  # noqa: SIM905 (easier to read)
)


def clean_words(text: str) -> list[str]:
    kept = []
    for piece in text.split(" "):
        lower = piece.encode().lower().decode()  # of ASCII only
        word = "".join(char for char in lower if char not in MARKS).strip()
        if word and word not in DROPPED_WORDS:
            kept.append(word)
    return kept


def signed_checksums(words: list[str], size: int = 3) -> list[int]:
    sums = []
    start = 0
    while start + size <= len(words):
        value = crc32(" ".join(words[start : start + size]).encode())
        sums.append(value - 2**32 if value >= 2**31 else value)
        start += 1
    return sums


def percent_of_words(a: str, b: str) -> float:
    words = clean_words(a)
    other = signed_checksums(clean_words(b))
    shared = [value for value in signed_checksums(words) if value in other]
    return len(shared) / len(words) * 100


def percent_by_dice(a: list[str], b: list[str], size: int = 10) -> float:
    first, second = signed_checksums(a, size), signed_checksums(b, size)
    count = sum(value in second for value in first)
    return count * 2 / (len(first) + len(second)) * 100


def pieces(text: str, length: int, overlap: int) -> list[str]:
    found = []
    start = 0
    while start + length <= len(text):
        found.append(text[start : start + length])
        start += length - overlap
    return found


def simhash32(tokens: list[str], hash_of: Callable[[str], int]) -> int:
    votes = [0] * 32
    for token in tokens:
        value = hash_of(token)
        for bit in range(32):
            votes[bit] += 1 if value >> bit & 1 else -1
    return sum(1 << bit for bit in range(32) if votes[bit] > 0)


class TermVectors:
    def __init__(self, documents: list[list[str]]) -> None:
        self._documents = documents
        self._having: dict[str, int] = {}
        for words in documents:
            for term in set(words):
                self._having[term] = self._having.get(term, 0) + 1

    def _vector(self, place: int) -> dict[str, float]:
        words = self._documents[place]
        counts = {term: words.count(term) for term in set(words)}
        most = max(counts.values())
        every = len(self._documents)
        return {
            term: count / most * math.log(every / self._having[term])
            for term, count in counts.items()
        }

    def similarity(self, place: int, other: int) -> float:
        return cosine_of_vectors(self._vector(place), self._vector(other))


def cosine_of_vectors(a: dict[str, float], b: dict[str, float]) -> float:
    inner = sum(value * b.get(term, 0.0) for term, value in a.items())
    lengths = [math.sqrt(sum(value * value for value in one.values())) for one in (a, b)]
    return inner / (lengths[0] * lengths[1]) if all(lengths) else 0.0


# A collection of texts whose resemblances are known


_WORDS = 300
_SHINGLE_WORDS = 5


class Pair(NamedTuple):
    """A text, its edited copy, and their resemblance: the Jaccard of their 5-word shingles."""

    text: str
    copy: str
    resemblance: float


def edited_pairs(number: int) -> list[Pair]:
    """Texts of 300 words, each with a copy in which 2 to 39 words are others."""
    return [_pair(place, 2 + place % 38) for place in range(number)]


def _pair(seed: int, edits: int) -> Pair:
    words = article(seed, _WORDS).split()
    places = [round(edit * _WORDS / edits) for edit in range(edits + 1)]
    copy = [*words]
    for edit, (start, end) in enumerate(pairwise(places)):
        copy[(start + end) // 2] = f"edit{seed}x{edit}"
    text, copied = " ".join(words), " ".join(copy)
    ours, theirs = shingles(text), shingles(copied)
    return Pair(text, copied, len(ours & theirs) / len(ours | theirs))


def shingles(text: str, size: int = _SHINGLE_WORDS) -> set[str]:
    """Sequences of words of a text."""
    words = text.split()
    return {" ".join(words[place : place + size]) for place in range(len(words) - size + 1)}
