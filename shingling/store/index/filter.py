"""Bloom filters of a table of keys: most keys of a new page need not be looked up in it.

There is a filter for each slice of the keys. A key sets four bits within one word of 64 (Putze,
Sanders and Singler, Cache-, Hash- and Space-Efficient Bloom Filters, 2009). A key that is not in
the filter is not in the table; one key in 186 is a false positive of a new filter, one in 30 of a
full one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.sketch import fmix64

if TYPE_CHECKING:
    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
    Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

_MAX_KEYS_PER_WORD = 8  # 8 to 16 bits a key
_MIN_WORDS = 1024
_KEYS_HASHED_AT_ONCE = 1 << 16  # hashing takes some times their memory
_BITS_OF_PLACE = np.uint64(6)
_PLACE_MASK = np.uint64(63)
_ONE = np.uint64(1)


class Filter:
    """A filter of the keys of one slice.

    Args:
        words: of 64 bits each.
        count: keys that are in it.
    """

    def __init__(self, words: Words, count: int) -> None:
        self.words = words
        self.count = count

    @classmethod
    def for_keys(cls, keys: Integers) -> Filter:
        """Make a filter with these keys, and room for as many more."""
        size = max(_MIN_WORDS, 2 * len(keys) // _MAX_KEYS_PER_WORD)
        made = cls(np.zeros(size, np.uint64), 0)
        made.add(keys)
        return made

    @property
    def has_room(self) -> bool:
        """Whether more keys can be added."""
        return self.count <= len(self.words) * _MAX_KEYS_PER_WORD

    def add(self, keys: Integers) -> None:
        """Add keys."""
        for first in range(0, len(keys), _KEYS_HASHED_AT_ONCE):
            places, bits = self._hash(keys[first : first + _KEYS_HASHED_AT_ONCE])
            np.bitwise_or.at(self.words, places, bits)
        self.count += len(keys)

    def may_have(self, keys: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each key may be in the filter: bool[n]."""
        places, bits = self._hash(keys)
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = (self.words[places] & bits) == bits
        return found

    def _hash(self, keys: Integers) -> tuple[Integers, Words]:
        """Word of each key, and its four bits there."""
        mixed = fmix64(keys.view(np.uint64))
        bits = _ONE << (mixed & _PLACE_MASK)
        for _ in range(3):
            mixed = mixed >> _BITS_OF_PLACE
            bits |= _ONE << (mixed & _PLACE_MASK)
        places = (mixed >> _BITS_OF_PLACE) % np.uint64(len(self.words))
        return places.astype(np.int64), bits
