"""Blocks of a main text: what a site's template is made of."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

Blocks = np.ndarray[tuple[int], np.dtype[np.uint64]]

# Dates, times and counts, but neither the number in a name (of a case-folded text), nor a block
# of nothing else.
_NUMBER = re.compile(r"(?<![a-zß-ʯͱ-ԯ_])\d+(?![a-zß-ʯͱ-ԯ_])")
_LETTER = re.compile(r"[^\W\d_]")


def split_blocks(text: str) -> tuple[list[str], Blocks]:
    """Return the blocks of a main text, and their keys: uint64[n].

    Blocks are its lines: paragraphs, list items, rows of a table. Keys are hashes, which case,
    white space and numbers do not change.
    """
    folded = without_numbers(text)
    lines, bare = [], []
    for line, low in zip(text.split("\n"), folded.split("\n"), strict=True):
        if words := (low if _LETTER.search(low) else line).split():
            lines.append(line)
            bare.append(" ".join(words))
    return lines, _hashed(bare)


def without_numbers(text: str) -> str:
    """Return a text with its case folded and with 0 for its numbers."""
    return _NUMBER.sub("0", text.casefold())


def _hashed(lines: Iterable[str]) -> Blocks:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")
