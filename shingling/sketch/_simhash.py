"""Fingerprints to SimHash (Charikar 2002; Manku, Jain and Das Sarma 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shingling.sketch._shingles import Fingerprints

BITS = 64
_CHUNK = 4096  # below 2^16, so that a 16-bit lane cannot overflow

_SHIFTS = np.arange(16, dtype=np.uint64)[:, np.newaxis]
_LANES = np.uint64(0x0001_0001_0001_0001)


def simhash(features: Fingerprints) -> int:
    """Return the SimHash of features weighted by how often they occur (tf).

    Bit j is set where more than half of the features have bit j set.

    Args:
        features: uint64[n], one for every occurrence, in any order.

    Returns:
        64 bits as an int; 0 where there are no features.
    """
    counts = np.zeros((16, 4), dtype=np.int64)  # [shift, lane]: bit 16 * lane + shift
    for start in range(0, len(features), _CHUNK):
        bits = (features[start : start + _CHUNK] >> _SHIFTS) & _LANES
        counts += bits.sum(axis=1, dtype="<u8").astype("<u8").view("<u2").reshape(16, 4)
    majority = (2 * counts > len(features)).T.reshape(BITS)
    return int.from_bytes(np.packbits(majority, bitorder="little").tobytes(), "little")
