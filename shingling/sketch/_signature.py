"""The signature of a page, and how a text is signed."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SignatureError
from shingling.sketch._minhash import FUNCTIONS, minima
from shingling.sketch._scheme import Scheme
from shingling.sketch._shingles import fingerprints, unit_hashes, word_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch._minhash import Minima
    from shingling.sketch._shingles import Fingerprints

_MAGIC = b"SHG1"
_HEADER = struct.Struct("<4s8sIQ16s")
_DEFAULT = Scheme()


@dataclass(frozen=True, eq=False)
class Signature:
    """What is kept of a page's text in order to compare it.

    Args:
        minima: uint32[84].
        simhash: 64 bits.
        text_hash: the exact hash, 16 bytes (BLAKE2b over the canonical words).
        words: number of canonical words.
        scheme: the id of the scheme that it was made under.
    """

    minima: Minima
    simhash: int
    text_hash: bytes
    words: int
    scheme: str = _DEFAULT.id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Signature):
            return NotImplemented
        return self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.text_hash)

    def to_bytes(self) -> bytes:
        """Return the signature as 376 bytes, little endian: a header and the minima."""
        header = _HEADER.pack(
            _MAGIC, bytes.fromhex(self.scheme), self.words, self.simhash, self.text_hash
        )
        return header + self.minima.astype("<u4").tobytes()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Signature:
        """Return the signature that `to_bytes` wrote.

        Raises:
            SignatureError: other bytes.
        """
        if len(raw) != _HEADER.size + 4 * FUNCTIONS or raw[:4] != _MAGIC:
            raise SignatureError(f"{len(raw)} bytes that are not a signature")
        _, scheme, words, simhash_, text_hash = _HEADER.unpack_from(raw)
        values = np.frombuffer(raw, dtype="<u4", offset=_HEADER.size).astype(np.uint32)
        return cls(values, simhash_, text_hash, words, scheme.hex())


def sign(text: str, scheme: Scheme = _DEFAULT) -> Signature:
    """Return the signature of a text.

    A text without words has a signature with `words == 0`, which resembles nothing.

    Raises:
        SchemeError: the scheme asks for a language pack that is not installed.
    """
    return sign_words(scheme.canonical.words(text), scheme)


def sign_words(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Signature:
    """Return the signature of canonical words."""
    hashes = word_hashes(words)
    units = hashes if scheme.unit == "words" else unit_hashes(words, scheme.unit)
    shingles = fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
    return Signature(
        minima=minima(shingles, scheme.family),
        simhash=scheme.simhash.simhash(words, hashes),
        text_hash=hashlib.blake2b(" ".join(words).encode(), digest_size=16).digest(),
        words=len(words),
        scheme=scheme.id,
    )


def fingerprints_of(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the distinct fingerprints of the shingles of canonical words, sorted: uint64[k]."""
    return np.unique(shingles_of(words, scheme))


def shingles_of(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the fingerprints of the shingles of canonical words, in text order: uint64[n]."""
    units = unit_hashes(words, scheme.unit)
    return fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
