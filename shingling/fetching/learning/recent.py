"""What is remembered for a while, in bounded memory."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """A mapping of the last entries: of the last half of `most` in any case.

    Args:
        most: entries that it has at most, or what they cost together.
    """

    __slots__ = ("_half", "_new", "_old", "_spent")

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._spent = 0
        self._new: dict[_K, _V] = {}
        self._old: dict[_K, _V] = {}

    def get(self, key: _K) -> _V | None:
        """Value of a key; None if it is not known, or forgotten."""
        value = self._new.get(key)
        return self._old.get(key) if value is None else value

    def put(self, key: _K, value: _V, cost: int = 1) -> None:
        """Set the value of a key."""
        if self._spent >= self._half:
            self._old, self._new, self._spent = self._new, {}, 0
        self._spent += cost if key not in self._new else 0
        self._new[key] = value


class Table:
    """A mapping of hashes to integers of 64 bits that never grows.

    Each hash has one place, by its lowest bits, and is forgotten when another one is put there.

    Args:
        bits: it has `2**bits` places.
    """

    __slots__ = ("_mask", "_places")

    def __init__(self, bits: int) -> None:
        self._mask = (1 << bits) - 1
        self._places = np.zeros(2 << bits, np.int64).data  # hash, value, hash, value ...

    def get(self, key: int) -> int | None:
        """Value of a hash; None if it is not known, or forgotten."""
        at = 2 * (key & self._mask)
        return self._places[at + 1] if self._places[at] == key else None

    def put(self, key: int, value: int) -> None:
        """Set the value of a hash."""
        at = 2 * (key & self._mask)
        self._places[at], self._places[at + 1] = key, value
