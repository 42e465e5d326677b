"""What differs between two texts, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import cache
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from shingling.text import UNSPACED, canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_WORD_PAIRS = 20_000_000  # of one stretch whose words are compared one by one
_MAX_DIFF_STEPS = 20_000_000  # of one difference of two texts: about three seconds

# A letter of a script without spaces with the marks after it, or a word; with the blanks after.
_WORD = re.compile(rf"[{UNSPACED}](?:[^\w\s]|_)*\s*|[^\s{UNSPACED}]+\s*")
# Full stops end a sentence with the blanks after them; wide ones also without.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s++|(?<=[。！？])(?![.!?。！？\s])|\n")

_Token: TypeAlias = tuple[str, str]  # as it is written, and its canonical form
_Stretch: TypeAlias = "tuple[bool, Sequence[_Token], Sequence[_Token]]"  # same or not, a, b


class DiffStretch(NamedTuple):
    """A stretch of two texts: their words are the same, or one's stand in the other's place."""

    same: bool
    a: str
    b: str


def word_diff(a: str, b: str) -> list[DiffStretch]:
    """Two texts as stretches that are the same and stretches that differ, in order.

    Words are the same if their canonical forms are: case and punctuation do not count.
    Sentences are matched first, and words within those that differ (Ratcliff and Obershelp
    1988, by difflib); if very many differ in a row, they are not taken apart. Time grows
    linearly with the texts, beyond a limit on what is compared.
    """
    matcher = _Matcher(_MAX_DIFF_STEPS)
    stretches: list[_Stretch] = []
    for stretch in matcher.stretches(_tokens(_sentences(a)), _tokens(_sentences(b))):
        same, *parts = stretch
        words = [] if same else [_tokens(written_words(_written(part))) for part in parts]
        if same or len(words[0]) * len(words[1]) > _MAX_WORD_PAIRS:
            stretches.append(stretch)
        else:
            stretches += matcher.stretches(*words)
    changes = []
    for same, group in groupby(stretches, key=itemgetter(0)):
        _, own, other = zip(*group, strict=True)
        changes.append(DiffStretch(same, _on_one_line(own), _on_one_line(other)))
    return changes


def written_words(text: str) -> list[str]:
    """Words of a text as they are written, each with the blanks after it.

    In scripts without spaces, every letter is a word.
    """
    return _WORD.findall(text)


def _sentences(text: str) -> list[str]:
    """Sentences of a text, each with the marks and blanks after it, in linear time."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)])]


def _tokens(parts: Sequence[str]) -> list[_Token]:
    """Parts with their canonical forms; those without a word say nothing."""
    canonical = cache(lambda part: " ".join(canonical_words(part)))
    return [(part, form) for part in parts if (form := canonical(part))]


def _written(tokens: Sequence[_Token]) -> str:
    return "".join(written for written, _ in tokens)


def _on_one_line(parts: Sequence[Sequence[_Token]]) -> str:
    return " ".join("".join(map(_written, parts)).split())


class _Matcher:
    """Matches texts as difflib does, until a number of steps is used up.

    Args:
        steps: comparisons of two tokens that may be made for all texts together.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def stretches(self, a: Sequence[_Token], b: Sequence[_Token]) -> Iterator[_Stretch]:
        """Yield what is the same and what differs, in order."""
        own = other = 0
        for a_start, b_start, size in [*self._equal_blocks(a, b), (len(a), len(b), 0)]:
            if own < a_start or other < b_start:
                yield False, a[own:a_start], b[other:b_start]
            own, other = a_start + size, b_start + size
            if size:
                yield True, a[a_start:own], b[b_start:other]

    def _equal_blocks(self, a: Sequence[_Token], b: Sequence[_Token]) -> list[tuple[int, int, int]]:
        """Longest blocks in both, as `SequenceMatcher.get_matching_blocks` finds them.

        Its time is cubic at worst. What a search takes is known before it: the places in `b` of
        each token of `a`; if that is more than is left, no further block is looked for.
        """
        forms = [form for _, form in a]
        matcher = SequenceMatcher(None, forms, [form for _, form in b])
        places = (1 + len(matcher.b2j.get(form, ())) for form in forms)  # type: ignore[attr-defined]  # no stub has it
        steps_before = [0, *accumulate(places)]
        blocks: list[tuple[int, int, int]] = []
        waiting = [(0, len(a), 0, len(b))]
        while waiting:
            a_low, a_high, b_low, b_high = waiting.pop()
            steps = steps_before[a_high] - steps_before[a_low]
            if not (a_low < a_high and b_low < b_high and steps <= self._steps):
                continue
            self._steps -= steps
            a_start, b_start, size = matcher.find_longest_match(a_low, a_high, b_low, b_high)
            if size:
                blocks.append((a_start, b_start, size))
                waiting.append((a_low, a_start, b_low, b_start))
                waiting.append((a_start + size, a_high, b_start + size, b_high))
        return sorted(blocks)
