"""SimHash -> keys of its halves, by which SimHashes within a few bits of it are found."""

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

    from numpy.typing import NDArray

    from shingling.sketch.banding import Keys

_SALTS = np.array([[1 << 40], [2 << 40]], dtype=np.uint64).reshape(1, 2)


@dataclass(frozen=True)
class Halves:
    """Multi-index hashing of SimHashes cut into two halves (Norouzi, Punjani and Fleet 2012).

    Where two SimHashes differ in at most k bits, they differ in at most k / 2 bits in one of
    their halves. So a SimHash is stored under the keys of its two halves, and looked up under
    all halves within k / 2 bits of its own: 2 x 33 keys for 64 bits and a k of 2 or 3. None
    within k bits is missed; of n random SimHashes of 64 bits, 66 n / 2^32 are candidates.

    Args:
        bits: of a SimHash, 32 or 64.

    Raises:
        SchemeError: any other number of bits.
    """

    bits: int = 64

    def __post_init__(self) -> None:
        if self.bits not in WIDTHS:
            raise SchemeError(f"simhash bits {self.bits!r} are not accepted: 32 or 64")

    @property
    def width(self) -> int:
        """Bits of one half."""
        return self.bits // 2

    def keys(self, simhashes: Sequence[int]) -> Keys:
        """Keys that SimHashes are stored under: int64[n, 2]."""
        return self._keys(self.split(simhashes))

    def probes(self, simhashes: Sequence[int], distance: int) -> Keys:
        """Keys that SimHashes within a distance are stored under.

        Args:
            simhashes: n of them.
            distance: bits, 0 to 7. Every second bit multiplies the number p of keys: 2, 66,
                1,058 and 10,978 for SimHashes of 64 bits.

        Returns:
            int64[n, p].
        """
        masks = self.masks(distance)
        halves = self.split(simhashes)[:, :, np.newaxis] ^ masks
        turned = halves.transpose(0, 2, 1).reshape(-1, 2)
        return self._keys(turned).reshape((len(simhashes), 2 * len(masks)))

    def split(
        self, simhashes: Sequence[int] | NDArray[np.uint64]
    ) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
        """Low and high half of each SimHash: uint64[n, 2]."""
        values = np.asarray(simhashes, np.uint64)
        low = values & np.uint64((1 << self.width) - 1)
        return np.stack([low, values >> np.uint64(self.width)], axis=1)

    def masks(self, distance: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Bits in which one half may differ where SimHashes are within a distance: uint64[m]."""
        return _masks(self.width, distance // 2)

    def _keys(self, halves: np.ndarray[tuple[int, int], np.dtype[np.uint64]]) -> Keys:
        salted = halves + _SALTS
        return fmix64(salted.reshape(-1)).view(np.int64).reshape((len(salted), 2))


@cache
def _masks(width: int, max_bits: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """All values of one half in which at most so many bits are set."""
    chosen = [
        sum(1 << place for place in places)
        for count in range(max_bits + 1)
        for places in combinations(range(width), count)
    ]
    return np.array(chosen, dtype=np.uint64)
