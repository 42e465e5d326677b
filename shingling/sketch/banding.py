"""Signatures -> keys of an index: two pages that share a key are candidates.

`Banding` makes keys of minima (locality-sensitive hashing), `Halves` of SimHashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SchemeError, require_accepted
from shingling.sketch.minhash import FUNCTIONS
from shingling.sketch.shingles import POLYNOMIAL_BASE, fmix64
from shingling.sketch.simhash import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Hashes, Integers, Minima


MIN_RECALL = 0.95
"""Share of the pairs at a threshold that a banding must find at least."""

SUPERSHINGLES = 6
"""Supershingles of a signature."""

_MINIMA_PER_SUPERSHINGLE = FUNCTIONS // SUPERSHINGLES


@dataclass(frozen=True)
class Banding:
    """How 84 minima are cut into `bands` bands of `rows` minima each.

    Two pages of resemblance s share at least one band with probability
    1 - (1 - s^rows)^bands (Indyk and Motwani 1998; Leskovec et al., Mining of Massive
    Datasets, section 3.4). 6 bands of 14 are the supershingles of Broder (2000).

    Raises:
        SchemeError: bands x rows is not 84.
    """

    bands: int
    rows: int

    def __post_init__(self) -> None:
        if self.bands * self.rows != FUNCTIONS or self.bands < 1:
            raise SchemeError(
                f"{self.bands} bands of {self.rows} minima are not {FUNCTIONS} minima"
            )

    def recall(self, resemblance: float) -> float:
        """Probability that two pages of this resemblance share a band, 0 to 1."""
        return float(1 - (1 - resemblance**self.rows) ** self.bands)

    @property
    def reach(self) -> float:
        """Least resemblance at which 95 % of the pairs share a band."""
        return float((1 - (1 - MIN_RECALL) ** (1 / self.bands)) ** (1 / self.rows))

    def finds(self, threshold: float) -> bool:
        """Whether at least 95 % of the pairs at a threshold share a band."""
        return self.recall(threshold) >= MIN_RECALL

    @classmethod
    def for_threshold(cls, threshold: float) -> Banding:
        """Choose the banding with the fewest bands that `finds` pairs at the threshold.

        Each band is a row of the index. Where no banding finds enough, the choice is 84 x 1.

        Raises:
            SchemeError: the threshold is not above 0, or above 1.
        """
        require_accepted(0 < threshold <= 1, "threshold", threshold, "above 0, at most 1")
        for bands in range(1, FUNCTIONS):
            if FUNCTIONS % bands == 0:
                banding = cls(bands, FUNCTIONS // bands)
                if banding.finds(threshold):
                    return banding
        return cls(FUNCTIONS, 1)

    @property
    def finds_supershingles(self) -> bool:
        """Whether all pairs with an equal supershingle share a band.

        They do if the 14 minima of each supershingle contain a whole band.
        """
        return (
            self.rows == _MINIMA_PER_SUPERSHINGLE or 2 * self.rows <= _MINIMA_PER_SUPERSHINGLE + 1
        )

    def keys(self, signatures: Sequence[Minima] | Minima) -> Integers:
        """Hash each band of signatures.

        A key has 64 bits, salted with the band's number. It is signed, because SQL has no
        unsigned integers.

        Args:
            signatures: the minima of n signatures, uint32[84] each.

        Returns:
            int64[n, bands].
        """
        rows = np.array(signatures, np.uint64).reshape(-1, self.bands, self.rows)
        sums = np.broadcast_to(np.arange(1, self.bands + 1, dtype=np.uint64), rows.shape[:2]).copy()
        for row in range(self.rows):
            sums *= POLYNOMIAL_BASE
            sums += rows[:, :, row]
        return fmix64(sums.reshape(-1)).reshape(rows.shape[:2]).view(np.int64)


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
        require_accepted(self.bits in WIDTHS, "simhash bits", self.bits, "32 or 64")

    @property
    def width(self) -> int:
        """Bits of one half."""
        return self.bits // 2

    def keys(self, simhashes: Sequence[int]) -> Integers:
        """Keys that SimHashes are stored under: int64[n, 2]."""
        return self._keys(self.split(simhashes))

    def probes(self, simhashes: Sequence[int], distance: int) -> Integers:
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

    def split(self, simhashes: Sequence[int] | Hashes) -> Hashes:
        """Low and high half of each SimHash: uint64[n, 2]."""
        high, low = np.divmod(np.asarray(simhashes, np.uint64), np.uint64(1 << self.width))
        return np.stack([low, high], axis=1)

    def masks(self, distance: int) -> Hashes:
        """Bits in which one half may differ if SimHashes are within a distance: uint64[m]."""
        return _masks(self.width, distance // 2)

    def _keys(self, halves: Hashes) -> Integers:
        salted = halves + _SALTS
        return fmix64(salted.reshape(-1)).view(np.int64).reshape((len(salted), 2))


@cache
def _masks(width: int, max_bits: int) -> Hashes:
    """All values of one half in which at most `max_bits` bits are set."""
    chosen = [
        sum(1 << place for place in places)
        for count in range(max_bits + 1)
        for places in combinations(range(width), count)
    ]
    return np.array(chosen, dtype=np.uint64)
