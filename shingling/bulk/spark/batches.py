"""Arrow batches out of columns and rows, by a schema in Spark's notation."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

_TYPES = {
    "long": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "array<long>": pa.list_(pa.int64()),
}


@cache
def _parsed(schema: str) -> Any:
    columns = (column.split() for column in schema.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


def of_columns(columns: Sequence[Any], schema: str) -> Any:
    """Make a batch out of columns.

    Args:
        columns: an array or a list for each.
        schema: their names and types, as in `row long, id string`.
    """
    parsed = _parsed(schema)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, parsed, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=parsed)


def of_rows(rows: Sequence[tuple[Any, ...]], schema: str) -> Any:
    """Make a batch out of rows; there may be none."""
    return of_columns([*zip(*rows, strict=True)] or [()] * len(_parsed(schema)), schema)
