"""The signature of a text: minima, SimHash, exact hash and number of words, in 376 bytes.

Last step of text -> words -> shingles -> fingerprints -> minima, SimHash, exact hash ->
signature. The exact hash of texts that differ only in case, white space or invisible characters is
the same. The compiled kernel signs under schemes that it knows (`_kernel_signs`), NumPy under all
others and where there is no kernel. Both give the same bits.
"""

from __future__ import annotations

import hashlib
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shingling import kernel
from shingling.errors import SignatureError, require_type
from shingling.sketch.minhash import AFFINE, FUNCTIONS, minima
from shingling.sketch.scheme import Scheme
from shingling.sketch.shingles import KEY, fingerprints, keyed_hashes, unit_hashes, word_hashes
from shingling.sketch.simhash import simhash_of_words
from shingling.text import fold_words, join_words, plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shingling.arrays import Fingerprints, Minima

_MAGIC = b"SHG1"
# Little endian: magic, scheme id, words, SimHash, exact hash; the minima follow.
_HEADER = struct.Struct("<4s8sIQ16s")
_HASH_BYTES = 16

_DEFAULT = Scheme()
_AFFINE_BYTES = AFFINE.tobytes()


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
    scheme: str = _DEFAULT.id

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


def exact_hash(text: str) -> bytes:
    """Exact hash of a text, 16 bytes, under every scheme.

    BLAKE2b-128 (RFC 7693) of the folded text (see `shingling.text.fold`) in UTF-8, with one blank
    for each run of white space and none at the ends. Case, line breaks, invisible characters and
    forms of one letter do not count; every letter, digit, symbol and punctuation mark does.
    """
    return _hash(fold_words(text)[0])


def _hash(folded: bytes) -> bytes:
    return hashlib.blake2b(folded, digest_size=_HASH_BYTES).digest()


def sign(text: str, scheme: Scheme = _DEFAULT) -> Signature:
    """Sign a text.

    A text without words has a signature with `words == 0`, which resembles no other.

    Args:
        text: main text of a page.
        scheme: to sign under.

    Raises:
        ArgumentError: the text is no string.
        SchemeError: the scheme needs a language pack that is not installed.
    """
    require_type("text", text, str, hint="of a page, `extract` gives it, or None")
    plain = plain_text(scheme.canonical, text)
    if plain is None or not _kernel_signs(scheme):
        return sign_words(scheme.canonical.words(text), scheme, text)
    folded, joined = fold_words(text)
    if plain is not text:
        joined = join_words(plain)
    return sign_by_kernel(joined, scheme, _hash(folded))


def sign_many(
    texts: Iterable[str], scheme: Scheme = _DEFAULT, *, threads: int = 1
) -> list[Signature]:
    """Sign texts, in their order.

    Args:
        texts: any number of them.
        scheme: to sign under.
        threads: number of threads. More than one help with the compiled kernel, which releases
            the GIL.

    Raises:
        SchemeError: the scheme needs a language pack that is not installed.
    """
    sign_one = partial(sign, scheme=scheme)
    if threads <= 1:
        return [*map(sign_one, texts)]
    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(sign_one, texts)]


def sign_words(
    words: Sequence[str], scheme: Scheme = _DEFAULT, text: str | None = None
) -> Signature:
    """Sign canonical words.

    Args:
        words: cut from a text.
        scheme: to sign under.
        text: that the exact hash is taken of; None for the words, joined by blanks. Keywords are
            chosen without the function words of the text; if it is None, of all words.
    """
    if _kernel_signs(scheme):
        joined = " ".join(words)
        # The kernel splits at blanks: no word may be empty or contain one.
        if joined.count(" ") == len(words) - 1 and "" not in words:
            return sign_by_kernel(
                joined.encode(), scheme, exact_hash(joined if text is None else text)
            )
    return sign_by_numpy(words, scheme, text)


def sign_by_kernel(joined: bytes, scheme: Scheme, text_hash: bytes) -> Signature:
    """Sign canonical words in UTF-8, joined by blanks, with the compiled kernel."""
    sizes = scheme.simhash._tf_sizes
    assert sizes is not None
    raw, simhash, words = kernel.sign(
        joined, _AFFINE_BYTES, scheme.shingle_size, sizes[0], sizes[-1]
    )
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
    """`sign_words` without the compiled kernel."""
    hashes = word_hashes(words)
    units = hashes if scheme.unit == "words" else unit_hashes(words, scheme.unit)
    shingles = fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)
    weighed = words
    if text is not None and scheme.simhash.keywords:
        weighed = scheme.canonical.content_words(text, [*words])
    return Signature(
        minima=minima(shingles, scheme.family),
        simhash=simhash_of_words(
            weighed, hashes if weighed is words else word_hashes(weighed), scheme.simhash
        ),
        text_hash=exact_hash(" ".join(words) if text is None else text),
        words=len(words),
        scheme=scheme.id,
    )


def shingle_text(text: str, scheme: Scheme = _DEFAULT, *, keyed: bool = False) -> Fingerprints:
    """Fingerprints of the shingles of a text, in text order: uint64[n].

    Args:
        text: main text of a page.
        scheme: with the size of the shingles.
        keyed: hash words under the key of this process. Anybody can make two words with one CRC,
            nobody two that are one here.
    """
    plain = plain_text(scheme.canonical, text)
    if plain is not None and _kernel_signs(scheme):
        key = KEY if keyed else b""
        raw = kernel.fingerprints(join_words(plain), scheme.shingle_size, key)
        return np.frombuffer(raw, dtype=np.uint64)
    return shingle_words(
        scheme.canonical.words(text), scheme, keyed_hashes if keyed else word_hashes
    )


def shingle_words(
    words: Sequence[str],
    scheme: Scheme = _DEFAULT,
    hashes_of: Callable[[Sequence[str]], Fingerprints] = word_hashes,
) -> Fingerprints:
    """Fingerprints of the shingles of canonical words, in text order: uint64[n]."""
    units = unit_hashes(words, scheme.unit, hashes_of)
    return fingerprints(units, scheme.shingle_size, ordered=scheme.ordered)


def fingerprint_set(text: str, scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Distinct fingerprints of the shingles of a text, sorted: uint64[k].

    They are for comparing texts in this process: words are hashed under its key.
    """
    return _distinct(shingle_text(text, scheme, keyed=True))


def fingerprint_set_of_words(words: Sequence[str], scheme: Scheme = _DEFAULT) -> Fingerprints:
    """Distinct fingerprints of the shingles of canonical words, sorted: uint64[k]."""
    return _distinct(shingle_words(words, scheme))


def _distinct(shingles: Fingerprints) -> Fingerprints:
    """Sort values, and drop repeats: twice as fast as `np.unique`, which hashes them."""
    ordered = np.sort(shingles)
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]


def _kernel_signs(scheme: Scheme) -> bool:
    """Whether there is a compiled kernel that signs words under this scheme."""
    return (
        kernel.COMPILED
        and scheme.unit == "words"
        and scheme.ordered
        and scheme.family == "affine"
        and scheme.simhash._tf_sizes is not None
    )
