"""How the work of a function grows with the length of its input, on a machine of any speed."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FACTOR = 8  # between the two lengths
_MAX_RATIO = 24  # of their times; 8 is linear, 64 quadratic
_QUADRATIC_RATIO = 48  # that no noise makes of 8, twice in a row
_NOT_MEASURABLE_SECONDS = 0.02
_TRIES = 4  # on a busy machine, the first ones may be wrong


def cpu_seconds(function: Callable[..., Any], *arguments: Any) -> float:
    """CPU time of a call."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def is_linear(function: Callable[[Any], Any], make: Callable[[int], Any], length: int) -> bool:
    """Whether eight times the length takes about eight times as long, and not 64 times.

    The shortest of several times count: what else the machine does can only add to them.

    Args:
        function: that is measured.
        make: makes its argument of a length.
        length: the longer one of the two.
    """
    short, long = make(length // FACTOR), make(length)
    function(short)  # what is imported or cached at the first call does not count
    takes_short = takes_long = float("inf")
    for number in range(_TRIES):
        takes_long = min(takes_long, cpu_seconds(function, long))
        if takes_long < _NOT_MEASURABLE_SECONDS:
            return True
        takes_short = min(takes_short, cpu_seconds(function, short))
        if takes_long < _MAX_RATIO * takes_short:
            return True
        if number and takes_long > _QUADRATIC_RATIO * takes_short:
            return False
    return False


def calls(function: Callable[..., Any], *arguments: Any) -> int:
    """Count the functions that a call calls, those of Python and those in C."""
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return counted
