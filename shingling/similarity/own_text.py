"""What a text says that another one, which it resembles, does not say.

Both are cut into words; a number is one word with its sign and its unit. A word is said by the
other text too if it stands in five words in a row that both have. What is left are passages of the
text's own. It does not matter where lines end, nor in which order they come. But what an entry
that both texts have says is nothing about another entry, which is worded like it: if only some
words of a line are said, lines that both have do not say them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, compress, pairwise
from os.path import commonprefix  # of any strings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling import kernel
from shingling.sketch.shingles import KEY, fingerprints, keyed_hashes
from shingling.text import (
    CURRENCY,
    LINK_MARK,
    UNSPACED,
    canonical_words,
    fold_line,
    fold_words,
    without_marks,
)
from shingling.text.folding import fold_table
from shingling.text.prepared import split_lines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from shingling.arrays import Fingerprints, Flags, Integers

_RUN = 5  # words in a row by which a passage is known again
_MAX_CHARACTERS = 200_000  # of two texts that are compared
_MAX_PASSAGES = 200  # that are looked at
_MAX_CUT = 64  # words of a passage that is looked at line by line as well
_MAX_PLACES = 8  # of the words before and behind a passage
_MOST_BEFORE, _EXCERPT_CHARACTERS = 24, 80  # characters of a line that are shown

_START, _END = ["\n"] * _RUN, ["\f"] * _RUN  # around a text; no word has them
_NUMBER_SIGN = "#"  # that a number begins with; no word has it
_STAND_IN = "\N{LATIN LETTER BILABIAL CLICK}"  # for a number, while a line is cut into words
_LETTERS = "a-zß-ʯͱ-ԯ"  # of names such as python3; lines are folded
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(r"\d++")
_SPACED_LIST = re.compile(r"(?<=\d), (?=\d)")
_IN_BRACKETS = re.compile(r"\[\d++(?:, ?\d++)++\]")
# A number without unit, sign or decimals, and a few words without digits.
_PLAIN_NUMBER = re.compile(r"\d{1,3}(?:[,'’]\d{3})*+|\d++")
_LABEL = re.compile(r"(?:[^\s\d]++\s*+){1,12}+")
_LABEL_BELOW = re.compile(r"[^\s\d]++(?:\s++[^\s\d]++)?+")  # longer ones are the next headline
_IDENTIFIER = re.compile(r"\d{3}|[-.]\d")  # what a name has, if it is one
# A name, with the digits in it, or a number, which is a group: sign, digits and separators, unit.
_NAME_OR_NUMBER = re.compile(
    rf"[{_LETTERS}_](?:-*+[{_LETTERS}\d_])*+(?:(?<=\d)\.\d+)*+"
    rf"|((?:(?<!\S)[-+−±~≈<>≤≥]\ ?|[{CURRENCY}]\ ?){{0,4}}+\d(?:[-.,:/'’×·]*+[{_LETTERS}\d])*+"
    rf"(?:\ ?(?:[%‰°{CURRENCY}]+[{_LETTERS}]?|[{UNSPACED}]|[^\W\d_{UNSPACED}]++))?+)"
)


class OwnPassage(NamedTuple):
    """A passage that a text has of its own.

    Args:
        line: that it stands in, cut.
        other: the line that stands there in the other text, cut; "" if nothing does.
        counts: whether it says something of its own, and not only the same in other words.
    """

    line: str
    other: str
    counts: bool


def own_passage(
    lines: Sequence[str], others: Sequence[str], min_words: int, *, strict: bool = False
) -> OwnPassage | None:
    """Find what a text says that another one does not.

    It counts if it has another number in the place of one, in words that are mostly the same, or a
    number more in a line that the other text has; or if passages of five words and more hold
    `min_words` together. Lines that are links alone say nothing, nor does a number alone on its
    line, which is a counter, unless a label is in the line before. Only lines that differ are
    compared; if they are too long, the first one counts. Time grows linearly with the texts,
    sorting apart.

    Args:
        lines: of the text.
        others: lines of the other one.
        min_words: words of its own that count.
        strict: whether any line that the other text does not have counts.

    Returns:
        The passage that counts, or else the first one; None if the text has none.
    """
    differing = own_lines(lines, others, folded=strict)
    if not differing:
        return None
    first = OwnPassage(_cut(differing[0]), "", counts=True)
    passage: OwnPassage | None = first
    mine, near = _around_differences(lines, others), _around_differences(others, lines)
    in_both = {*lines} & {*others}
    # What differs is mostly said in the lines that differ, and these are few.
    for theirs in (near, others) if len(near) < len(others) else (others,):
        if passage is None or not passage.counts:
            break
        if sum(map(len, mine)) + sum(map(len, theirs)) <= _MAX_CHARACTERS:
            passage = _TwoTexts(mine, theirs, in_both).passage(min_words)
    return (passage or first)._replace(counts=True) if strict else passage


def says_more(text: str, other: str, own_text: str, min_words: int) -> bool:
    """Whether a text says something of its own, as on pages of one site.

    Args:
        text: the text.
        other: the other one.
        own_text: "keep"; "strict", if any line counts that the other text does not have; "ignore",
            if nothing counts.
        min_words: words of its own that count.
    """
    if own_text == "ignore":
        return False
    if own_text == "keep" and kernel.COMPILED:
        given = text, other, fold_table().data, min_words, KEY
        if (decided := kernel.says_more(*given)) is not None:
            return decided
        folded = map(_folded_lines, (text, other))
        if (decided := kernel.says_more(*given, *folded)) is not None:
            return decided
    lines, others = map(split_lines, (text, other))
    if own_text == "strict":
        return bool(own_lines(lines, others))
    passage = own_passage(lines, others, min_words)
    return passage is not None and passage.counts


def _folded_lines(text: str) -> str:
    """Fold each line of a text."""
    return "\n".join(map(fold_line, text.split("\n")))


def other_number(
    numbered: Mapping[int, Sequence[str]], others: Mapping[int, Sequence[str]]
) -> OwnPassage | None:
    """Find a line that another text has too, but not with this number.

    Args:
        numbered: lines of the text that have numbers; of one key are those that differ in these.
        others: those of the other one.
    """
    for key in numbered.keys() & others.keys():
        said = {*map(folded_numbers, others[key])}
        for line in numbered[key]:
            if folded_numbers(line) not in said:
                return OwnPassage(*excerpts(line, others[key][0]), counts=True)
    return None


def folded_numbers(line: str) -> str:
    """Fold a line, also the ways to write a list of numbers: `[1, 2]` and `[1,2]`."""
    return _SPACED_LIST.sub(",", fold_line(line))


def own_lines(lines: Sequence[str], others: Sequence[str], *, folded: bool = True) -> list[str]:
    """Lines of a text that another one does not have, but for links alone.

    Args:
        lines: of the text.
        others: lines of the other one.
        folded: whether case, white space and forms of letters do not count.
    """
    known = {*others}
    differing = [line for line in lines if line not in known and not line.endswith(LINK_MARK)]
    if differing and folded:
        known = {*map(fold_line, others)}
        differing = [line for line in differing if fold_line(line) not in known]
    return differing


def _around_differences(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Lines of a text that another one does not have, and five lines before and behind each."""
    if not lines:
        return []
    known = {*others}
    differs = np.array([line not in known for line in lines])
    near = np.convolve(differs, np.ones(2 * _RUN + 1))[_RUN : _RUN + len(lines)] > 0
    return [*compress(lines, near.tolist())]


