"""Text -> canonical words, without options: the units that shingles are made of.

`Canonicaliser` (`canonical.py`) adds the options. Words are cut by the compiled kernel if
there is one, else by NumPy; both give the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling import kernel
from shingling.text.bounding import (
    MARK,
    SEGMENTED,
    SEPARATOR,
    SINGLE,
    class_table,
    from_code_points,
    to_code_points,
)
from shingling.text.folding import fold, fold_table, resolved, spelled_out

if TYPE_CHECKING:
    from shingling.text.bounding import CharClasses


def canonical_words(text: str) -> list[str]:
    """Cut a text into canonical words.

    The text is folded: character references are resolved, the text is brought to NFKC_Casefold
    (Unicode Standard, section 3.13), and letters that are one to a reader become one. Words are
    its runs of letters, digits and combining marks; in scripts without spaces (Han, kana,
    Thai, Lao, Khmer, Myanmar, ...) every letter with its marks is a word.

    Punctuation, symbols, control characters and lone surrogates belong to no word.
    """
    if kernel.COMPILED:
        return join_words(text).decode().split()
    return cut_words(text)


def count_words(text: str) -> int:
    """Count the canonical words of a text."""
    joined = join_words(text)
    return joined.count(b" ") + 1 if joined else 0


def join_words(text: str) -> bytes:
    """Canonical words of a text, joined by blanks, in UTF-8."""
    return fold_words(text)[1]


def fold_line(text: str) -> str:
    """Fold a text, with one blank for each run of white space and none at its ends; see `fold`."""
    return fold_words(text)[0].decode()


def fold_words(text: str) -> tuple[bytes, bytes]:
    """Fold a text once for its exact hash and its words.

    Returns:
        The folded text with one blank for each run of white space, and none at its ends, and its
        canonical words, joined by blanks; both in UTF-8.
    """
    if kernel.COMPILED:
        table, plain = fold_table().data, resolved(text)
        both = (
            kernel.fold_words(plain, table, False)
            or kernel.fold_words(spelled_out(plain), table, False)
            or kernel.fold_words(fold(text), table, True)
        )
        if both is not None:
            return both
    folded = fold(text)
    # A stored text has a question mark for a lone surrogate.
    raw = folded.encode("utf-8", "replace")
    while b"  " in raw:
        raw = raw.replace(b"  ", b" ")
    return raw.strip(), " ".join(cut_by_class(folded, class_table())).encode()


def cut_words(text: str) -> list[str]:
    """`canonical_words` by NumPy, without the compiled kernel."""
    return cut_by_class(fold(text), class_table())


def cut_by_class(text: str, table: CharClasses) -> list[str]:
    """Cut a text into words by the class of each code point.

    Args:
        text: normalised, without ignorable code points.
        table: class of every code point, uint8[0x110000].
    """
    codes = to_code_points(text)
    classes = table.take(codes)
    in_word = classes != SEPARATOR
    marks = classes == MARK
    if marks.any():  # a mark takes the class of the letter before it
        letters = np.where(marks, 0, np.arange(len(classes)))
        classes = classes.take(np.maximum.accumulate(letters))
    single, segmented = classes == SINGLE, classes == SEGMENTED
    if single.any() or segmented.any():
        boundary = single[1:] | single[:-1] | (segmented[1:] != segmented[:-1])
        places = np.flatnonzero(in_word[1:] & in_word[:-1] & boundary & ~marks[1:]) + 1
        codes = np.insert(codes, places, ord(" "))
        in_word = np.insert(in_word, places, False)
    return from_code_points(np.where(in_word, codes, np.uint32(ord(" ")))).split()
