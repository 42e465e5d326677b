"""Text -> text that Unicode normalises in linear time and bounded memory, whatever it is.

`unicodedata.normalize` sorts combining marks with an insertion sort, in a time that grows with the
square of their number, and holds the interpreter meanwhile; and NFKC makes 18 characters of one.
A text is bounded before it is normalised, and before it is prepared for the store. Ordinary texts
stay as they are.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import printable
from shingling.text.characters import (
    IGNORABLE,
    class_table,
    from_code_points,
    to_code_points,
)

if TYPE_CHECKING:
    from shingling.text.characters import CharClasses, CodePoints

MAX_NON_STARTERS = 30
"""Combining marks in a row, decomposed: Unicode Standard Annex #15, section 13."""

MAX_LONG_CHARS = 1 << 16
"""Characters of a text that decompose to more than `_MAX_CHARS_OF_SHORT` and are kept."""

_MAX_CHARS_OF_SHORT = 4  # what a text grows by at most, but for its long characters
_REPLACEMENT = ord("\N{REPLACEMENT CHARACTER}")

# What a code point is in a run: bits 0 and 1 count the marks that it decomposes to or ends with.
_COUNT = 3
_IS_MARK = 4  # it decomposes to marks only
_IS_INVISIBLE = 8  # it is removed in case folding: marks on both sides are one run
_IS_LONG = 16

# A run of more than 30 marks has this many code points at least: 3 marks of a letter, 2 of each.
_MIN_RUN = 14


def bounded(text: str) -> str:
    """Bound a text's runs of combining marks, and what it may grow by.

    - A run keeps its first 30 marks, counted after decomposition (NFKD): the limit of the
      Stream-Safe Text Format (Unicode Standard Annex #15, section 13). That format would put
      U+034F into longer ones, which case folding removes again. For the same reason invisible
      characters (Default_Ignorable_Code_Point) do not end a run.
    - A character that decomposes to more than 4, such as U+FDFA (to 18), becomes U+FFFD after
      the first 65,536 of them. A text therefore grows at most 4 times, and by 1.2 million
      characters.
    """
    if text.isascii():
        return text
    codes = to_code_points(text)
    properties = _properties().take(codes)
    return _bound(codes, properties) if _may_be_unbounded(properties) else text


def nfkc(text: str) -> str:
    """Text, bounded, in NFKC. No other code of the package normalises what others have written."""
    return unicodedata.normalize("NFKC", bounded(text))


def nfc(text: str) -> str:
    """Text, bounded, in NFC."""
    return unicodedata.normalize("NFC", bounded(text))


def _may_be_unbounded(properties: CharClasses) -> bool:
    """Whether a text has a run of marks or invisible characters, or many long characters."""
    in_run = properties & np.uint8(_IS_MARK | _IS_INVISIBLE) != 0
    run = 1
    while run < _MIN_RUN:  # each of `in_run` is the first of so many
        step = min(run, _MIN_RUN - run)
        in_run = in_run[:-step] & in_run[step:]
        run += step
    is_long = properties & np.uint8(_IS_LONG) != 0
    return bool(in_run.any() or np.count_nonzero(is_long) > MAX_LONG_CHARS)


def _bound(codes: CodePoints, properties: CharClasses) -> str:
    counts = np.cumsum(properties & _COUNT, dtype=np.uint32)
    is_mark = properties & _IS_MARK != 0
    starts = np.flatnonzero(properties & (_IS_MARK | _IS_INVISIBLE) == 0)
    before = np.zeros_like(counts)  # marks before the letter that a run belongs to
    before[starts] = counts[starts] - (properties[starts] & _COUNT)
    in_run = counts - np.maximum.accumulate(before)
    kept = ~(is_mark & (in_run > MAX_NON_STARTERS))
    is_long = properties & _IS_LONG != 0
    is_long &= np.cumsum(is_long, dtype=np.uint32) > MAX_LONG_CHARS
    return from_code_points(np.where(is_long, np.uint32(_REPLACEMENT), codes)[kept])


@cache
def _properties() -> CharClasses:
    """Properties of every code point, the bits above: uint8[0x110000]."""
    table = np.where(class_table() == IGNORABLE, np.uint8(_IS_INVISIBLE), np.uint8(0))
    for code in range(0x20000):
        char = chr(code)
        if not (unicodedata.decomposition(char) or unicodedata.combining(char)):
            continue
        decomposed = unicodedata.normalize("NFKD", char)
        ended = 0  # marks at its end
        for one in decomposed:
            ended = ended + 1 if unicodedata.combining(one) else 0
        table[code] |= ended
        if ended == len(decomposed):
            table[code] |= _IS_MARK
        if len(decomposed) > _MAX_CHARS_OF_SHORT:
            table[code] |= _IS_LONG
    return table


def clean(text: str) -> str:
    """Remove NUL from a text, and replace lone surrogates by question marks."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def plain_line(text: str) -> str:
    """Put a text on one line, without control, format or surrogate characters."""
    return " ".join(printable(text).split())
