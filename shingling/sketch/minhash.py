"""Fingerprints -> minima, by which resemblance is estimated (MinHash; Broder 1997).

The 84 functions of the hash family `affine` are h_i(x) = a_i * x + b_i modulo 2^32, where x is the
low half of a 64-bit fingerprint. Every a_i is odd, so that each function is a bijection.

Those of the family `crc` are in `crc_family`, which few schemes need. A change of any constant is a
new scheme version.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shingling.arrays import Fingerprints, Minima, Numbers


FUNCTIONS = 84
"""Hash functions of a family, and minima of a signature."""

FAMILIES = ("affine", "crc")
"""Families of hash functions."""

_CHUNK_FINGERPRINTS = 1024  # 84 x 1024 values of 4 bytes stay in the CPU cache


def _constants(letter: str) -> list[int]:
    """Constants that nobody chose: the first four bytes, little endian, of SHA-256 digests."""
    names = (f"shingling affine {letter} {number}" for number in range(FUNCTIONS))
    return [int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little") for name in names]


AFFINE = np.array([_constants("a"), _constants("b")], dtype=np.uint32)
"""Multipliers and offsets of the family `affine`: uint32[2, 84]."""

AFFINE[0] |= 1
_MULTIPLIERS, _OFFSETS = AFFINE[:, :, np.newaxis]


def minima(fingerprints: Fingerprints, family: str = "affine") -> Minima:
    """Smallest value of each of the 84 functions over all fingerprints.

    Args:
        fingerprints: uint64[n], in any order.
        family: of hash functions, one of `FAMILIES`.

    Returns:
        uint32[84]; all 0xFFFFFFFF if there are no fingerprints.
    """
    values_of = _affine_values
    if family == "crc":
        from shingling.sketch.crc_family import crc_values as values_of
    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(fingerprints), _CHUNK_FINGERPRINTS):
        values = values_of(fingerprints[start : start + _CHUNK_FINGERPRINTS])
        np.minimum(smallest, values.min(axis=1), out=smallest)
    return smallest


def _affine_values(fingerprints: Fingerprints) -> Numbers:
    values: Numbers = _MULTIPLIERS * fingerprints.astype(np.uint32)
    values += _OFFSETS
    return values
