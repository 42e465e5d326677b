"""Blocks of a main text: what a site's template is made of."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shingling.text._words import canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterable

Blocks = np.ndarray[tuple[int], np.dtype[np.uint64]]

# Dates, times and counts, but neither the number in a name (of a case-folded text), nor a block
# of nothing else.
_NUMBER = re.compile(r"(?<![a-zß-ʯͱ-ԯ_])\d+(?![a-zß-ʯͱ-ԯ_])")
_TITLE = 1000  # characters of a title that are looked at
_LETTER = re.compile(r"[^\W\d_]")
_APART = re.compile(r"\s+[-–—·•:]\s+|\s*[|»«›‹>]\s*|:\s")  # parts of a title


def split_blocks(text: str) -> tuple[list[str], Blocks]:
    """Return the blocks of a main text, and their keys: uint64[n].

    Blocks are its lines: paragraphs, list items, rows of a table. Keys are hashes, which case,
    white space and numbers do not change.
    """
    folded = _NUMBER.sub("0", text.casefold())
    lines, bare = [], []
    for line, low in zip(text.split("\n"), folded.split("\n"), strict=True):
        if words := (low if _LETTER.search(low) else line).split():
            lines.append(line)
            bare.append(" ".join(words))
    return lines, _hashed(bare)


@lru_cache(4096)
def title_key(title: str) -> int:
    """Return a 64-bit hash of a title's words, in whatever order: 0 where it has none."""
    words = canonical_words(title[:_TITLE])
    return int(_hashed(["\0" + " ".join(sorted(words))])[0]) if words else 0


@lru_cache(4096)
def title_parts(title: str) -> dict[int, int]:
    """Return the keys of what a title consists of: headline, section, name of the site.

    The longest comes first. Each has the key that it has without its numbers.
    """
    parts = sorted(
        _APART.split(" ".join(title[:_TITLE].split())), key=lambda part: -len(canonical_words(part))
    )
    bare = {title_key(part): title_key(_NUMBER.sub("0", part.casefold())) for part in parts}
    bare.pop(0, None)
    return bare


def _hashed(lines: Iterable[str]) -> Blocks:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")
