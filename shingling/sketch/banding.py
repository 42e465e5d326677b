"""Minima -> band keys: two pages that share a key are candidates (locality-sensitive hashing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shingling.errors import SchemeError
from shingling.sketch.minhash import FUNCTIONS
from shingling.sketch.shingles import POLYNOMIAL_BASE, fmix64

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch.minhash import Minima

Keys: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]

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
        """Whether all pairs with an equal supershingle share a band.

        They do where the 14 minima of each supershingle contain a whole band.
        """
        return (
            self.rows == _MINIMA_PER_SUPERSHINGLE or 2 * self.rows <= _MINIMA_PER_SUPERSHINGLE + 1
        )

    def keys(self, signatures: Sequence[Minima]) -> Keys:
        """Hash each band of signatures.

        A key has 64 bits, salted with the band's number. It is signed, because SQL has no
        unsigned integers.

        Args:
            signatures: the minima of n signatures, uint32[84] each.

        Returns:
            int64[n, bands].
        """
        if not signatures:
            return np.empty((0, self.bands), dtype=np.int64)
        rows = np.stack(signatures).astype(np.uint64).reshape(-1, self.bands, self.rows)
        sums = np.broadcast_to(np.arange(1, self.bands + 1, dtype=np.uint64), rows.shape[:2]).copy()
        for row in range(self.rows):
            sums *= POLYNOMIAL_BASE
            sums += rows[:, :, row]
        return fmix64(sums.reshape(-1)).reshape(rows.shape[:2]).view(np.int64)