class _TwoTexts:
    """Two texts, and which words of the first one the second one says too.

    Args:
        lines: of the first one.
        others: of the second one.
        in_both: lines that both have.
    """

    def __init__(
        self, lines: Sequence[str], others: Sequence[str], in_both: Collection[str]
    ) -> None:
        self._lines, self._others = lines, others
        self._words, self._line_of = _words(lines)
        self._other_words, self._other_line_of = _words(others)
        self._runs, self._other_runs = (
            fingerprints(keyed_hashes(words), _RUN) for words in (self._words, self._other_words)
        )
        says_nothing = [
            line.endswith(LINK_MARK) or _is_counter(line, *around)
            for line, *around in zip(lines, ["", *lines[:-1]], [*lines[1:], ""], strict=True)
        ]
        is_left_out = np.array([*says_nothing, True])[self._line_of]
        self._is_said = is_left_out | self._stand_in(self._other_runs)
        differs = np.array([*(line not in in_both for line in others), False])
        touch = np.convolve(differs[self._other_line_of], np.ones(_RUN), "valid") > 0
        is_partly = np.isin(self._line_of, self._line_of[~self._is_said])
        is_said_there = is_left_out | self._stand_in(self._other_runs[touch])
        self._is_said_of_it = np.where(is_partly, is_said_there, self._is_said)

    def _stand_in(self, runs: Fingerprints) -> Flags:
        """Whether each word of the first text stands in one of these runs."""
        known = {*runs.tolist()}
        begins = np.flatnonzero([run in known for run in self._runs.tolist()])
        stands = np.zeros(len(self._words), np.bool_)
        for step in range(_RUN):
            stands[begins + step] = True
        return stands

    def passage(self, min_words: int) -> OwnPassage | None:
        """Passage that counts, or else the first one."""
        passages, of_its_own = map(_passages, (self._is_said, self._is_said_of_it))
        for start, end in passages[:_MAX_PASSAGES]:
            low, high = self._place(start, end)
            there = _sorted(self._other_words[low:high])
            for part in ((start, end), *self._by_line(start, end)):
                if number := self._other_number(*part, *there):
                    return self._passage(start, end, counts=True, number=number)
        long = [(end - start, start, end) for start, end in of_its_own if end - start >= _RUN]
        if sum(size for size, _, _ in long) >= max(min_words, 1):
            return self._passage(*max(long)[1:], counts=True)
        counts = len(passages) > _MAX_PASSAGES  # too many to be looked at
        return self._passage(*passages[0], counts=counts) if passages else None

    def _passage(self, start: int, end: int, *, counts: bool, number: str = "") -> OwnPassage:
        """Show the line of a number, or of most of a passage, and the one most like it there."""
        place = self._words.index(number, start) if number else (start + end) // 2
        line, (low, high) = self._lines[self._line_of[place]], self._place(start, end)
        there = self._others[self._other_line_of[low] : self._other_line_of[high - 1] + 1]
        kinds = _kinds(line)
        other = (
            "" if low == high else max(there, key=lambda one: (len(kinds & _kinds(one)), len(one)))
        )
        numbers, _ = _sorted(_words_of(other))
        replaced = next((one for one in numbers if one not in self._words[start:end]), "")
        return OwnPassage(_cut(line, other, number), _cut(other, line, replaced), counts)

    def _place(self, start: int, end: int) -> tuple[int, int]:
        """Where the words of the second text stand that a passage is in the place of."""
        before, behind = (
            np.flatnonzero(self._other_runs == self._runs[at])[:_MAX_PLACES].tolist()
            for at in (start - _RUN, end)
        )
        between = [
            (high - low - _RUN, low + _RUN, high)
            for low in before
            for high in behind
            if low + _RUN <= high
        ]
        size, low, high = min(between, default=(0, 0, 0))
        return (low, high) if size <= 4 * (end - start + _RUN) else (0, 0)

    def _by_line(self, start: int, end: int) -> list[tuple[int, int]]:
        """Cut a short passage where lines end: a new line says nothing of the one before it."""
        if end - start > _MAX_CUT:
            return []
        cuts = start + 1 + np.flatnonzero(np.diff(self._line_of[start:end]))
        return [*pairwise([start, *cuts.tolist(), end])]

    def _other_number(
        self, start: int, end: int, other_numbers: Sequence[str], other_words: Counter[str]
    ) -> str:
        """Find a number of some words that is not among those in their place."""
        numbers, words = _sorted(self._words[start:end])
        others = iter(other_numbers)
        # If all stand there, it is in this order.
        missing = [one for one in numbers if not any(_are_same(one, other) for other in others)]
        replaced = {*map(_is_identifier, other_numbers)}
        if not other_numbers or 2 * (words & other_words).total() < words.total():
            here = np.isin(self._line_of, self._line_of[start:end])
            replaced = {False} if 2 * self._is_said[here].sum() >= here.sum() else set()
        return next((one for one in missing if _is_identifier(one) in replaced), "")


