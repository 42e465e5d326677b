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
    from collections.abc import Iterator

    from shingling.arrays import Flags, Hashes, Numbers
    from shingling.text.canonical import Canonicaliser


_LETTERS = "a-zß-ʯͱ-ԯ_"  # of names such as python3; the text is case folded
_HEX_DIGITS = 8  # of a word that is a number if it has letters and digits, such as 1a2b3c4d
# A number that is no part of a name, with its sign, separators and decimals: 1,234.5 or [1, 2]. A
# unit of three letters may follow at once: 780mb.
_NUMBER = re.compile(
    r"(?=[-+−±\d])(?:(?<!\S)[-+−±])?"
    rf"(?<![{_LETTERS}\d])\d++(?:(?:[.'’٫٬]|,\ ?)\d++|[ \xa0\u202f]\d{{3}}(?!\d))*+"
    rf"(?=(?:[a-z]{{1,3}})?+(?![{_LETTERS}]))"
)
_HEX = re.compile(
    r"(?<![\w-])(?=[a-f]*+\d)(?=\d*+[a-f])"
    rf"[\da-f]{{{_HEX_DIGITS},}}+(?:-[\da-f]{{4,}}+)*+(?![\w-])"
)
_MAY_BE_HEX = re.compile(rf"[\da-f][\da-f]{{{_HEX_DIGITS - 1}}}")
_LABEL = re.compile(r"(?:[^\s\d]++\s*+){1,5}+")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")

CURRENCY = "$€£¥¢₹₽₩₺₴₪₫฿₦₱"
"""Signs of currencies."""

MAX_BLOCKS = 1 << 16
"""Blocks of a text. The last one is all that is left, however many lines it has."""

LINK_MARK = "\N{INVISIBLE SEPARATOR}"
"""At the end of a line of a main text that is one link and nothing else; no word has it."""

PARAGRAPH_CHARACTERS = 100
"""From which on a block is a paragraph."""

_MIN_CHARACTERS = 8  # different ones in a paragraph, which need not be counted
_LEVEL = 4  # of compression: texts are 2 % larger than by the usual 6, in two thirds of the time
_MAX_PIECE = 1 << 16  # characters that one call goes through: it holds the interpreter meanwhile


def without_marks(text: str) -> str:
    """Text as people get it, without the marks of links."""
    return text.replace(LINK_MARK, "")


def split_lines(text: str) -> list[str]:
    """Split a main text into blocks: its lines that are not blank.

    They are paragraphs, list items and rows of a table. From line `MAX_BLOCKS` on, all is one
    block.
    """
    return [line for line in text.split("\n", MAX_BLOCKS - 1) if line.strip()]


def hash_blocks(text: str) -> tuple[Hashes, Flags]:
    """Hash the blocks of a main text, with BLAKE2b-64.

    Lines that differ only in case, white space or numbers (dates, times, counts) have the same key.
    A number alone on its line is one line with the label before it ("Rooms" above "3"); any other
    line without letters keeps its numbers, and so does a paragraph that has more numbers than
    different characters besides: little else tells it from others.

    Returns:
        Keys of the lines by `split_lines`, uint64[n], and whether each has numbers that do not
        count for its key, bool[n].
    """
    digests, numbered = [], []
    before = ""
    for line in split_lines(text):
        masked, has_numbers = _masked(line)
        hashed = spaced = _spaced(masked)
        if has_numbers and not _LETTER.search(spaced) and _LABEL.fullmatch(before):
            hashed = f"{before}\n{spaced}"
        elif has_numbers and _is_told_by_numbers(spaced):
            hashed, has_numbers = _spaced(line.casefold()), False
        digests.append(hashlib.blake2b(hashed.encode("utf-8", "replace"), digest_size=8).digest())
        numbered.append(has_numbers)
        before = spaced
    return np.frombuffer(b"".join(digests), dtype="<u8"), np.array(numbered, np.bool_)


def _is_told_by_numbers(masked: str) -> bool:
    """Whether a line, in which 0 is written for each number, has little else."""
    if not _LETTER.search(masked):
        return True
    numbers = masked.count("0") if len(masked) >= PARAGRAPH_CHARACTERS else 0
    return numbers > _MIN_CHARACTERS and numbers > len({*masked})


def mask_numbers(text: str) -> str:
    """Fold the case of a text, and write 0 for each number in it."""
    return _masked(text)[0]


def _masked(text: str) -> tuple[str, bool]:
    """Fold the case of a text and write 0 for each number in it, and tell whether it has any."""
    if not _DIGIT.search(text):
        return text.casefold(), False
    masked, counts = [], 0
    for piece in _pieces(text):
        piece = piece.casefold()
        piece, hexadecimal = _HEX.subn("0", piece) if _MAY_BE_HEX.search(piece) else (piece, 0)
        piece, others = _NUMBER.subn("0", piece)
        masked.append(piece)
        counts += hexadecimal + others
    return "".join(masked), counts > 0


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
    def labelled_lines(self) -> list[str]:
        """The blocks, with a label before a number that is alone on its line: n lines."""
        numbered = self.numbered.tolist()
        return [
            f"{before} {line}" if is_numbered and not _LETTER.search(line) else line
            for before, line, is_numbered in zip(
                ["", *self.lines[:-1]], self.lines, numbered, strict=True
            )
        ]

    @cached_property
    def _hashed(self) -> tuple[Hashes, Flags]:
        return hash_blocks(self.text)

    @property
    def keys(self) -> Hashes:
        """Keys of the blocks: uint64[n]."""
        return self._hashed[0]

    @property
    def numbered(self) -> Flags:
        """Whether each block has numbers that do not count for its key: bool[n]."""
        return self._hashed[1]

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
        left_out = {"text", "lines", "labelled_lines"}
        return {name: value for name, value in vars(self).items() if name not in left_out}


def pack(text: str) -> bytes:
    """Compress a text as the store keeps it; a lone surrogate becomes a question mark."""
    return zlib.compress(text.encode("utf-8", "replace"), _LEVEL)


def unpack(packed: bytes) -> str:
    """Text that was packed."""
    return zlib.decompress(packed).decode()
