"""Which keys a large table may hold: most pages are new, and need not be looked for in it.

A Bloom filter of one 64-bit word a key (Putze, Sanders and Singler, Cache-, Hash- and
Space-Efficient Bloom Filters, 2009), for each slice of the keys. What it does not know is not in
the table; of what is not, it takes one key in 87 for known when it is new, one in 30 when it is
full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.sketch import fmix64

if TYPE_CHECKING:
    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
    Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

_KEYS_A_WORD = 8  # at most: 8 to 12 bits a key
_LEAST = 1024  # words
_AT_ONCE = 1 << 16  # keys; what hashing takes in memory is some times as much
_SIX = np.uint64(6)
_PLACE = np.uint64(63)
_ONE = np.uint64(1)


class Filter:
    """The keys of one slice.

    Args:
        words: of 64 bits each.
        count: keys that are in it.
    """

    def __init__(self, words: Words, count: int) -> None:
        self.words = words
        self.count = count

    @classmethod
    def for_keys(cls, keys: Integers) -> Filter:
        """Return a filter with these keys, and room for half as many more."""
        size = max(_LEAST, 3 * len(keys) // (2 * _KEYS_A_WORD))
        made = cls(np.zeros(size, np.uint64), 0)
        made.add(keys)
        return made

    @property
    def has_room(self) -> bool:
        """Return whether few enough keys are in it."""
        return self.count <= len(self.words) * _KEYS_A_WORD

    def add(self, keys: Integers) -> None:
        """Put keys in."""
        for first in range(0, len(keys), _AT_ONCE):
            places, bits = self._hash(keys[first : first + _AT_ONCE])
            np.bitwise_or.at(self.words, places, bits)
        self.count += len(keys)

    def may_have(self, keys: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return which of the keys may be in it: bool[n]."""
        places, bits = self._hash(keys)
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (self.words[places] & bits) == bits
        return found

    def _hash(self, keys: Integers) -> tuple[Integers, Words]:
        """Return the word of each key, and four bits in it."""
        mixed = fmix64(keys.view(np.uint64))
        bits = _ONE << (mixed & _PLACE)
        for _ in range(3):
            mixed = mixed >> _SIX
            bits |= _ONE << (mixed & _PLACE)
        places = (mixed >> _SIX) % np.uint64(len(self.words))
        return places.astype(np.int64), bits
