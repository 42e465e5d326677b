"""What each code point is to a word: the tables by which a text is cut into canonical words.

First step of text -> words -> shingles -> fingerprints -> minima, SimHash -> signature. The
compiled kernel has the same classes (`_kernel.c`).
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TypeAlias

import numpy as np

CodePoints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint32]]
CharClasses: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]

SEPARATOR = 0  # stands between words
LETTER = 1  # letter or digit: part of a word
MARK = 2  # combining mark: belongs to the letter before it
SINGLE = 3  # a word by itself
IGNORABLE = 4  # invisible: removed before a text is cut
SEGMENTED = 5  # part of a run that a language pack cuts into words

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
    *[(0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x3038, 0x303C)],  # ideographic marks
    *[(0x3041, 0x3096), (0x309D, 0x309F), (0x30A1, 0x30FF), (0x31F0, 0x31FF)],  # kana
    *[(0x3105, 0x312F), (0x31A0, 0x31BF)],  # Bopomofo
    *[(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)],  # Han
    *[(0xA000, 0xA48C), (0xAA80, 0xAADD)],  # Yi, Tai Viet
    *[(0x16FE0, 0x18D08), (0x1AFF0, 0x1B2FB)],  # Tangut, Khitan, kana extensions, Nushu
]

# Default_Ignorable_Code_Point, which NFKC_Casefold removes.
_IGNORABLE = [
    *[(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)],
    *[(0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)],
    *[(0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)],
]


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
    return classes


def to_code_points(text: str) -> CodePoints:
    """Code points of a text, lone surrogates included: uint32[n]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def from_code_points(codes: CodePoints) -> str:
    """Text of code points; the inverse of `to_code_points`."""
    text: str = codes.astype("<u4", copy=False).tobytes().decode("utf-32-le", "surrogatepass")
    return text
