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
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from shingling.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable

_Array = TypeVar("_Array", bound="np.ndarray[Any, np.dtype[Any]]")
CodePoints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint32]]
CharClasses: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]

SEPARATOR = 0  # stands between words
LETTER = 1  # letter or digit: part of a word
MARK = 2  # combining mark: belongs to the letter before it
SINGLE = 3  # a word by itself
IGNORABLE = 4  # invisible, or a mark that may be left out: removed before a text is cut
SEGMENTED = 5  # part of a run that a language pack cuts into words


def _ranges(listed: str) -> list[tuple[int, int]]:
    """Read ranges of code points, listed as in the data files of Unicode: `0E01..0E33  # Thai`."""
    written = (part for line in listed.splitlines() for part in line.partition("#")[0].split())
    ends = (part.partition("..") for part in written)
    return [(int(low, 16), int(high or low, 16)) for low, _, high in ends]


HAN = _ranges("""
    3005..3007 3021..3029 3038..303C  # ideographic marks
    3400..4DBF 4E00..9FFF F900..FAFF 20000..323AF
""")
KANA = _ranges("3031..3035 3041..3096 309D..309F 30A1..30FF 31F0..31FF 1AFF0..1B16F")

_UNSPACED = [
    *_ranges("""
        0E01..0E33 0E40..0E46  # Thai
        0E81..0EB3 0EBD..0EC6 0EDC..0EDF  # Lao
        1000..103F 1050..108F A9E0..A9EF A9FA..A9FE AA60..AA7F  # Myanmar
        1780..17B3 17D7 17DC  # Khmer
        1950..19C9 1A00..1A16 1A20..1A54  # Tai Le, New Tai Lue, Lontara, Tai Tham
    """),
    *HAN,
    *KANA,
    *_ranges("""
        3105..312F 31A0..31BF  # Bopomofo
        A000..A48C AA80..AADD  # Yi, Tai Viet
        16FE0..18D08 1B170..1B2FB  # Tangut, Khitan, Nushu
    """),
]
"""Scripts written without spaces between words: each of their letters is a word by itself.

These are the ideographs and kana (line-break class ID) and the scripts of complex context (class
SA) of Unicode Standard Annex #14. Marks within these ranges stay marks.
"""

UNSPACED = "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNSPACED)
"""Their ranges, as they are written in a class of a regular expression."""

# Default_Ignorable_Code_Point, which NFKC_Casefold removes, and what shows no sound.
_IGNORABLE = _ranges("""
    00AD 034F 061C 115F..1160 17B4..17B5 180B..180F 200B..200F 202A..202E 2060..206F 3164
    FE00..FE0F FEFF FFA0 E0000..E0FFF
    0640 07FA 180A  # tatweel and its like stretch a word
""")

# Their marks say how letters are read, and most texts are written without them.
_HEBREW_ARABIC_SYRIAC = _ranges("0591..074A 0897..08FF FB1E 10EFA..10EFF")


def kept_as_data(make: Callable[[], _Array]) -> Callable[[], _Array]:
    """Decorate what makes an array out of `unicodedata`, which takes long, so that it is read.

    Each version of Unicode has a data file; of a version without one, the array is made.
    """

    @cache
    @wraps(make)
    def kept() -> _Array:
        file = Path(__file__).with_name(f"unicode-{unicodedata.unidata_version}.npz")
        if not file.exists():
            return make()
        with np.load(file) as arrays:
            array: _Array = arrays[make.__name__]
            return array

    return kept


@kept_as_data
def class_table() -> CharClasses:
    """Class of every code point: uint8[0x110000]."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x20000):
        char = chr(code)
        if char.isalnum():
            classes[code] = LETTER
        elif code >= 0x300 and unicodedata.category(char) in ("Mn", "Mc"):
            classes[code] = MARK
    for low, high in _UNSPACED:
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
    properties = property_table().take(codes)
    marks = np.count_nonzero(properties & (_IS_MARK | _IS_INVISIBLE))
    if marks < _MIN_RUN and np.count_nonzero(properties & _IS_LONG) <= MAX_LONG_CHARS:
        return text
    return _bound(codes, properties)


def nfkc(text: str) -> str:
    """Text, bounded, in NFKC. No other code of the package normalises what others have written."""
    return unicodedata.normalize("NFKC", bounded(text))


def nfc(text: str) -> str:
    """Text, bounded, in NFC."""
    return unicodedata.normalize("NFC", bounded(text))


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


@kept_as_data
def property_table() -> CharClasses:
    """Properties of every code point, the bits above: uint8[0x110000]."""
    table = np.where(class_table() == IGNORABLE, np.uint8(_IS_INVISIBLE), np.uint8(0))
    for code in range(0x20000):
        char = chr(code)
        if not (unicodedata.decomposition(char) or unicodedata.combining(char)):
            continue
        decomposed = unicodedata.normalize("NFKD", char)
        ended = 0  # marks at its end
        for part in decomposed:
            ended = ended + 1 if unicodedata.combining(part) else 0
        table[code] |= ended
        if ended == len(decomposed):
            table[code] |= _IS_MARK
        if len(decomposed) > _MAX_CHARS_OF_SHORT:
            table[code] |= _IS_LONG
    return table


def clean(text: str) -> str:
    """Remove NUL from a text, and replace lone surrogates by question marks."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "replace")
        text = raw.decode()
    # Among bytes NUL is found at once; among characters of two bytes each, each one is looked at.
    return text.replace("\0", "") if b"\0" in raw else text


def plain_line(text: str) -> str:
    """Put a text on one line, without control, format or surrogate characters."""
    return " ".join(printable(text).split())
