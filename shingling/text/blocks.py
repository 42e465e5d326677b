"""Main text -> blocks (its lines) and their keys, by which a site's template is learned.

The store takes template blocks out of a text before it is cut into words.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BlockKeys: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

# A number that is no part of a name; the text is case folded.
_NUMBER = re.compile(r"(?<![a-zß-ʯͱ-ԯ_])\d+(?![a-zß-ʯͱ-ԯ_])")
_LETTER = re.compile(r"[^\W\d_]")

MAX_BLOCKS = 1 << 16
"""Blocks of a text. The last one is all that is left, however many lines it has."""

_MAX_PIECE = 1 << 16  # characters that one call goes through: it holds the interpreter meanwhile


def split_blocks(text: str) -> tuple[list[str], BlockKeys]:
    """Split a main text into blocks, and hash each one.

    Blocks are its lines that are not blank: paragraphs, list items, rows of a table. Lines that
    differ only in case, white space or numbers (dates, times, counts) have the same key; a line
    without letters keeps its numbers. From line `MAX_BLOCKS` on, all is one block.

    Returns:
        n lines, and their keys, BLAKE2b-64: uint64[n].
    """
    masked = mask_numbers(text)
    lines, hashed = [], []
    most = MAX_BLOCKS - 1
    for line, masked_line in zip(text.split("\n", most), masked.split("\n", most), strict=True):
        if words := _spaced(masked_line if _LETTER.search(masked_line) else line):
            lines.append(line)
            hashed.append(words)
    return lines, _hash_lines(hashed)


def mask_numbers(text: str) -> str:
    """Fold the case of a text, and write 0 for each number in it."""
    return "".join(_NUMBER.sub("0", piece.casefold()) for piece in _pieces(text))


def _spaced(line: str) -> str:
    """Write one space for each run of white space in a line, and none at its ends."""
    if len(line) <= _MAX_PIECE:
        return " ".join(line.split())
    return " ".join(words for piece in _pieces(line) if (words := " ".join(piece.split())))


def _pieces(text: str) -> Iterator[str]:
    """Cut a text behind spaces and ends of lines, and a longer word where it is too long."""
    start = 0
    while len(text) - start > _MAX_PIECE:
        end = start + _MAX_PIECE
        behind = max(text.rfind(" ", start, end), text.rfind("\n", start, end)) + 1
        end = behind or end
        yield text[start:end]
        start = end
    yield text[start:]


def _hash_lines(lines: Iterable[str]) -> BlockKeys:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")