def _passages(is_said: Flags) -> list[list[int]]:
    """Where words begin, and end, that are not said."""
    edges: list[list[int]] = (np.flatnonzero(np.diff(is_said)) + 1).reshape(-1, 2).tolist()
    return edges


def _words(lines: Sequence[str]) -> tuple[list[str], Integers]:
    """Words of a text, and the number of the line of each; its ends have the line -1."""
    of_lines = [*map(_words_of, lines)]
    sizes = [_RUN, *map(len, of_lines), _RUN]
    line_of = np.repeat([-1, *range(len(lines)), -1], sizes)
    return [*_START, *chain.from_iterable(of_lines), *_END], line_of


def _words_of(line: str) -> list[str]:
    """Cut a line into words, each of its numbers being one."""
    folded, words = (part.decode() for part in fold_words(line))
    if not _DIGIT.search(folded):
        return words.split()
    folded = _IN_BRACKETS.sub(lambda match: match[0].replace(" ", ""), folded)
    numbers: list[str] = []

    def stand_in(match: re.Match[str]) -> str:
        if match[1] is None and not _IDENTIFIER.search(match[0]):
            return match[0]
        numbers.append(_NUMBER_SIGN + "".join(match[0].split()))
        return f" {_STAND_IN} "

    masked = _NAME_OR_NUMBER.sub(stand_in, folded.replace(_STAND_IN, " "))
    next_number = iter(numbers)
    return [next(next_number) if word == _STAND_IN else word for word in canonical_words(masked)]


