"""Fingerprints to minima (MinHash; Broder 1997)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shingling.sketch.affine import MULTIPLIERS, OFFSETS
from shingling.sketch.crc import crc_values

if TYPE_CHECKING:
    from shingling.sketch.shingles import Fingerprints

Minima: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint32]]

FUNCTIONS = 84
FAMILIES = ("affine", "crc")
_CHUNK = 1024  # fingerprints at a time: 84 x 1024 x 4 bytes stay in the cache

AFFINE = np.array([MULTIPLIERS, OFFSETS], dtype=np.uint32)  # [2, 84]
_A, _B = AFFINE[:, :, np.newaxis]


def minima(fingerprints: Fingerprints, family: str = "affine") -> Minima:
    """Return the smallest value of each of the 84 functions over all fingerprints.

    Args:
        fingerprints: uint64[n], in any order.
        family: of functions, one of `FAMILIES`.

    Returns:
        uint32[84]; all ones where there are no fingerprints.
    """
    return _crc_minima(fingerprints) if family == "crc" else _affine_minima(fingerprints)


def _affine_minima(fingerprints: Fingerprints) -> Minima:
    keys = fingerprints.astype(np.uint32)
    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    values = np.empty((FUNCTIONS, min(len(keys), _CHUNK)), dtype=np.uint32)
    for start in range(0, len(keys), _CHUNK):
        chunk = keys[start : start + _CHUNK]
        part = values[:, : len(chunk)]
        np.multiply(_A, chunk, out=part)
        np.add(part, _B, out=part)
        np.minimum(smallest, part.min(axis=1), out=smallest)
    return smallest


def _crc_minima(fingerprints: Fingerprints) -> Minima:
    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(fingerprints), _CHUNK):
        part = crc_values(fingerprints[start : start + _CHUNK])
        np.minimum(smallest, part.min(axis=1), out=smallest)
    return smallest
