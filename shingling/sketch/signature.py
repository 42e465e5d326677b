"""The signature of a text: minima, SimHash, exact hash and number of words, in 376 bytes.

Last step of text -> words -> shingles -> fingerprints -> minima, SimHash, exact hash ->
signature; `signing.py` makes it. The exact hash of texts that differ only in case, white space or
invisible characters is the same.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SignatureError
from shingling.sketch.minhash import FUNCTIONS
from shingling.sketch.scheme import Scheme
from shingling.text import nfkc_casefold

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


_HASH_BYTES = 16


def exact_hash(text: str) -> bytes:
    """Exact hash of a text, 16 bytes, under every scheme.

    BLAKE2b-128 (RFC 7693) of the text in UTF-8, in NFKC_Casefold (Unicode Standard, section 3.13),
    with one blank for each run of white space and none at the ends. Case, line breaks and invisible
    characters do not count; every letter, digit, symbol and punctuation mark does.
    """
    return hash_folded(nfkc_casefold(text))


def hash_folded(folded: str) -> bytes:
    """`exact_hash` of a text that `nfkc_casefold` has folded already."""
    # A stored text has a question mark for a lone surrogate.
    raw = folded.encode("utf-8", "replace")
    if b"  " in raw:
        codes = np.frombuffer(raw, np.uint8)
        blank = codes == ord(" ")
        kept = np.ones(len(codes), bool)  # all but blanks after a blank
        np.logical_not(blank[1:] & blank[:-1], out=kept[1:])
        raw = codes[kept].tobytes()
    return hashlib.blake2b(raw.strip(), digest_size=_HASH_BYTES).digest()
