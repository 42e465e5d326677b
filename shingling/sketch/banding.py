"""Bands: groups of minima whose equality makes two pages candidates (LSH)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.minhash import FUNCTIONS
from shingling.sketch.shingles import MULTIPLIER, fmix64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch.minhash import Minima

Keys: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]

RECALL = 0.95
SUPERSHINGLES = 6
_SUPERSHINGLE = FUNCTIONS // SUPERSHINGLES  # minima


@dataclass(frozen=True)
class Banding:
    """84 minima cut into `bands` bands of `rows` minima.

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
            raise SchemeError(f"{self.bands} x {self.rows} bands do not make {FUNCTIONS} minima")

    def recall(self, resemblance: float) -> float:
        """Return the probability that two pages of this resemblance share a band."""
        return float(1 - (1 - resemblance**self.rows) ** self.bands)

    def finds(self, threshold: float) -> bool:
        """Return whether at least 95 % of the pairs at the threshold share a band."""
        return self.recall(threshold) >= RECALL

    @classmethod
    def for_threshold(cls, threshold: float) -> Banding:
        """Return the cheapest banding that `finds` pairs at the threshold.

        Cheapest is fewest bands: one index row each. Below the reach of one minimum a band,
        that is 84 x 1.

        Raises:
            SchemeError: the threshold is not above 0 and at most 1.
        """
        if not 0 < threshold <= 1:
            raise SchemeError(f"threshold {threshold} is not accepted: above 0, at most 1")
        for bands in range(1, FUNCTIONS):
            if FUNCTIONS % bands == 0:
                banding = cls(bands, FUNCTIONS // bands)
                if banding.finds(threshold):
                    return banding
        return cls(FUNCTIONS, 1)

    @property
    def finds_supershingles(self) -> bool:
        """Return whether all pairs with an equal supershingle share a band.

        They do where every 14 minima that make a supershingle hold a whole band.
        """
        return self.rows == _SUPERSHINGLE or 2 * self.rows <= _SUPERSHINGLE + 1

    def keys(self, signatures: Sequence[Minima]) -> Keys:
        """Return the band keys of signatures.

        A key is 64 bits over the band's minima, salted with the band's number; signed,
        because SQL has no unsigned integers.

        Args:
            signatures: n x uint32[84].

        Returns:
            int64[n, bands].
        """
        if not signatures:
            return np.empty((0, self.bands), dtype=np.int64)
        rows = np.stack(signatures).astype(np.uint64).reshape(-1, self.bands, self.rows)
        sums = np.broadcast_to(np.arange(1, self.bands + 1, dtype=np.uint64), rows.shape[:2]).copy()
        for row in range(self.rows):
            sums *= MULTIPLIER
            sums += rows[:, :, row]
        return fmix64(sums.reshape(-1)).reshape(rows.shape[:2]).view(np.int64)
