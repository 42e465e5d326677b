"""Halves of SimHashes, by which those within a few bits of each other are found."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.shingles import fmix64
from shingling.sketch.simhash import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch.banding import Keys

_SALT = np.array([[1 << 40], [2 << 40]], dtype=np.uint64).reshape(1, 2)


@dataclass(frozen=True)
class Halves:
    """SimHashes of 32 or 64 bits cut into two halves.

    Where two SimHashes differ in at most k bits, one of their halves differs in at most
    k / 2. So a SimHash is stored under two keys, and looked up under all halves that differ
    from its own in so few bits: 2 x 33 keys for k of 2 or 3 (multi-index hashing; Norouzi,
    Punjani and Fleet 2012). Nothing within k bits is missed, and of n random SimHashes of 64
    bits 66 n / 2^32 are looked at.

    Raises:
        SchemeError: other widths.
    """

    bits: int = 64

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS:
            raise SchemeError(f"simhash bits {self.bits!r} are not accepted: 32 or 64")

    @property
    def width(self) -> int:
        """Return the bits of one half."""
        return self.bits // 2

    def keys(self, simhashes: Sequence[int]) -> Keys:
        """Return the keys that SimHashes are stored under: int64[n, 2]."""
        return self._keys(self._split(simhashes))

    def probes(self, simhashes: Sequence[int], distance: int) -> Keys:
        """Return the keys that SimHashes within a distance are stored under.

        Args:
            simhashes: n of them.
            distance: bits, 0 to 7; each two more make it many times as many keys.

        Returns:
            int64[n, p].
        """
        masks = _masks(self.width, distance // 2)
        halves = self._split(simhashes)[:, :, np.newaxis] ^ masks
        turned = halves.transpose(0, 2, 1).reshape(-1, 2)
        return self._keys(turned).reshape((len(simhashes), 2 * len(masks)))

    def _split(self, simhashes: Sequence[int]) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
        values = np.fromiter(simhashes, np.uint64, len(simhashes))
        low = values & np.uint64((1 << self.width) - 1)
        return np.stack([low, values >> np.uint64(self.width)], axis=1)

    def _keys(self, halves: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> Keys:
        salted = halves + _SALT
        return fmix64(salted.reshape(-1)).view(np.int64).reshape((len(salted), 2))


@cache
def _masks(width: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return all halves in which at most so many bits are set."""
    chosen = [
        sum(1 << place for place in places)
        for count in range(most + 1)
        for places in combinations(range(width), count)
    ]
    return np.array(chosen, dtype=np.uint64)
