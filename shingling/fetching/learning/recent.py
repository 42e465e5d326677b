"""What is remembered of a site for a while, in bounded memory."""

from __future__ import annotations

from typing import Generic, TypeVar

_FIRST_BITS = 1 << 14
_MOST_BITS = 1 << 22  # 512 KB
_BITS_A_LINK = 10
_HASHES = 4
_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """A mapping of the last entries: of the last half of `most` in any case.

    Args:
        most: entries that it has at most.
    """

    __slots__ = ("_half", "_new", "_old")

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[_K, _V] = {}
        self._old: dict[_K, _V] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def get(self, key: _K) -> _V | None:
        """Value of a key; None where it is not known, or forgotten."""
        value = self._new.get(key)
        return self._old.get(key) if value is None else value

    def put(self, key: _K, value: _V) -> None:
        """Set the value of a key."""
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = value

    def clear(self) -> None:
        """Forget everything."""
        self._old, self._new = {}, {}


class SeenLinks:
    """Hashes of links that were seen, in Bloom filters, so that memory is bounded.

    Few are taken for seen although they were not. It begins small, and grows by adding filters of
    twice the size.
    """

    def __init__(self) -> None:
        self._filters = [bytearray(_FIRST_BITS // 8)]
        self._room = _FIRST_BITS // _BITS_A_LINK

    def add(self, key: int) -> bool:
        """Add the hash of a link; whether it was there already."""
        if key in self:
            return True
        if self._room <= 0:
            bits = len(self._filters[-1]) * 16
            if bits > _MOST_BITS:
                return False
            self._filters.append(bytearray(bits // 8))
            self._room = bits // _BITS_A_LINK
        self._room -= 1
        last = self._filters[-1]
        for place in _places(key, len(last) * 8):
            last[place >> 3] |= 1 << (place & 7)
        return False

    def __contains__(self, key: int) -> bool:
        return any(
            all(bits[place >> 3] & (1 << (place & 7)) for place in _places(key, len(bits) * 8))
            for bits in self._filters
        )


def _places(key: int, bits: int) -> list[int]:
    key &= (1 << 64) - 1
    step = (key >> 32) | 1
    return [(key + number * step) % bits for number in range(_HASHES)]
