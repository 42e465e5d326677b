"""A main text in the forms that the store needs, so that a worker can make them."""

from __future__ import annotations

import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from shingling.text.blocks import BlockKeys, split_blocks
from shingling.text.bounding import bounded
from shingling.text.words import count_words

if TYPE_CHECKING:
    from shingling.text.canonical import Canonicaliser


class PreparedText:
    """A main text, packed as the store keeps it, and its blocks; see `split_blocks`.

    Each form is made when it is asked for first. `ready` makes all that the store needs of a page
    that resembles no other. A pickled one has these, but not the text, which is unpacked where
    it is needed.

    Args:
        text: the main text; it is bounded (see `bounded`).

    Attributes:
        words: of each block, uint32[n]; None where they are not known.
    """

    def __init__(self, text: str) -> None:
        self.text = bounded(text)
        self.words: np.ndarray[tuple[int], np.dtype[np.uint32]] | None = None

    @classmethod
    def of(cls, text: str | Self) -> Self:
        """Take a text that may be prepared already."""
        return cls(text) if isinstance(text, str) else text

    @classmethod
    def unpacked(cls, packed: bytes) -> Self:
        """Take a text that was packed before."""
        made = cls.__new__(cls)
        made.packed = packed
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
    def _blocks(self) -> tuple[list[str], BlockKeys]:
        return split_blocks(self.text)

    @property
    def lines(self) -> list[str]:
        """The blocks: n lines."""
        return self._blocks[0]

    @cached_property
    def keys(self) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Keys of the blocks: uint64[n]."""
        return self._blocks[1]

    @cached_property
    def characters(self) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        """Characters of each block: uint32[n]."""
        return np.fromiter(map(len, self.lines), np.uint32, len(self.lines))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreparedText) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __getstate__(self) -> dict[str, Any]:
        self.packed  # noqa: B018 (else there would be no text at all)
        left_out = {"text", "_blocks"}
        return {name: value for name, value in vars(self).items() if name not in left_out}


def pack(text: str) -> bytes:
    """Compress a text as the store keeps it; a lone surrogate becomes a question mark."""
    return zlib.compress(text.encode("utf-8", "replace"))


def unpack(packed: bytes) -> str:
    """Text that was packed."""
    return zlib.decompress(packed).decode()
