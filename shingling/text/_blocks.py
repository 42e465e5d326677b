"""Blocks of a main text: what a site's template is made of."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import numpy as np

from shingling.text._words import canonical_words

if TYPE_CHECKING:
    from collections.abc import Iterable

Blocks = np.ndarray[tuple[int], np.dtype[np.uint64]]

_DIGITS = re.compile(r"\d+")
_APART = re.compile(r"\s+[-–—·•:]\s+|\s*[|»«›‹>]\s*|:\s")  # parts of a title


def split_blocks(text: str) -> list[str]:
    """Return the blocks of a main text: its lines (paragraphs, list items, rows of a table)."""
    return [line for line in text.split("\n") if line and not line.isspace()]


def block_keys(lines: Iterable[str]) -> Blocks:
    """Return 64-bit hashes of blocks, which case, white space and numbers do not change."""
    return _hashed(_DIGITS.sub("0", " ".join(line.casefold().split())) for line in lines)


def title_key(title: str) -> int:
    """Return a 64-bit hash of a title's words, in whatever order: 0 where it has none."""
    words = canonical_words(title)
    return int(_hashed(["\0" + " ".join(sorted(words))])[0]) if words else 0


def title_parts(title: str) -> frozenset[int]:
    """Return the keys of what a title consists of: headline, section, name of the site."""
    return frozenset(key for part in _APART.split(title) if (key := title_key(part)))


def _hashed(lines: Iterable[str]) -> Blocks:
    raw = b"".join(
        hashlib.blake2b(line.encode("utf-8", "replace"), digest_size=8).digest() for line in lines
    )
    return np.frombuffer(raw, dtype="<u8")
