"""Which links were seen on a site: a Bloom filter, so that its memory is bounded."""

from __future__ import annotations

_FIRST_BITS = 1 << 14
_MOST_BITS = 1 << 22  # 512 KB
_BITS_A_LINK = 10
_HASHES = 4


class SeenLinks:
    """Hashes of links, few of which are taken for seen although they were not.

    It begins small, and grows by adding filters of twice the size.
    """

    def __init__(self) -> None:
        self._filters = [bytearray(_FIRST_BITS // 8)]
        self._room = _FIRST_BITS // _BITS_A_LINK

    def add(self, key: int) -> None:
        """Add the hash of a link."""
        if key in self:
            return
        if self._room <= 0:
            bits = len(self._filters[-1]) * 16
            if bits > _MOST_BITS:
                return
            self._filters.append(bytearray(bits // 8))
            self._room = bits // _BITS_A_LINK
        self._room -= 1
        last = self._filters[-1]
        for place in _places(key, len(last) * 8):
            last[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: int) -> bool:
        return any(
            all(bits[place >> 3] & (1 << (place & 7)) for place in _places(key, len(bits) * 8))
            for bits in self._filters
        )


def _places(key: int, bits: int) -> list[int]:
    key &= (1 << 64) - 1
    step = (key >> 32) | 1
    return [(key + number * step) % bits for number in range(_HASHES)]
