"""A main text in the forms that the store needs, so that a worker can make them.

Its blocks are its lines. By their keys a site's template is learned, which the store takes out of
a text before it is cut into words.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shingling.text.bounding import bounded
from shingling.text.words import count_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.arrays import Hashes, Numbers
    from shingling.text.canonical import Canonicaliser


# A number that is no part of a name; the text is case folded.
_NUMBER = re.compile(r"(?<![a-zß-ʯͱ-ԯ_])\d+(?![a-zß-ʯͱ-ԯ_])")
_LETTER = re.compile(r"[^\W\d_]")

MAX_BLOCKS = 1 << 16
"""Blocks of a text. The last one is all that is left, however many lines it has."""

LINK_MARK = "\N{INVISIBLE SEPARATOR}"
"""At the end of a line of a main text that is one link and nothing else; no word has it."""

PARAGRAPH_CHARACTERS = 100
"""From which on a block is a paragraph."""

_MIN_CHARACTERS = 8  # different ones in a paragraph, which need not be counted
_MAX_PIECE = 1 << 16  # characters that one call goes through: it holds the interpreter meanwhile


def split_lines(text: str) -> list[str]:
    """Split a main text into blocks: its lines that are not blank.

    They are paragraphs, list items and rows of a table. From line `MAX_BLOCKS` on, all is one
    block.
    """
    return [line for line in text.split("\n", MAX_BLOCKS - 1) if line.strip()]


def hash_blocks(text: str) -> Hashes:
    """Hash the blocks of a main text, with BLAKE2b-64.

    Lines that differ only in case, white space or numbers (dates, times, counts) have the same key.
    A line without letters keeps its numbers, and so does a paragraph that has more numbers than
    different characters besides: little else tells it from others.

    Returns:
        Keys of the lines by `split_lines`: uint64[n].
    """
    masked = mask_numbers(text)
    most = MAX_BLOCKS - 1
    hashed = (
        _spaced(line if _is_told_by_numbers(masked_line) else masked_line)
        for line, masked_line in zip(text.split("\n", most), masked.split("\n", most), strict=True)
    )
    return _hash_lines(filter(None, hashed))


def _is_told_by_numbers(masked: str) -> bool:
    """Whether a line, in which 0 is written for each number, has little else."""
    if not _LETTER.search(masked):
        return True
    numbers = masked.count("0") if len(masked) >= PARAGRAPH_CHARACTERS else 0
    return numbers > _MIN_CHARACTERS and numbers > len({*masked})


def mask_numbers(text: str) -> str:
    """Fold the case of a text, and write 0 for each number in it."""
    return "".join(_NUMBER.sub("0", piece.casefold()) for piece in _pieces(text))


def _spaced(line: str) -> str:
    """Write one space for each run of white space in a line, and none at its ends."""
    if len(line) <= _MAX_PIECE:
        return " ".join(line.split())
    return " ".join(words for piece in _pieces(line) if (words := " ".join(piece.split())))


def _pieces(text: str) -> Iterator[str]:
    """Cut a text behind spaces and ends of lines, and a longer word if it is too long."""
    start = 0
    while len(text) - start > _MAX_PIECE:
        end = start + _MAX_PIECE
        behind = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1
        end = behind or end
        yield text[start:end]
        start = end
    yield text[start:]


def _hash_lines(lines: Iterable[str]) -> Hashes:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")


class PreparedText:
    """A main text, packed as the store keeps it, and its blocks; see `hash_blocks`.

    Each form is made when it is asked for first. `ready` makes all that the store needs of a page
    that resembles no other. A pickled one has these, but not the text, which is unpacked where
    it is needed.

    Args:
        text: the main text; it is bounded (see `bounded`).

    Attributes:
        words: of each block, uint32[n]; None if they are not known.
    """

    def __init__(self, text: str) -> None:
        self.text = bounded(text)
        self.words: Numbers | None = None

    @classmethod
    def of(cls, text: str | Self) -> Self:
        """Take a text that may be prepared already."""
        return cls(text) if isinstance(text, str) else text

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Take a text that was packed before."""
        made = cls.__new__(cls)
        made.packed, made.text = packed, unpack(packed)
        made.words = None
        return made

    def ready(self, canonical: Canonicaliser) -> Self:
        """Make all forms; count the words of each block if by this canonicaliser they add up."""
        for form in ("packed", "keys", "characters"):
            getattr(self, form)
        if canonical.counts_add_up:
            self.words = np.fromiter(map(count_words, self.lines), np.uint32, len(self.lines))
        return self

    @cached_property
    def text(self) -> str:
        """The main text."""
        return unpack(self.packed)

    @cached_property
    def packed(self) -> bytes:
        """The main text, compressed."""
        return pack(self.text)

    @cached_property
    def lines(self) -> list[str]:
        """The blocks: n lines."""
        return split_lines(self.text)

    @cached_property
    def keys(self) -> Hashes:
        """Keys of the blocks: uint64[n]."""
        return hash_blocks(self.text)

    @cached_property
    def characters(self) -> Numbers:
        """Characters of each block: uint32[n]."""
        return np.fromiter(map(len, self.lines), np.uint32, len(self.lines))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreparedText) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __getstate__(self) -> dict[str, Any]:
        self.packed  # noqa: B018 (else there would be no text at all)
        left_out = {"text", "lines"}
        return {name: value for name, value in vars(self).items() if name not in left_out}


def pack(text: str) -> bytes:
    """Compress a text as the store keeps it; a lone surrogate becomes a question mark."""
    return zlib.compress(text.encode("utf-8", "replace"))


def unpack(packed: bytes) -> str:
    """Text that was packed."""
    return zlib.decompress(packed).decode()
