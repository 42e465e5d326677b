"""Statements about many values at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import BindParameter, Connection, Table

_MAX_VALUES = 500  # in one IN (...)
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}  # by the driver's paramstyle

VALUES: BindParameter[Any] = bindparam("values", expanding=True)
"""The values of an `IN (...)`, to be bound in parts by `chunked`."""


def chunked(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield sorted distinct values in parts that fit into one statement."""
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _MAX_VALUES):
        yield ordered[start : start + _MAX_VALUES]


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert rows of values as the driver takes them: at a tenth of the cost of `insert`."""
    if not rows:
        return
    mark = _PLACEHOLDERS[connection.dialect.paramstyle]
    quoted = ", ".join(f'"{column}"' for column in columns)
    marks = ", ".join([mark] * len(columns))
    statement = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"  # noqa: S608 (our names)
    connection.exec_driver_sql(statement, list(rows))
