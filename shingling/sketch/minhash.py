"""Fingerprints -> minima, by which resemblance is estimated (MinHash; Broder 1997)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shingling.sketch.affine import MULTIPLIERS, OFFSETS

if TYPE_CHECKING:
    from shingling.sketch.shingles import Fingerprints

Minima: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint32]]

FUNCTIONS = 84
"""Hash functions of a family, and minima of a signature."""

FAMILIES = ("affine", "crc")
"""Families of hash functions."""

AFFINE = np.array([MULTIPLIERS, OFFSETS], dtype=np.uint32)
"""Multipliers and offsets of the family `affine`: uint32[2, 84]."""

_MULTIPLIERS, _OFFSETS = AFFINE[:, :, np.newaxis]
_CHUNK_FINGERPRINTS = 1024  # 84 x 1024 values of 4 bytes stay in the CPU cache


def minima(fingerprints: Fingerprints, family: str = "affine") -> Minima:
    """Smallest value of each of the 84 functions over all fingerprints.

    Args:
        fingerprints: uint64[n], in any order.
        family: of hash functions, one of `FAMILIES`.

    Returns:
        uint32[84]; all 0xFFFFFFFF where there are no fingerprints.
    """
    return _crc_minima(fingerprints) if family == "crc" else _affine_minima(fingerprints)


def _affine_minima(fingerprints: Fingerprints) -> Minima:
    keys = fingerprints.astype(np.uint32)
    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    values = np.empty((FUNCTIONS, min(len(keys), _CHUNK_FINGERPRINTS)), dtype=np.uint32)
    for start in range(0, len(keys), _CHUNK_FINGERPRINTS):
        chunk = keys[start : start + _CHUNK_FINGERPRINTS]
        part = values[:, : len(chunk)]
        np.multiply(_MULTIPLIERS, chunk, out=part)
        np.add(part, _OFFSETS, out=part)
        np.minimum(smallest, part.min(axis=1), out=smallest)
    return smallest


def _crc_minima(fingerprints: Fingerprints) -> Minima:
    from shingling.sketch.crc import crc_values  # few schemes have this family

    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(fingerprints), _CHUNK_FINGERPRINTS):
        part = crc_values(fingerprints[start : start + _CHUNK_FINGERPRINTS])
        np.minimum(smallest, part.min(axis=1), out=smallest)
    return smallest
