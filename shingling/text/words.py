"""Text to canonical words."""

from __future__ import annotations

import string
import unicodedata
from functools import cache
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

import numpy as np

from shingling.kernel import COMPILED

if COMPILED:
    from shingling.kernel import _kernel

if TYPE_CHECKING:
    from collections.abc import Callable

# What a code point is to a word. A text is cut into words by looking these up.
GAP, PART, MARK, ALONE, HIDDEN, RUN = range(6)  # RUN: a language pack cuts it into words

# Scripts written without spaces between words: each of their letters is a word of its own.
# They are the ideographs and kana (line-break class ID) and the scripts of complex context
# (class SA) of Unicode UAX #14. Marks within these ranges stay marks.
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

# Code points that show nothing: Default_Ignorable_Code_Point, which NFKC_Casefold takes out.
_IGNORABLE = [
    *[(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)],
    *[(0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)],
    *[(0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)],
]


@cache
def class_table() -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return the class of every code point: uint8[0x110000]."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    for code in range(0x20000):
        char = chr(code)
        if char.isalnum():
            classes[code] = PART
        elif code >= 0x300 and unicodedata.category(char) in ("Mn", "Mc"):
            classes[code] = MARK
    for low, high in UNSPACED:
        letters = classes[low : high + 1]
        if low >= 0x20000:
            letters[:] = ALONE
        letters[letters == PART] = ALONE
    for low, high in _IGNORABLE:
        classes[low : high + 1] = HIDDEN
    return classes


_DEPENDS = 1 << 31  # in an entry of `fold_table`
_CODE = (1 << 21) - 1
_MOST_SPELT_OUT = 16  # different ones in a text, which is gone through once for each
_COMPOSING = [(0x1161, 0x1175), (0x11A8, 0x11C2)]  # Jamo that join the syllable before them
_COMPATIBILITY = range(0x2F800, 0x2FA20)  # Han


def fold_table() -> bytes:
    """Return what each code point folds to, as the compiled kernel reads it: uint32[0x110000].

    An entry is the folded code point, a blank for all white space, with its class from bit 24 on.
    The highest bit is set where
    a code point folds to several, or may join or change places with those beside it (Unicode
    Standard Annex #15, section 9): it has its own class then.
    """
    return _folding()[0]


@cache
def _folding() -> tuple[bytes, dict[str, str]]:
    """Return the table, and the code points that fold to several whatever is beside them."""
    chars = [*map(chr, (*range(0x20000), *_COMPATIBILITY))]
    bound = {*compress(chars, map(unicodedata.combining, chars))}
    bound.update(chr(code) for low, high in _COMPOSING for code in range(low, high + 1))
    composite = [*compress(chars, map(unicodedata.decomposition, chars))]
    for parts in (unicodedata.decomposition(char).split() for char in composite):
        if len(parts) == 2 and not parts[0].startswith("<"):
            bound.add(chr(int(parts[1], 16)))
    cased = compress(chars, map(ne, chars, map(str.casefold, chars)))
    codes = np.arange(0x110000, dtype=np.uint32)
    codes[[ord(char) for char in chars if char.isspace()]] = ord(" ")
    depends = {*bound}
    spelt_out = {}
    for char in {*composite, *cased}:
        composed, folded = unicodedata.normalize("NFKC", char), fold(char)
        first = unicodedata.normalize("NFKD", char)[0]
        free = bound.isdisjoint((first, *composed, *folded))
        if free and len(composed) == len(folded) == 1:
            codes[ord(char)] = ord(folded)
        else:
            depends.add(char)
            if free:
                spelt_out[char] = folded
    table = codes | class_table()[codes].astype(np.uint32) << np.uint32(24)
    table[[*map(ord, depends)]] |= np.uint32(_DEPENDS)
    return table.tobytes(), spelt_out


_ASCII = bytes(
    ord(char.lower()) if char in string.ascii_letters + string.digits else ord(" ")
    for char in map(chr, range(256))
)

_FOLDED_ASCII = bytes(
    ord(" " if char.isspace() else char.lower()) if char.isascii() else ord(char)
    for char in map(chr, range(256))
)


