"""Bar charts: where each bar is, for the template that draws them as SVG with their table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, HEIGHT = 720, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 24, 12, 24
_MAX_ROOM = 60  # of a bar, with the gap behind it
_GAP = 0.2  # between bars, as a share of what a bar has
_LABELS = 6  # below the bars, at most


@dataclass(frozen=True)
class Part:
    """Part of a bar, in units of the picture."""

    series: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Bar:
    """A bar of several parts, one upon the other.

    Args:
        label: what it is about.
        values: of each series.
        parts: those that can be seen.
        x: of its middle.
        is_labelled: whether its label is written below it.
    """

    label: str
    values: tuple[int, ...]
    parts: tuple[Part, ...]
    x: float
    is_labelled: bool


@dataclass(frozen=True)
class BarChart:
    """A chart of bars.

    Args:
        title: what it shows.
        what: head of the column of labels.
        series: names of the parts of a bar, from below.
        bars: from left to right.
        top: value at the upper end.
    """

    title: str
    what: str
    series: tuple[str, ...]
    bars: tuple[Bar, ...]
    top: int

    @property
    def lines(self) -> list[tuple[float, int]]:
        """Horizontal lines: where they are, and their values."""
        return [(_height_of(value, self.top), value) for value in (0, self.top // 2, self.top)]


def bar_chart(
    title: str, what: str, series: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]]
) -> BarChart:
    """Lay out a chart.

    Args:
        title: what it shows.
        what: head of the column of labels.
        series: names of the parts of a bar.
        rows: label and values of each bar; no value is negative.
    """
    top = _round(max((sum(values) for _, values in rows), default=0))
    room = min((WIDTH - _LEFT - _RIGHT) / max(len(rows), 1), _MAX_ROOM)
    every = -(-len(rows) // _LABELS)
    bars = []
    for number, (label, values) in enumerate(rows):
        x, below, parts = _LEFT + room * number, 0, []
        for place, value in enumerate(values):
            upper, lower = _height_of(below + value, top), _height_of(below, top)
            if value:
                size = max(lower - upper, 1.0)  # a single page among thousands is seen
                parts.append(Part(place, x, lower - size, room * (1 - _GAP), size))
            below += value
        middle = x + room * (1 - _GAP) / 2
        bars.append(Bar(label, tuple(values), tuple(parts), middle, number % every == 0))
    return BarChart(title, what, tuple(series), tuple(bars), top)


def _height_of(value: int, top: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * value / top


def _round(value: int) -> int:
    """Round up to an even number with one or two digits and zeros; 2 at least."""
    step = 2 * int("1" + "0" * (len(str(value)) - 2))
    return max(-(-value // step) * step, 2)
