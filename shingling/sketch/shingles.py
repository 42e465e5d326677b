"""Canonical words -> shingles -> fingerprints, the 64-bit hashes of shingles.

No shingle is built as a string: the hashes of its words are combined. Minima and SimHash are
made of fingerprints; `winnow` picks some, by which pieces of a text are found.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

import crcmod
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shingling.arrays import Fingerprints


# CRC-64/XZ: the polynomial of ECMA-182, reflected, all ones before and after.
_crc64 = crcmod.mkCrcFun(0x142F0E1EBA9EA3693, initCrc=0, rev=True, xorOut=0xFFFFFFFFFFFFFFFF)

UNITS = ("words", "characters", "characters+blanks")
"""What a shingle may consist of; blanks are those between words, one each."""

POLYNOMIAL_BASE = np.uint64(0x9E3779B97F4A7C15)
"""Base of the polynomials modulo 2^64 that hash shingles and bands: 2^64 / golden ratio, odd."""

KEY = secrets.token_bytes(16)
"""Of this process, under which `keyed_hashes` are made."""

_MAX_CACHED_WORDS = 1 << 16
_MAX_CACHED_WORD_CHARS = 32
_WINNOWING_WINDOW = 32  # shingles


class _WordHashes(dict[str, int]):
    """Bounded cache of the hashes of short words: words repeat."""

    def __init__(self, hash_of: Callable[[bytes], int]) -> None:
        self._hash_of = hash_of

    def __missing__(self, word: str) -> int:
        value = self._hash_of(word.encode())
        if len(word) <= _MAX_CACHED_WORD_CHARS:
            if len(self) >= _MAX_CACHED_WORDS:
                self.clear()
            self[word] = value
        return value


def _keyed(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8, key=KEY).digest(), "little")


_word_hashes = _WordHashes(_crc64)
_keyed_hashes = _WordHashes(_keyed)


def word_hashes(words: Sequence[str]) -> Fingerprints:
    """CRC-64/XZ of each word's UTF-8 bytes: uint64[n]."""
    return np.fromiter(map(_word_hashes.__getitem__, words), np.uint64, len(words))


def keyed_hashes(words: Sequence[str]) -> Fingerprints:
    """Hash each word under the key of this process: uint64[n]."""
    return np.fromiter(map(_keyed_hashes.__getitem__, words), np.uint64, len(words))


def fmix64(values: Fingerprints) -> Fingerprints:
    """Apply the 64-bit finaliser of MurmurHash3 (Appleby 2011), a bijection, to uint64[n]."""
    mixed = values ^ (values >> np.uint64(33))
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return mixed


def unit_hashes(
    words: Sequence[str],
    unit: str,
    hashes_of: Callable[[Sequence[str]], Fingerprints] = word_hashes,
) -> Fingerprints:
    """Hash each unit of canonical words, in text order: uint64[n].

    A character counts as a word of one character. Of "characters", blanks between words do not
    count.
    """
    if unit == "words":
        return hashes_of(words)
    return hashes_of([*("" if unit == "characters" else " ").join(words)])


def fingerprints(hashes: Fingerprints, size: int, *, ordered: bool = True) -> Fingerprints:
    """Fingerprint of every shingle, in text order.

    The hashes of a shingle's units are the coefficients of a polynomial modulo 2^64 with a
    fixed odd base (Karp and Rabin 1987); `fmix64` is applied to its value.

    Args:
        hashes: of the units, uint64[n].
        size: units in a shingle. A shorter text is one shingle of all its units.
        ordered: the order of a shingle's units counts; if False, they are sorted first.

    Returns:
        uint64[max(n - size + 1, 1)]; uint64[0] if there are no units.
    """
    if not len(hashes):
        return hashes
    size = min(size, len(hashes))
    count = len(hashes) - size + 1
    if ordered:
        parts = [hashes[offset : offset + count] for offset in range(size)]
    else:
        parts = list(np.sort(np.lib.stride_tricks.sliding_window_view(hashes, size), axis=1).T)
    sums = parts[0].copy()
    for part in parts[1:]:
        sums *= POLYNOMIAL_BASE
        sums += part
    return fmix64(sums)


def winnow(shingles: Fingerprints, window: int = _WINNOWING_WINDOW) -> Fingerprints:
    """Pick the smallest fingerprint of every `window` consecutive shingles.

    Two texts that share a run of so many shingles share one of these, whatever surrounds the
    run; about 2 in window + 1 are picked (winnowing; Schleimer, Wilkerson and Aiken 2003).

    Args:
        shingles: fingerprints in text order, uint64[n].
        window: shingles, 1 or more.

    Returns:
        uint64[k], sorted, without repeats.
    """
    if len(shingles) <= window:
        return shingles.min(keepdims=True) if len(shingles) else shingles
    windows = np.lib.stride_tricks.sliding_window_view(shingles, window)
    return np.unique(windows.min(axis=1))