def _sorted(words: Sequence[str]) -> tuple[list[str], Counter[str]]:
    """Sort words into numbers and others."""
    numbers = [word for word in words if word.startswith(_NUMBER_SIGN)]
    return numbers, Counter(words) - Counter(numbers)


def _is_identifier(number: str) -> bool:
    """Whether a number is an identifier, which counts in the place of another one only."""
    return number[1].isalpha()


def _kinds(line: str) -> set[str]:
    """Words of a line, among which all numbers are one."""
    return {*_DIGITS.sub("0", line).split()}


def _are_same(number: str, other: str) -> bool:
    """Whether two numbers are the same, and one has no unit or both have the same."""
    shorter, longer = sorted((number, other), key=len)
    return longer.startswith(shorter) and not _DIGIT.search(longer, len(shorter))


def _is_counter(line: str, before: str, behind: str) -> bool:
    """Whether a line is a number, and neither the line before it nor the next one is its label."""
    if _PLAIN_NUMBER.fullmatch(line.strip()) is None:
        return False
    return not (_LABEL.fullmatch(before.strip()) or _LABEL_BELOW.fullmatch(behind.strip()))


def excerpts(line: str, other: str) -> tuple[str, str]:
    """Cut two lines around the first word in which they differ."""
    return _cut(line, other), _cut(other, line)


def _cut(line: str, other: str = "", number: str = "") -> str:
    """Cut a line around a number, or the first word in which it differs from another one."""
    digits = "".join(_DIGITS.findall(number)[:1])  # folded: they may not stand there
    same = len(commonprefix([line, other]))  # noqa: RUF071 (no paths)
    at = line.find(digits) if number else same
    differs = line.rfind(" ", 0, at + 1) + 1
    start = line.rfind(" ", 0, max(differs - _MOST_BEFORE, 0)) + 1
    shown = line[start : start + _EXCERPT_CHARACTERS]
    more = " …" if start + len(shown) < len(line) else ""
    return ("… " if start else "") + " ".join(without_marks(shown).split()) + more
