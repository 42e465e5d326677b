"""How the time of a function grows with the length of its input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_FACTOR = 4  # between the two lengths
_MAX_RATIO = 9  # of their times; 4 is linear, 16 quadratic
_NOT_MEASURABLE_SECONDS = 0.02
_TRIES = 3


def cpu_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """CPU time of a call."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def is_linear(function: Callable[[Any], Any], make: Callable[[int], Any], length: int) -> bool:
    """Whether four times the length takes about four times as long, and not sixteen times.

    Args:
        function: that is measured.
        make: makes its argument of a length.
        length: the longer one of the two.
    """
    short, long = make(length // _FACTOR), make(length)
    function(short)  # what is imported or cached at the first call does not count
    for _ in range(_TRIES):
        took = cpu_seconds(function, long)
        if took < max(_NOT_MEASURABLE_SECONDS, _MAX_RATIO * cpu_seconds(function, short)):
            return True
    return False
