"""The signature of a text: minima, SimHash, exact hash and number of words, in 376 bytes.

Last step of text -> words -> shingles -> fingerprints -> minima, SimHash, exact hash ->
signature; `signing.py` makes it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SignatureError
from shingling.sketch.minhash import FUNCTIONS
from shingling.sketch.scheme import Scheme

if TYPE_CHECKING:
    from shingling.sketch.minhash import Minima

_MAGIC = b"SHG1"
# Little endian: magic, scheme id, words, SimHash, exact hash; the minima follow.
_HEADER = struct.Struct("<4s8sIQ16s")


@dataclass(frozen=True, eq=False)
class Signature:
    """What is kept of a page's text in order to compare it.

    Args:
        minima: uint32[84].
        simhash: 32 or 64 bits as an int.
        text_hash: the exact hash of the text, 16 bytes.
        words: number of canonical words.
        scheme: id of the scheme that it was made under, 16 hexadecimal digits.
    """

    minima: Minima
    simhash: int
    text_hash: bytes
    words: int
    scheme: str = Scheme().id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.text_hash)

    def to_bytes(self) -> bytes:
        """Serialise the signature: 376 bytes, little endian, a header of 40 and the minima."""
        header = _HEADER.pack(
            _MAGIC, bytes.fromhex(self.scheme), self.words, self.simhash, self.text_hash
        )
        return header + self.minima.astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Signature:
        """Read the signature that `to_bytes` wrote.

        Raises:
            SignatureError: the bytes are not a signature.
        """
        if len(raw) != _HEADER.size + 4 * FUNCTIONS or raw[:4] != _MAGIC:
            raise SignatureError(f"{len(raw)} bytes that are not a signature")
        _, scheme, words, simhash, text_hash = _HEADER.unpack_from(raw)
        values = np.frombuffer(raw, dtype="<u4", offset=_HEADER.size).astype(np.uint32)
        return cls(values, simhash, text_hash, words, scheme.hex())
