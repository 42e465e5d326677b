"""What is remembered for a while, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_K = TypeVar("_K")
_V = TypeVar("_V")


class RecentValues(Generic[_K, _V]):
    """A mapping of the entries that were put last.

    Args:
        most: that their values weigh together.
        weight: of a value.
    """

    def __init__(self, most: int, weight: Callable[[_V], int] = lambda _: 1) -> None:
        self._most, self._weight = most, weight
        self._weighs = 0
        self._values = OrderedDict[_K, _V]()

    def get(self, key: _K) -> _V | None:
        """Value of a key; None if it is not known, or forgotten."""
        return self._values.get(key)

    def put(self, key: _K, value: _V) -> None:
        """Set the value of a key."""
        before = self._values.pop(key, None)
        if before is not None:
            self._weighs -= self._weight(before)
        self._values[key] = value
        self._weighs += self._weight(value)
        while self._weighs > self._most:
            _, oldest = self._values.popitem(last=False)
            self._weighs -= self._weight(oldest)


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
