"""Case folding: text -> NFKC_Casefold, from which words are cut and the exact hash is taken.

`nfkc_casefold` looks most code points up in a table; what depends on its neighbours goes the
long way by `unicodedata`. The compiled kernel reads the same table.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import compress
from operator import ne
from typing import TYPE_CHECKING

import numpy as np

from shingling.text.bounding import (
    IGNORABLE,
    MAX_LONG_CHARS,
    bounded,
    class_table,
    from_code_points,
    nfkc,
    to_code_points,
)

if TYPE_CHECKING:
    from shingling.text.bounding import CodePoints

# An entry of `fold_table`: code point in bits 0 to 20, class in bits 24 to 30, and bit 31.
_CODE_BITS = np.uint32((1 << 21) - 1)
_CLASS_SHIFT = 24
_CONTEXT_BIT = 1 << 31
# Each one is a pass over the text, by `str.replace`.
_MAX_REPLACED_CHARS = 16
_JAMO_THAT_COMPOSE = [(0x1161, 0x1175), (0x11A8, 0x11C2)]  # with the syllable before them
_COMPATIBILITY_HAN = range(0x2F800, 0x2FA20)

_FOLDED_ASCII = bytes(
    ord(" " if char.isspace() else char.lower()) if char.isascii() else ord(char)
    for char in map(chr, range(256))
)


def fold(text: str) -> str:
    """Text, bounded, in NFKC with its case folded; default-ignorable code points stay."""
    return unicodedata.normalize("NFKC", nfkc(text).casefold())


def nfkc_casefold(text: str) -> str:
    """NFKC_Casefold of a text (Unicode Standard, section 3.13), with blanks for white space.

    It is bounded (see `bounded`) and in NFKC, its case is folded, and default-ignorable code points
    are gone. Each code point of white space becomes one blank; punctuation and symbols stay.
    """
    if text.isascii():
        return text.encode().translate(_FOLDED_ASCII).decode()
    folded = _fold_by_table(text)
    while folded is None:
        text = fold(text)
        codes = to_code_points(text)
        ignorable = class_table().take(codes) == IGNORABLE
        if ignorable.any():  # its neighbours may compose once it is gone
            text = from_code_points(codes[~ignorable])
        else:
            folded = _text_of(_entries().take(codes))
    return folded


def fold_table() -> bytes:
    """Table of what each code point folds to, as the compiled kernel reads it: uint32[0x110000].

    An entry is the folded code point (a blank for white space), with its class from bit 24 on.
    Bit 31 is set where a code point folds to several, or may compose or be reordered with its
    neighbours (Unicode Standard Annex #15, section 9); such an entry keeps its own code point.
    """
    return _tables()[0]


@cache
def _tables() -> tuple[bytes, dict[str, str]]:
    """`fold_table`, and the code points that fold to several whatever their neighbours are."""
    chars = [*map(chr, (*range(0x20000), *_COMPATIBILITY_HAN))]
    interacting = {*compress(chars, map(unicodedata.combining, chars))}
    for low, high in _JAMO_THAT_COMPOSE:
        interacting.update(map(chr, range(low, high + 1)))
    composite = [*compress(chars, map(unicodedata.decomposition, chars))]
    for parts in (unicodedata.decomposition(char).split() for char in composite):
        if len(parts) == 2 and not parts[0].startswith("<"):
            interacting.add(chr(int(parts[1], 16)))
    cased = compress(chars, map(ne, chars, map(str.casefold, chars)))
    codes = np.arange(0x110000, dtype=np.uint32)
    codes[[ord(char) for char in chars if char.isspace()]] = ord(" ")
    needs_context = {*interacting}
    replacements = {}
    for char in {*composite, *cased}:
        composed, folded = unicodedata.normalize("NFKC", char), fold(char)
        first = unicodedata.normalize("NFKD", char)[0]
        independent = interacting.isdisjoint((first, *composed, *folded))
        if independent and len(composed) == len(folded) == 1:
            codes[ord(char)] = ord(folded)
        else:
            needs_context.add(char)
            if independent:
                replacements[char] = folded
    table = codes | class_table()[codes].astype(np.uint32) << np.uint32(_CLASS_SHIFT)
    table[[*map(ord, needs_context)]] |= np.uint32(_CONTEXT_BIT)
    return table.tobytes(), replacements


@cache
def _entries() -> CodePoints:
    return np.frombuffer(fold_table(), dtype=np.uint32)


def _fold_by_table(text: str) -> str | None:
    """NFKC_Casefold of a text by the table; None where code points depend on their neighbours."""
    codes = to_code_points(text)
    entries = _entries().take(codes)
    if entries.max() >= _CONTEXT_BIT:
        several = [*map(chr, np.unique(codes[entries >= _CONTEXT_BIT]).tolist())]
        replacements = _tables()[1]
        if len(several) > _MAX_REPLACED_CHARS or not replacements.keys() >= {*several}:
            return None  # it is bounded there
        if len(text) > MAX_LONG_CHARS:  # there is no mark in it, but it may grow
            text = bounded(text)
        for char in several:
            text = text.replace(char, replacements[char])
        entries = _entries().take(to_code_points(text))
    first_ignorable = IGNORABLE << _CLASS_SHIFT  # no class in the table is higher
    if entries.max() >= first_ignorable:
        entries = entries[entries < first_ignorable]
    return _text_of(entries)


def _text_of(entries: CodePoints) -> str:
    return from_code_points(entries & _CODE_BITS)
