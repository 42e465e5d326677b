"""SimHash of 32 bits over overlapping pieces of characters, blanks included, as for .NET.

The hash of a piece is the caller's: .NET's own differs from one run to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def pieces(text: str, length: int, overlap: int) -> list[str]:
    found = []
    start = 0
    while start + length <= len(text):
        found.append(text[start : start + length])
        start += length - overlap
    return found


def simhash32(tokens: list[str], hash_of: Callable[[str], int]) -> int:
    votes = [0] * 32
    for token in tokens:
        value = hash_of(token)
        for bit in range(32):
            votes[bit] += 1 if value >> bit & 1 else -1
    return sum(1 << bit for bit in range(32) if votes[bit] > 0)
