"""Fingerprints -> minima, by which resemblance is estimated (MinHash; Broder 1997).

The 84 functions of the hash family `affine` are h_i(x) = a_i * x + b_i modulo 2^32, where x is the
low half of a 64-bit fingerprint. Every a_i is odd, so that each function is a bijection.

Those of the family `crc` are h_i(x) = fmix32(CRC-32_i(x)). CRC-32_i runs over the 8 bytes of a
fingerprint, little endian, with polynomial i, reflected, all ones before and after. A CRC is linear
over GF(2), which shows in minima of structured sets (tables of numbers); fmix32, the 32-bit
finaliser of MurmurHash3, ends that. Polynomial i is x^32 plus the first four bytes, little endian,
of SHA-256 of "shingling crc i j" (its lowest bit set), for the smallest j that makes it irreducible
over GF(2), so that nobody chose them. A change of any constant is a new scheme version.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

import crcmod
import numpy as np

if TYPE_CHECKING:
    from shingling.arrays import Fingerprints, Minima, Numbers, Octets


FUNCTIONS = 84
"""Hash functions of a family, and minima of a signature."""

FAMILIES = ("affine", "crc")
"""Families of hash functions."""

_CHUNK_FINGERPRINTS = 1024  # 84 x 1024 values of 4 bytes stay in the CPU cache

# fmt: off
POLYNOMIALS = (
    0xEF3DFDCB, 0xE6EE8EA1, 0x99E42C67, 0x61D12AC5, 0x90EBE1D7, 0xEF1033C5, 0x3C70BE15,
    0x5C4C87CB, 0xB50C98ED, 0xBD20BB5D, 0x1A65F38F, 0x303F7973, 0x0FE06D41, 0x7941AAD5,
    0xE8620FB9, 0x9A4A7443, 0x658180CD, 0x087A28D7, 0xC1749EE1, 0x008D513D, 0xAA292FAF,
    0x0112956B, 0x4D3DC287, 0x184DB5D3, 0x5B69C975, 0xAE667F4D, 0xAB07C71F, 0x40DB5BA9,
    0x036753B5, 0x0016AD63, 0x42FDD2D3, 0xCDA9C667, 0x0D09A4EB, 0xE0F45FF3, 0xC2D7CAC1,
    0xDD9CBB1B, 0x7446E39F, 0x6E0F1659, 0x5CC7122F, 0x5C8C11CB, 0x74DD9FBB, 0x09453CD9,
    0x7588CF8F, 0x69AB8333, 0xC9341311, 0x28750D81, 0x26D4FDD1, 0x2D093911, 0xF41C3FC5,
    0x4CB2553D, 0x54CED7A3, 0x8582E939, 0xC14B560B, 0x0151BB63, 0x7BF69FD1, 0x3A9A1E93,
    0x6435FA67, 0x76A87E71, 0xFC3F18DD, 0xBC992E91, 0xB6018469, 0xA0211DB7, 0x42015BA5,
    0x641E5C37, 0x8141C61B, 0xDB8A5763, 0x7DFE3CD3, 0x403F95AD, 0x8AA3C6C7, 0xA5969CA9,
    0xF5DA450F, 0xBFDFAF77, 0xF8A7D6FB, 0x19E50F2D, 0xF218841F, 0x7BAF8C15, 0xE26C3F95,
    0xA59A5723, 0x8DB6707B, 0x89D5DC45, 0x09AF4869, 0x4C2A3F05, 0x1D33E379, 0x6556C6FF,
)
# fmt: on


@cache
def _tables() -> tuple[Numbers, Numbers]:
    """Tables of what each byte of a fingerprint adds to each CRC, and CRCs of eight zero bytes.

    The CRC of a fixed length is linear: it is the XOR of what its bytes add.

    Returns:
        uint32[8, 84, 256] by place, function and byte; uint32[84, 1].
    """
    crcs = [
        crcmod.mkCrcFun((1 << 32) | polynomial, 0, rev=True, xorOut=0xFFFFFFFF)
        for polynomial in POLYNOMIALS
    ]
    zeros = np.array([[crc(bytes(8))] for crc in crcs], np.uint32)
    added = [
        [
            [crc(bytes([0] * place + [byte] + [0] * (7 - place))) for byte in range(256)]
            for crc in crcs
        ]
        for place in range(8)
    ]
    return np.array(added, np.uint32) ^ zeros, zeros


def _bytes_of(fingerprints: Fingerprints) -> Octets:
    """Bytes of fingerprints, little endian: uint8[8, n]."""
    return fingerprints.astype("<u8").view(np.uint8).reshape(-1, 8).T


def crc_values(fingerprints: Fingerprints) -> Numbers:
    """Apply each of the 84 functions to each fingerprint.

    Args:
        fingerprints: uint64[n].

    Returns:
        uint32[84, n].
    """
    tables, zeros = _tables()
    values = np.repeat(zeros, len(fingerprints), axis=1)
    for table, column in zip(tables, _bytes_of(fingerprints), strict=True):
        values ^= table.take(column, axis=1)
    return _fmix32(values)


def _fmix32(values: Numbers) -> Numbers:
    """Apply the 32-bit finaliser of MurmurHash3 (Appleby 2011), in place."""
    values ^= values >> np.uint32(16)
    values *= np.uint32(0x85EBCA6B)
    values ^= values >> np.uint32(13)
    values *= np.uint32(0xC2B2AE35)
    values ^= values >> np.uint32(16)
    return values


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
    values_of = crc_values if family == "crc" else _affine_values
    smallest = np.full(FUNCTIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(fingerprints), _CHUNK_FINGERPRINTS):
        values = values_of(fingerprints[start : start + _CHUNK_FINGERPRINTS])
        np.minimum(smallest, values.min(axis=1), out=smallest)
    return smallest


def _affine_values(fingerprints: Fingerprints) -> Numbers:
    values: Numbers = _MULTIPLIERS * fingerprints.astype(np.uint32)
    values += _OFFSETS
    return values
