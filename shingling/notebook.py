"""How stores, groups, pairs and matches show themselves in a notebook: as tables of HTML.

What pages say is escaped, without what cannot be seen, and cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, TypeVar

from shingling.errors import printable, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_T = TypeVar("_T")

ROWS_SHOWN = 20
_MAX_CHARACTERS = 200  # of a cell


def table(rows: Iterable[Sequence[Any]], columns: Sequence[str] = (), caption: str = "") -> str:
    """Write a table of HTML; without columns, the first cell of each row is its head."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = [f"<caption>{_cell(caption)}</caption>"] if caption else []
    if columns:
        lines.append(f"<thead><tr>{head}</tr></thead>")
    for first, *others in rows:
        tag = "td" if columns else "th"
        cells = "".join(f"<td>{_cell(value)}</td>" for value in others)
        lines.append(f"<tr><{tag}>{_cell(first)}</{tag}>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return escape(printable(shortened(str(value), _MAX_CHARACTERS)))


class Listed(list[_T]):
    """A list that shows its first rows as a table.

    Args:
        items: what is in it.
        columns: of the table.
        row: makes the cells of one.
    """

    def __init__(
        self, items: Iterable[_T], columns: Sequence[str], row: Callable[[_T], Sequence[Any]]
    ) -> None:
        super().__init__(items)
        self._columns, self._row = columns, row

    def _repr_html_(self) -> str:
        caption = f"the first {ROWS_SHOWN} of them" if len(self) > ROWS_SHOWN else ""
        return table(map(self._row, self[:ROWS_SHOWN]), self._columns, caption)


class Streamed(Iterator[_T]):
    """An iterator that shows the first rows as a table, without taking any.

    Args:
        items: what it yields.
        first: reads so many of the first ones.
    """

    def __init__(self, items: Iterator[_T], first: Callable[[int], Listed[_T]]) -> None:
        self._items, self._first = items, first

    def __next__(self) -> _T:
        return next(self._items)

    def _repr_html_(self) -> str:
        return self._first(ROWS_SHOWN + 1)._repr_html_()
