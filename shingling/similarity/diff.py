"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from shingling.text import UNSPACED, canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_WORD_PAIRS = 20_000_000  # of words, that are compared one by one: about three seconds

# A letter of a script without spaces with the marks after it, or a word; with the blanks after.
_LETTERS = "".join(f"{chr(low)}-{chr(high)}" for low, high in UNSPACED)
_WORD = re.compile(rf"[{_LETTERS}](?:[^\w\s]|_)*\s*|[^\s{_LETTERS}]+\s*")
# Of a longer run of full stops only the last 100 are looked at: else the time would grow with its
# square.
_SENTENCE = re.compile(r".+?(?:[.!?。！？]{1,100}+\s++|[。！？]|\n|\Z)", re.DOTALL)


class Change(NamedTuple):
    """A stretch of two texts: their words are the same, or one's stand in the other's place."""

    same: bool
    a: str
    b: str


def word_diff(a: str, b: str) -> list[Change]:
    """Two texts as stretches that are the same and stretches that differ, in order.

    Words are the same where their canonical forms are: case and punctuation do not count.
    Sentences are matched first, and words within those that differ (Ratcliff and Obershelp
    1988, by difflib); where very many differ in a row, they are not taken apart.
    """
    changes: list[tuple[bool, list[str], list[str]]] = []
    sentences = _tokens(_SENTENCE.findall(a)), _tokens(_SENTENCE.findall(b))
    for same, own, other in _matched(*sentences):
        if same:
            _append(changes, True, own, other)
            continue
        words = [_tokens(written_words("".join(t for t, _ in part))) for part in (own, other)]
        if len(words[0]) * len(words[1]) > _MAX_WORD_PAIRS:
            _append(changes, False, own, other)
            continue
        for equal, first, second in _matched(*words):
            _append(changes, equal, first, second)
    return [Change(same, _joined(own), _joined(other)) for same, own, other in changes]


def written_words(text: str) -> list[str]:
    """Words of a text as they are written, each with the blanks after it.

    In scripts without spaces, every letter is a word.
    """
    return _WORD.findall(text)


_Token = tuple[str, str]  # as it is written, and its canonical form


def _tokens(parts: Sequence[str]) -> list[_Token]:
    """Parts with their canonical forms; those without a word say nothing."""
    canonical = cache(lambda part: " ".join(canonical_words(part)))
    return [(part, form) for part in parts if (form := canonical(part))]


def _matched(
    a: Sequence[_Token], b: Sequence[_Token]
) -> Iterator[tuple[bool, Sequence[_Token], Sequence[_Token]]]:
    forms = [form for _, form in a], [form for _, form in b]
    matcher = SequenceMatcher(None, *forms)
    for tag, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        yield tag == "equal", a[a_start:a_end], b[b_start:b_end]


def _append(
    changes: list[tuple[bool, list[str], list[str]]],
    same: bool,
    own: Sequence[_Token],
    other: Sequence[_Token],
) -> None:
    """Add a stretch, to the one before it where both are the same or both differ."""
    if not (own or other):
        return
    if not changes or changes[-1][0] != same:
        changes.append((same, [], []))
    changes[-1][1].extend(text for text, _ in own)
    changes[-1][2].extend(text for text, _ in other)


def _joined(parts: Sequence[str]) -> str:
    return " ".join("".join(parts).split())
