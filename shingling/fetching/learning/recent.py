"""What is remembered of a site for a while, in bounded memory."""

from __future__ import annotations

from typing import Generic, TypeVar

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
