"""What each code point is to a word, and texts that are bounded before they are normalised.

First step of text -> words -> shingles -> fingerprints -> minima, SimHash -> signature. The
compiled kernel has the same classes (`_kernel.c`).

`unicodedata.normalize` sorts combining marks with an insertion sort, in a time that grows with the
square of their number, and holds the interpreter meanwhile; and NFKC makes 18 characters of one.
A text is bounded before it is normalised, and before it is prepared for the store. Ordinary texts
stay as they are.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TypeAlias

import numpy as np

from shingling.errors import printable

CodePoints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint32]]
CharClasses: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]

SEPARATOR = 0  # stands between words
LETTER = 1  # letter or digit: part of a word
MARK = 2  # combining mark: belongs to the letter before it
SINGLE = 3  # a word by itself
IGNORABLE = 4  # invisible, or a mark that may be left out: removed before a text is cut
SEGMENTED = 5  # part of a run that a language pack cuts into words

HAN = [
    *[(0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303C)],  # ideographic marks
    *[(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)],
]
KANA = [
    *[(0x3031, 0x3035), (0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FF)],
    *[(0x31F0, 0x31FF), (0x1AFF0, 0x1B16F)],
]

# Scripts written without spaces between words: each of their letters is a word by itself.
# These are the ideographs and kana (line-break class ID) and the scripts of complex context
# (class SA) of Unicode Standard Annex #14. Marks within these ranges stay marks.
UNSPACED = [
    *[(0x0E01, 0x0E33), (0x0E40, 0x0E46)],  # Thai
    *[(0x0E81, 0x0EB3), (0x0EBD, 0x0EC6), (0x0EDC, 0x0EDF)],  # Lao
    *[
        (0x1000, 0x103F),
        (0x1050, 0x108F),
        (0xA9E0, 0xA9EF),
        (0xA9FA, 0xA9FE),
        (0xAA60, 0xAA7F),
    ],  # Myanmar
    *[(0x1780, 0x17B3), (0x17D7, 0x17D7), (0x17DC, 0x17DC)],  # Khmer
    *[
        (0x1950, 0x19C9),
        (0x1A00, 0x1A16),
        (0x1A20, 0x1A54),
    ],  # Tai Le, New Tai Lue, Lontara, Tai Tham
    *HAN,
    *KANA,
    *[(0x3105, 0x312F), (0x31A0, 0x31BF)],  # Bopomofo
    *[(0xA000, 0xA48C), (0xAA80, 0xAADD)],  # Yi, Tai Viet
    *[(0x16FE0, 0x18D08), (0x1B170, 0x1B2FB)],  # Tangut, Khitan, Nushu
]

# Default_Ignorable_Code_Point, which NFKC_Casefold removes, and what shows no sound.
_IGNORABLE = [
    *[(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)],
    *[(0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)],
    *[(0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)],
    *[(0x640, 0x640), (0x7FA, 0x7FA), (0x180A, 0x180A)],  # tatweel and its like stretch a word
]

# Their marks say how letters are read, and most texts are written without them.
_HEBREW_ARABIC_SYRIAC = [(0x591, 0x74A), (0x897, 0x8FF), (0xFB1E, 0xFB1E), (0x10EFA, 0x10EFF)]


@cache
def class_table() -> CharClasses:
    """Class of every code point: uint8[0x110000]."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x20000):
        char = chr(code)
        if char.isalnum():
            classes[code] = LETTER
        elif code >= 0x300 and unicodedata.category(char) in ("Mn", "Mc"):
            classes[code] = MARK
    for low, high in UNSPACED:
        letters = classes[low : high + 1]
        if low >= 0x20000:
            letters[:] = SINGLE
        letters[letters == LETTER] = SINGLE
    for low, high in _IGNORABLE:
        classes[low : high + 1] = IGNORABLE
    for low, high in _HEBREW_ARABIC_SYRIAC:
        marks = classes[low : high + 1]
        marks[marks == MARK] = IGNORABLE
    return classes


def to_code_points(text: str) -> CodePoints:
    """Code points of a text, lone surrogates included: uint32[n]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def from_code_points(codes: CodePoints) -> str:
    """Text of code points; the inverse of `to_code_points`."""
    text: str = codes.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")
    return text


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
    while run < _MIN_RUN:  # each of `in_run` is the first of `run` of them
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
