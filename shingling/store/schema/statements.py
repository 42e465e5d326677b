"""Statements about many values at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import ARRAY, Boolean, bindparam
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Column, ColumnElement, Connection, Dialect, Table
    from sqlalchemy.sql.compiler import SQLCompiler

_MAX_VALUES = 500  # in one IN (...)
_SIZES = (1, 8, 64, 256, _MAX_VALUES)  # of such a list
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}  # by the driver's paramstyle

COPIED_TYPES = "copied_types"
"""Execution option of a `COPY`: names of the types of its columns."""


class among(FunctionElement[bool]):  # noqa: N801 (reads as the functions of SQLAlchemy do)
    """Whether a column has one of the values that are bound to a name, in parts by `chunked`."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, column: ColumnElement[Any], name: str = "values") -> None:
        super().__init__(column, bindparam(name, expanding=True))

    def self_group(self, against: object = None) -> Self:  # noqa: ARG002 (of the base)
        """Stay as it is: within `and_`, SQLite would compare it with 1, and use no index."""
        return self


@compiles(among)
def _as_list(element: among, compiler: SQLCompiler, **options: Any) -> str:
    column, values = element.clauses
    return compiler.process(column.in_(values), **options)


@compiles(among, "postgresql")
def _as_array(element: among, compiler: SQLCompiler, **options: Any) -> str:
    """One statement for any number of values, which the server prepares once."""
    column, values = element.clauses
    array = bindparam(values.key, type_=ARRAY(column.type))
    return f"{compiler.process(column, **options)} = ANY ({compiler.process(array, **options)})"


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
        if connection.dialect.name == "postgresql":
            among_them, given = "= ANY (%s)", (part,)
        else:
            # Padded with the last one, so that there are few different statements.
            number = next(size for size in _SIZES if size >= len(part))
            among_them = f"IN ({', '.join('?' * number)})"
            given = (*part, *part[-1:] * (number - len(part)))
        yield from connection.exec_driver_sql(statement.format(among_them), given).all()


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert rows of values as the driver takes them: at a tenth of the cost of `insert`."""
    if not rows:
        return
    quoted = ", ".join(f'"{column}"' for column in columns)
    if connection.dialect.name == "postgresql" and len(rows) > 1:
        types = [_type_name(table.c[column], connection.dialect) for column in columns]
        connection.exec_driver_sql(
            f"COPY {table.name} ({quoted}) FROM STDIN (FORMAT BINARY)",
            list(rows),
            execution_options={COPIED_TYPES: types},
        )
        return
    mark = _PLACEHOLDERS[connection.dialect.paramstyle]
    marks = ", ".join([mark] * len(columns))
    statement = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"  # noqa: S608 (our names)
    connection.exec_driver_sql(statement, list(rows))


def _type_name(column: Column[Any], dialect: Dialect) -> str:
    """Name of a column's type as psycopg knows it."""
    name = column.type.compile(dialect).lower()
    return "float8" if name == "float" else name
