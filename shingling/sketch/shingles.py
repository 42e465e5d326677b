"""Canonical words to fingerprints: the 64-bit hashes of a page's shingles."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import crcmod
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Fingerprints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

# CRC-64/XZ: the polynomial of ECMA-182, reflected, all ones before and after.
_crc64 = crcmod.mkCrcFun(0x142F0E1EBA9EA3693, initCrc=0, rev=True, xorOut=0xFFFFFFFFFFFFFFFF)

UNITS = ("words", "characters")

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio, odd
_CACHED_WORDS = 1 << 16
_CACHED_LENGTH = 32  # characters


class _WordHashes(dict[str, int]):
    """CRC-64/XZ of words, remembered for the short ones: words repeat."""

    def __missing__(self, word: str) -> int:
        value: int = _crc64(word.encode())
        if len(word) <= _CACHED_LENGTH:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[word] = value
        return value


_word_hashes = _WordHashes()


def word_hashes(words: Sequence[str]) -> Fingerprints:
    """Return CRC-64/XZ of each word's UTF-8 bytes: uint64[n]."""
    return np.fromiter(map(_word_hashes.__getitem__, words), np.uint64, len(words))


def fmix64(values: Fingerprints) -> Fingerprints:
    """Return the 64-bit finaliser of MurmurHash3 (Appleby 2011) of each value; a bijection."""
    mixed = values ^ (values >> np.uint64(33))
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return mixed


def unit_hashes(words: Sequence[str], unit: str) -> Fingerprints:
    """Return the hash of each unit of canonical words, in text order: uint64[n].

    A character counts as a word of one character; blanks between words do not count.
    """
    return word_hashes(words if unit == "words" else list("".join(words)))


def fingerprints(hashes: Fingerprints, size: int, *, ordered: bool = True) -> Fingerprints:
    """Return the fingerprint of every shingle, in text order.

    A shingle's unit hashes are the coefficients of a polynomial modulo 2^64 (Karp and
    Rabin 1987, with a fixed odd multiplier), which `fmix64` finishes.

    Args:
        hashes: of the units, uint64[n].
        size: units in a shingle. A shorter text is one shingle of all its units.
        ordered: whether the order of a shingle's units counts; where not, they are sorted.

    Returns:
        uint64[max(n - size + 1, 1)]; uint64[0] where there are no units.
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
        sums *= MULTIPLIER
        sums += part
    return fmix64(sums)
