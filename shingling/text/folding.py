"""Folding: text -> NFKC_Casefold with one letter for those that are one to a reader.

Words are cut from it, and the exact hash is taken of it. `fold` goes by `unicodedata`. The compiled
kernel looks code points up in a table, and has `fold` fold a text whose code points depend on their
neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from html import unescape
from typing import TYPE_CHECKING

import numpy as np

from shingling.text.bounding import (
    IGNORABLE,
    class_table,
    from_code_points,
    kept_as_data,
    nfkc,
    to_code_points,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.text.bounding import CodePoints

# An entry of `fold_table`: code point in bits 0 to 20, class in bits 24 to 30, and bit 31.
_CODE_BITS = np.uint32((1 << 21) - 1)
_CLASS_SHIFT = 24
_CONTEXT_BIT = 1 << 31
_USUAL_LONG_CHARS = {"…": "...", "ß": "ss", "½": "1⁄2", "¼": "1⁄4", "¾": "3⁄4", "™": "tm"}
_JAMO_THAT_COMPOSE = [(0x1161, 0x1175), (0x11A8, 0x11C2)]  # with the syllable before them
_ABOVE = 230  # combining class of the dot
# Code points that may fold or interact with others: no Hangul, and of Han the compatible ones.
_FOLDABLE = (
    *range(0x3400),
    *range(0xA000, 0xAC00),
    *range(0xF900, 0x17000),
    *range(0x18B00, 0x20000),
    *range(0x2F800, 0x2FA20),
)

# A character reference whose "&" may have been escaped again, any number of times.
_REFERENCE = re.compile(r"&(?:(?:amp|#38|#x26);)*(#?[0-9a-z]{1,31});", re.ASCII | re.IGNORECASE)
# Persian has a blank or a zero-width non-joiner between the parts of a word.
_HALF_SPACE = re.compile("(?<=[\u0620-\u06ff])\u200c+")
# What stands for an apostrophe: modifier letters, a saltillo, an acute accent, and one with its n.
_APOSTROPHES = {**dict.fromkeys("\u02bb\u02bc\u02bd\ua78c\xb4", "'"), "\u0149": "'n"}
# Hindi has a nasal before a consonant of its class, or the anusvara in its place.
_NASAL = re.compile(
    "(?:\u0919\u094d(?=[\u0915-\u0918])|\u091e\u094d(?=[\u091a-\u091d])"
    "|\u0923\u094d(?=[\u091f-\u0922])|\u0928\u094d(?=[\u0924-\u0927])"
    "|\u092e\u094d(?=[\u092a-\u092d]))"
)
_VIRAMA, _ANUSVARA = "\u094d", "\u0902"
# What the Turkish capital becomes in lower case; other marks may come before the dot.
_DOTTED_I = re.compile("i([^\\w\u0307]*)\u0307+")

# Letters that are one to a reader, and not to Unicode: as in Lucene's ArabicNormalizer and
# PersianNormalizer (alef maksura and Persian ya, Persian kaf, alef with wasla or wavy hamza, teh
# marbuta and forms of heh), and i without a dot, which is the I of Turkish.
_FORMS = str.maketrans("ىیکٱٲٳةۀہۃı", "ييكاااهههه" + "i")
# Greek and Arabic letters are one with and without accent, breathing, dialytika, hamza or madda.
_LETTERS_OF_SEVERAL_FORMS = [(0x131, 0x131), (0x370, 0x3FF), (0x620, 0x6FF), (0x1F00, 0x1FFF)]

_FOLDED_ASCII = bytes(
    ord(" " if char.isspace() else char.lower()) for char in map(chr, range(128))
).ljust(256)


def resolved(text: str) -> str:
    """Text with what stands for other characters replaced, in linear time.

    Character references of HTML become their characters, however often they were escaped: texts
    come from pages, feeds and files that escaped them once too often. In Arabic script, a
    zero-width non-joiner becomes a blank; in Devanagari, a nasal the anusvara, where it may.
    """
    if "&" in text:
        text = _REFERENCE.sub(lambda reference: unescape(f"&{reference[1]};"), text)
    if text.isascii():
        return text
    if "\u200c" in text:
        text = _HALF_SPACE.sub(" ", text)
    for char, apostrophe in _APOSTROPHES.items():
        text = text.replace(char, apostrophe)
    return _NASAL.sub(_ANUSVARA, text) if _VIRAMA in text else text


def spelled_out(text: str) -> str:
    """Text with the most usual of the characters that fold to several replaced by these."""
    for char, several in _USUAL_LONG_CHARS.items():
        text = text.replace(char, several)
    return text


def visible(text: str, normalise: Callable[[str], str]) -> str:
    """Normalise a text and remove ignorable code points, whose neighbours may then compose."""
    codes = to_code_points(normalise(text))
    kept = codes[class_table().take(codes) != IGNORABLE]
    text = from_code_points(kept)
    return text if len(kept) == len(codes) else visible(text, normalise)


def fold(text: str) -> str:
    """Fold a text to what it shares with all texts that are the same to a reader.

    That is NFKC_Casefold (Unicode Standard, section 3.13) of the text, resolved and bounded (see
    `resolved` and `bounded`), with blanks for white space, and one letter for letters that readers
    take for one: without the marks of Greek, Hebrew, Arabic and Syriac, Arabic and Persian letters
    as one, every digit by its value, i for the i's of Turkish. Punctuation and symbols stay.
    """
    text = resolved(text)
    if text.isascii():
        return text.encode().translate(_FOLDED_ASCII).decode()
    while True:
        folded = " ".join(visible(text, _casefold).split())
        text = from_code_points(fold_table().take(to_code_points(folded)) & _CODE_BITS)
        if text == folded:  # letters may compose with marks behind them
            return text


@cache
def fold_table() -> CodePoints:
    """Table of what each code point folds to, as the compiled kernel reads it: uint32[0x110000].

    An entry is the folded code point (a blank for white space), with its class from bit 24 on.
    Bit 31 is set if a code point folds to several, or may compose or be reordered with its
    neighbours (Unicode Standard Annex #15, section 9); such an entry keeps its own code point.
    """
    codes = np.arange(0x110000, dtype=np.uint32)
    changed, folded = fold_changes()
    codes[changed] = folded
    codes |= class_table()[codes & _CODE_BITS].astype(np.uint32) << np.uint32(_CLASS_SHIFT)
    return codes


@kept_as_data
def fold_changes() -> CodePoints:
    """Code points that fold to others, and their entries without the class: uint32[2, n]."""
    chars = [*map(chr, _FOLDABLE)]
    classes = class_table()
    interacting = {
        char for char in chars if unicodedata.combining(char) and classes[ord(char)] != IGNORABLE
    }
    for low, high in _JAMO_THAT_COMPOSE:
        interacting.update(map(chr, range(low, high + 1)))
    for parts in map(str.split, map(unicodedata.decomposition, chars)):
        if len(parts) == 2 and not parts[0].startswith("<"):
            interacting.add(chr(int(parts[1], 16)))
    letters = _letters()
    letters |= {char: str(unicodedata.decimal(char)) for char in chars if char.isdecimal()}
    to_letter = str.maketrans(letters)
    entries = {}
    for char in chars:
        composed = unicodedata.normalize("NFKC", char)
        folded = " " if char.isspace() else _with_case_folded(composed).translate(to_letter)
        first = unicodedata.normalize("NFKD", char)[0]
        is_independent = interacting.isdisjoint((first, *composed, *folded))
        if not is_independent or len(composed) != 1 or len(folded) != 1:
            entries[ord(char)] = ord(char) | _CONTEXT_BIT
        elif folded != char:
            entries[ord(char)] = ord(folded)
    return np.array([*entries.items()], np.uint32).T


def _letters() -> dict[str, str]:
    """Letters that are one to a reader: what each becomes in a text whose case is folded."""
    letters = {}
    for low, high in _LETTERS_OF_SEVERAL_FORMS:
        for char in map(chr, range(low, high + 1)):
            bare = unicodedata.normalize("NFD", char.translate(_FORMS))[0]
            letters[char] = bare.translate(_FORMS)
    return letters


def _casefold(text: str) -> str:
    """Text, bounded, in NFKC with its case folded; default-ignorable code points stay."""
    return _with_case_folded(nfkc(text))


def _with_case_folded(text: str) -> str:
    """Fold the case of a text in NFKC."""
    folded = text.casefold()
    if "\N{COMBINING DOT ABOVE}" in folded:
        folded = _DOTTED_I.sub(_without_dot, folded)
    return unicodedata.normalize("NFKC", folded)


def _without_dot(match: re.Match[str]) -> str:
    """Take the dot from an i; canonical order may put other marks before the dot."""
    is_dot_of_i = all(0 < unicodedata.combining(mark) < _ABOVE for mark in match[1])
    return f"i{match[1]}" if is_dot_of_i else match[0]
