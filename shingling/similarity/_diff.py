"""What differs between two texts, word by word."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from shingling.text import canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Change(NamedTuple):
    """A stretch of two texts: their words are the same, or one's stand in the other's place."""

    same: bool
    a: str
    b: str


def word_diff(a: str, b: str) -> list[Change]:
    """Return two texts as stretches that are the same and stretches that differ, in order.

    Words are the same where their canonical forms are: case and punctuation do not count.
    Lines are matched first, and words within the lines that differ, which keeps the work on
    long texts small (Ratcliff and Obershelp 1988, by difflib).
    """
    changes: list[Change] = []
    lines = _tokens(a.splitlines()), _tokens(b.splitlines())
    for same, own, other in _matched(*lines):
        if same:
            _append(changes, Change(True, _joined(own), _joined(other)))
            continue
        words = [_tokens(" ".join(text for text, _ in part).split()) for part in (own, other)]
        for equal, first, second in _matched(*words):
            _append(changes, Change(equal, _joined(first), _joined(second)))
    return changes


_Token = tuple[str, str]  # as it is written, and its canonical form


def _tokens(parts: Sequence[str]) -> list[_Token]:
    """Return parts with their canonical forms; those without a word say nothing."""
    canonical = cache(lambda part: " ".join(canonical_words(part)))
    return [(part, form) for part in parts if (form := canonical(part))]


def _matched(
    a: Sequence[_Token], b: Sequence[_Token]
) -> Iterator[tuple[bool, Sequence[_Token], Sequence[_Token]]]:
    forms = [form for _, form in a], [form for _, form in b]
    matcher = SequenceMatcher(None, *forms)
    for tag, a_start, a_end, b_start, b_end in matcher.get_opcodes():
        yield tag == "equal", a[a_start:a_end], b[b_start:b_end]


def _joined(tokens: Sequence[_Token]) -> str:
    return " ".join(text for text, _ in tokens)


def _append(changes: list[Change], change: Change) -> None:
    """Add a stretch, to the one before it where both are the same or both differ."""
    if changes and changes[-1].same == change.same:
        last = changes.pop()
        change = Change(change.same, f"{last.a} {change.a}".strip(), f"{last.b} {change.b}".strip())
    if change.a or change.b:
        changes.append(change)
