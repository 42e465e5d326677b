"""The hash family `crc`, by which minima are made under some schemes.

Its 84 functions are h_i(x) = fmix32(CRC-32_i(x)). CRC-32_i runs over the 8 bytes of a
fingerprint, little endian, with polynomial i, reflected, all ones before and after. A CRC is linear
over GF(2), which shows in minima of structured sets (tables of numbers); fmix32, the 32-bit
finaliser of MurmurHash3, ends that. Polynomial i is x^32 plus the first four bytes, little endian,
of SHA-256 of "shingling crc i j" (its lowest bit set), for the smallest j that makes it irreducible
over GF(2), so that nobody chose them. A change of any constant is a new scheme version.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import crcmod
import numpy as np

if TYPE_CHECKING:
    from shingling.arrays import Fingerprints, Numbers

POLYNOMIALS = np.frombuffer(
    bytes.fromhex("""
    EF3DFDCB E6EE8EA1 99E42C67 61D12AC5 90EBE1D7 EF1033C5 3C70BE15 5C4C87CB B50C98ED BD20BB5D
    1A65F38F 303F7973 0FE06D41 7941AAD5 E8620FB9 9A4A7443 658180CD 087A28D7 C1749EE1 008D513D
    AA292FAF 0112956B 4D3DC287 184DB5D3 5B69C975 AE667F4D AB07C71F 40DB5BA9 036753B5 0016AD63
    42FDD2D3 CDA9C667 0D09A4EB E0F45FF3 C2D7CAC1 DD9CBB1B 7446E39F 6E0F1659 5CC7122F 5C8C11CB
    74DD9FBB 09453CD9 7588CF8F 69AB8333 C9341311 28750D81 26D4FDD1 2D093911 F41C3FC5 4CB2553D
    54CED7A3 8582E939 C14B560B 0151BB63 7BF69FD1 3A9A1E93 6435FA67 76A87E71 FC3F18DD BC992E91
    B6018469 A0211DB7 42015BA5 641E5C37 8141C61B DB8A5763 7DFE3CD3 403F95AD 8AA3C6C7 A5969CA9
    F5DA450F BFDFAF77 F8A7D6FB 19E50F2D F218841F 7BAF8C15 E26C3F95 A59A5723 8DB6707B 89D5DC45
    09AF4869 4C2A3F05 1D33E379 6556C6FF
"""),
    ">u4",
).tolist()


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


def crc_values(fingerprints: Fingerprints) -> Numbers:
    """Apply each of the 84 functions to each fingerprint.

    Args:
        fingerprints: uint64[n].

    Returns:
        uint32[84, n].
    """
    tables, zeros = _tables()
    values = np.repeat(zeros, len(fingerprints), axis=1)
    columns = fingerprints.astype("<u8").view(np.uint8).reshape(-1, 8).T
    for table, column in zip(tables, columns, strict=True):
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
