"""Main text -> blocks (its lines) and their keys, by which a site's template is learned.

The store takes template blocks out of a text before it is cut into words.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

BlockKeys: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

# A number that is no part of a name; the text is case folded.
_NUMBER = re.compile(r"(?<![a-zß-ʯͱ-ԯ_])\d+(?![a-zß-ʯͱ-ԯ_])")
_LETTER = re.compile(r"[^\W\d_]")


def split_blocks(text: str) -> tuple[list[str], BlockKeys]:
    """Split a main text into blocks, and hash each one.

    Blocks are its lines that are not blank: paragraphs, list items, rows of a table. Lines that
    differ only in case, white space or numbers (dates, times, counts) have the same key; a line
    without letters keeps its numbers.

    Returns:
        n lines, and their keys, BLAKE2b-64: uint64[n].
    """
    masked = mask_numbers(text)
    lines, hashed = [], []
    for line, masked_line in zip(text.split("\n"), masked.split("\n"), strict=True):
        if words := (masked_line if _LETTER.search(masked_line) else line).split():
            lines.append(line)
            hashed.append(" ".join(words))
    return lines, _hash_lines(hashed)


def mask_numbers(text: str) -> str:
    """Fold the case of a text, and write 0 for each number in it."""
    return _NUMBER.sub("0", text.casefold())


def _hash_lines(lines: Iterable[str]) -> BlockKeys:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")
