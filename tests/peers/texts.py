"""A collection of texts whose resemblances are known."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from tests.support.pages import article

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
