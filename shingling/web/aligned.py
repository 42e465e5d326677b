"""Two texts in rows: what they have in common and what differs, side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from shingling.similarity import word_diff, written_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.similarity import Change

MIN_WORDS_OF_SHARED_ROW = 25  # shorter passages stay in the row of what differs around them
WORDS_SHOWN_AT_ENDS = 20  # of a shared passage that is folded


class Piece(NamedTuple):
    """A few words of one side, which the other side has as well or not."""

    same: bool
    text: str


@dataclass
class AlignedRow:
    """A row of both texts.

    Args:
        shared: whether both sides are the same passage.
        left, right: what the sides say.
        folded: words in the middle of a shared passage that are shown when asked for.
    """

    shared: bool
    left: list[Piece] = field(default_factory=list)
    right: list[Piece] = field(default_factory=list)
    folded: int = 0


def aligned_rows(left: str, right: str) -> list[AlignedRow]:
    """Two texts as rows, in order: shared passages, and what differs between them."""
    rows: list[AlignedRow] = []
    for change in word_diff(left, right):
        words = len(written_words(change.a)) if change.same else 0
        if words >= MIN_WORDS_OF_SHARED_ROW:
            rows.append(_shared(change, words))
            continue
        if not rows or rows[-1].shared:
            rows.append(AlignedRow(shared=False))
        for side, text in ((rows[-1].left, change.a), (rows[-1].right, change.b)):
            if text:
                side.append(Piece(change.same, text))
    return rows


def _shared(change: Change, words: int) -> AlignedRow:
    folded = words - 2 * WORDS_SHOWN_AT_ENDS
    left, right = ([Piece(True, part) for part in _ends(text)] for text in (change.a, change.b))
    return AlignedRow(True, left, right, folded if len(left) > 1 else 0)


def _ends(text: str) -> Sequence[str]:
    """Beginning, middle and end of a long passage, or the whole of a short one."""
    words = written_words(text)
    if len(words) <= 3 * WORDS_SHOWN_AT_ENDS:
        return [text]
    ends = words[:WORDS_SHOWN_AT_ENDS], words[-WORDS_SHOWN_AT_ENDS:]
    middle = words[WORDS_SHOWN_AT_ENDS:-WORDS_SHOWN_AT_ENDS]
    return ["".join(part).strip() for part in (ends[0], middle, ends[1])]
