"""Statements about many values at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Table

_MAX_VALUES = 500  # in one IN (...)
_SIZES = (1, 8, 64, 256, _MAX_VALUES)  # of such a list: there are few different statements
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}  # by the driver's paramstyle


def among(column: Column[Any]) -> ColumnElement[bool]:
    """Whether a column has one of the values that are bound to `values`, in parts by `chunked`."""
    return column.in_(bindparam("values", expanding=True))


def chunked(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield sorted distinct values in parts that fit into one statement."""
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _MAX_VALUES):
        yield ordered[start : start + _MAX_VALUES]


def select_in(connection: Connection, statement: str, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of a query by many values, as the driver gives them.

    It is not compiled each time, as an expanding `IN` of SQLAlchemy is.

    Args:
        connection: to the store.
        statement: `SELECT ... WHERE column {}`.
        values: of the column.
    """
    for part in chunked(values):
        number = next(size for size in _SIZES if size >= len(part))
        query = statement.format(f"IN ({_marks(connection, number)})")
        filled_up = (*part, *part[-1:] * (number - len(part)))
        yield from connection.exec_driver_sql(query, filled_up).all()


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert rows of values as the driver takes them: at a tenth of the cost of `insert`."""
    if not rows:
        return
    quoted = ", ".join(f'"{column}"' for column in columns)
    marks = _marks(connection, len(columns))
    statement = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"  # noqa: S608 (our names)
    connection.exec_driver_sql(statement, [*rows])


def _marks(connection: Connection, number: int) -> str:
    return ", ".join([_PLACEHOLDERS[connection.dialect.paramstyle]] * number)
