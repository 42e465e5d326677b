"""The signature of a page, and how a text is signed."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shingling.errors import SignatureError
from shingling.kernel import COMPILED
from shingling.sketch.exact import exact_hash, hash_bytes, hash_folded
from shingling.sketch.minhash import AFFINE, FUNCTIONS, minima
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import fingerprints, unit_hashes, word_hashes
from shingling.text import fold_whole, joined_folded

if COMPILED:
    from shingling.kernel import _kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.sketch.minhash import Minima
    from shingling.sketch.shingles import Fingerprints

_MAGIC = b"SHG1"
_HEADER = struct.Struct("<4s8sIQ16s")
_DEFAULT = Scheme()
_FUNCTIONS = AFFINE.tobytes()


@dataclass(frozen=True, eq=False)
class Signature:
    """What is kept of a page's text in order to compare it.

    Args:
        minima: uint32[84].
        simhash: 64 bits.
        text_hash: the exact hash, 16 bytes: of the text (`exact_hash`), or by a scheme of
            version 1 of its canonical words.
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
    canonical = scheme.canonical
    if not (COMPILED and scheme.is_compiled and canonical.is_plain):
        return sign_words(canonical.words(text), scheme, text)
    if scheme.version == 1:
        joined = canonical.joined(text)
        return sign_joined(joined, scheme, hash_bytes(joined))
    folded = fold_whole(text)  # once for both
    joined = canonical.joined(text) if canonical.markup else joined_folded(folded)
    return sign_joined(joined, scheme, hash_folded(folded))


def sign_many(
    texts: Iterable[str], scheme: Scheme = _DEFAULT, *, threads: int = 1
) -> list[Signature]:
    """Return the signatures of texts, in their order.

    Args:
        texts: any number of them.
        scheme: to sign with.
        threads: sign side by side. It helps where the compiled kernel is there, which does not
            hold the GIL.

    Raises:
        SchemeError: the scheme asks for a language pack that is not installed.
    """
    signed = partial(sign, scheme=scheme)
    if threads <= 1:
        return [*map(signed, texts)]
    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(signed, texts)]


def sign_words(
    words: Sequence[str], scheme: Scheme = _DEFAULT, text: str | None = None
) -> Signature:
    """Return the signature of canonical words.

    Args:
        words: cut from a text.
        scheme: to sign with.
        text: which the exact hash is of; None stands for the words, joined by blanks.
    """
    if COMPILED and scheme.is_compiled:
        joined = " ".join(words)
        if joined.count(" ") == len(words) - 1 and "" not in words:
            return sign_joined(joined.encode(), scheme, _text_hash(joined, scheme, text))
    return sign_by_numpy(words, scheme, text)


def sign_joined(joined: bytes, scheme: Scheme, text_hash: bytes) -> Signature:
    """Return the signature of canonical words in UTF-8, joined by blanks: by the kernel."""
    sizes = scheme.simhash.shingle_sizes
    assert sizes is not None
    low, high = sizes[0], sizes[-1]
    raw, simhash, words = _kernel.sign(joined, _FUNCTIONS, scheme.shingle_size, low, high)
    return Signature(
        minima=np.frombuffer(raw, dtype=np.uint32),
        simhash=simhash & ((1 << scheme.simhash.bits) - 1),
        text_hash=text_hash,
        words=words,
        scheme=scheme.id,
    )


def sign_by_numpy(
    words: Sequence[str], scheme: Scheme = _DEFAULT, text: str | None = None
) -> Signature:
    """Return what `sign_words` does, without the kernel."""
    hashes = word_hashes(words)
    units = hashes if scheme.unit == "words" else unit_hashes(words, scheme.unit)
    shingles = fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
    return Signature(
        minima=minima(shingles, scheme.family),
        simhash=scheme.simhash.simhash(words, hashes),
        text_hash=_text_hash(" ".join(words), scheme, text),
        words=len(words),
        scheme=scheme.id,
    )


def _text_hash(joined: str, scheme: Scheme, text: str | None) -> bytes:
    if scheme.version == 1:
        return hash_bytes(joined.encode())
    return exact_hash(joined if text is None else text)


def fingerprints_of(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the distinct fingerprints of the shingles of canonical words, sorted: uint64[k]."""
    return _distinct(shingles_of(words, scheme))


def text_fingerprints(text: str, scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the distinct fingerprints of the shingles of a text, sorted: uint64[k]."""
    return _distinct(text_shingles(text, scheme))


def _distinct(shingles: Fingerprints) -> Fingerprints:
    """Return sorted values without repeats: twice as fast as `np.unique`, which hashes them."""
    ordered = np.sort(shingles)
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def text_shingles(text: str, scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the fingerprints of the shingles of a text, in text order: uint64[n]."""
    if COMPILED and scheme.is_compiled and scheme.canonical.is_plain:
        raw = _kernel.shingles(scheme.canonical.joined(text), scheme.shingle_size)
        return np.frombuffer(raw, dtype=np.uint64)
    return shingles_of(scheme.canonical.words(text), scheme)


def shingles_of(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Return the fingerprints of the shingles of canonical words, in text order: uint64[n]."""
    units = unit_hashes(words, scheme.unit)
    return fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
