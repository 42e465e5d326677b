"""What is remembered for a while, in bounded memory."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """A mapping of the last entries: of the last half of `most` in any case.

    Args:
        most: entries that it has at most.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[_K, _V] = {}
        self._old: dict[_K, _V] = {}

    def get(self, key: _K) -> _V | None:
        """Value of a key; None if it is not known, or forgotten."""
        value = self._new.get(key)
        return self._old.get(key) if value is None else value

    def put(self, key: _K, value: _V) -> None:
        """Set the value of a key."""
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = value


class Table:
    """A mapping of hashes to integers of 64 bits that never grows.

    Two hashes have room in each pair of places, which their lowest bits tell. When a third one is
    put there, the one that was put there first is forgotten.

    Args:
        bits: it has `2**bits` places.
    """

    def __init__(self, bits: int) -> None:
        self._mask = (1 << bits) - 2
        self._places = np.zeros(2 << bits, np.int64).data  # hash, value, hash, value ...

    def get(self, key: int) -> int | None:
        """Value of a hash; None if it is not known, or forgotten."""
        places, at = self._places, 2 * (key & self._mask)
        if places[at] == key:
            return places[at + 1]
        return places[at + 3] if places[at + 2] == key else None

    def put(self, key: int, value: int) -> None:
        """Set the value of a hash."""
        places, at = self._places, 2 * (key & self._mask)
        if places[at] != key:
            places[at + 2], places[at + 3] = places[at], places[at + 1]
            places[at] = key
        places[at + 1] = value