def canonical_words(text: str) -> list[str]:
    """Return the canonical words of a text.

    Unicode NFKC, full case folding and no default-ignorable code points (together the
    NFKC_Casefold of the Unicode Standard, section 3.13), then runs of letters, digits and
    combining marks. In scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar, ...)
    every letter with its marks is a word.

    Punctuation, symbols, control characters and lone surrogates are no part of any word.
    """
    if COMPILED:
        return joined_words(text).decode().split()
    return cut_words(text)


def joined_words(text: str) -> bytes:
    """Return the canonical words of a text, joined by blanks, in UTF-8."""
    if COMPILED:
        joined = _kernel.join_words(text, fold_table(), False)
        return joined_folded(fold_whole(text)) if joined is None else joined
    return " ".join(cut_words(text)).encode()


def joined_folded(folded: str) -> bytes:
    """Return what `joined_words` does of a text that `fold_whole` has folded."""
    if COMPILED:
        joined = _kernel.join_words(folded, fold_table(), True)
        if joined is not None:
            return joined
    return " ".join(cut_words(folded)).encode()


def cut_words(text: str) -> list[str]:
    """Return the canonical words of a text, as NumPy finds them."""
    if text.isascii():
        return text.encode("ascii").translate(_ASCII).decode("ascii").split()
    return cut(text, class_table(), fold)


def cut(
    text: str,
    table: np.ndarray[tuple[int], np.dtype[np.uint8]],
    normalise: Callable[[str], str],
) -> list[str]:
    """Return the words of a text that is normalised first, by the class of each code point."""
    codes = _codes(normalise(text))
    classes = table.take(codes)
    if (classes == HIDDEN).any():
        return cut(_shown(codes, classes), table, normalise)
    in_word = classes != GAP
    marks = classes == MARK
    if marks.any():  # a mark belongs to the letter that it stands on
        letters = np.where(marks, 0, np.arange(len(classes)))
        classes = classes.take(np.maximum.accumulate(letters))
    alone, run = classes == ALONE, classes == RUN
    if alone.any() or run.any():
        apart = alone[1:] | alone[:-1] | (run[1:] != run[:-1])
        places = np.flatnonzero(in_word[1:] & in_word[:-1] & apart & ~marks[1:]) + 1
        codes = np.insert(codes, places, ord(" "))
        in_word = np.insert(in_word, places, False)
    spaced = np.where(in_word, codes, ord(" ")).astype("<u4")
    return spaced.tobytes().decode("utf-32-le").split()


def fold(text: str) -> str:
    """Return a text in NFKC with its case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold_whole(text: str) -> str:
    """Return the NFKC_Casefold of a text, with a blank for each code point of white space.

    It is in NFKC, its case is folded, and default-ignorable code points are gone (the Unicode
    Standard, section 3.13). Punctuation and symbols stay.
    """
    if text.isascii():
        return text.encode().translate(_FOLDED_ASCII).decode()
    folded = _looked_up(text)
    while folded is None:
        text = fold(text)
        codes = _codes(text)
        classes = class_table().take(codes)
        if (classes == HIDDEN).any():  # what is on both sides of one may join
            text = _shown(codes, classes)
        else:
            folded = _text_of(_table().take(codes))
    return folded


def _looked_up(text: str) -> str | None:
    """Return the text folded, where each code point folds by itself, and None otherwise."""
    codes = _codes(text)
    entries = _table().take(codes)
    if entries.max() >= _DEPENDS:
        several = [*map(chr, np.unique(codes[entries >= _DEPENDS]).tolist())]
        spelt_out = _folding()[1]
        if len(several) > _MOST_SPELT_OUT or not spelt_out.keys() >= {*several}:
            return None
        for char in several:
            text = text.replace(char, spelt_out[char])
        entries = _table().take(_codes(text))
    if entries.max() >= HIDDEN << 24:  # the highest class that is in the table
        entries = entries[entries < HIDDEN << 24]
    return _text_of(entries)


@cache
def _table() -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.frombuffer(fold_table(), dtype=np.uint32)


def _text_of(entries: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> str:
    codes = (entries & _CODE).astype("<u4", copy=False)
    folded: str = codes.tobytes().decode("utf-32-le", "surrogatepass")
    return folded


def _codes(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _shown(
    codes: np.ndarray[tuple[int], np.dtype[np.uint32]],
    classes: np.ndarray[tuple[int], np.dtype[np.uint8]],
) -> str:
    shown: str = codes[classes != HIDDEN].tobytes().decode("utf-32-le", "surrogatepass")
    return shown
