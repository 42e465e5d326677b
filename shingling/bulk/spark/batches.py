"""Batches of Arrow, whose columns are told as Spark tells them."""

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
def _schema(told: str) -> Any:
    columns = (column.split() for column in told.split(", "))
    return pa.schema([(name, _TYPES[kind]) for name, kind in columns])


def of_columns(columns: Sequence[Any], told: str) -> Any:
    """Return a batch of columns.

    Args:
        columns: an array or a list for each.
        told: their names and types, as in `row long, id string`.
    """
    schema = _schema(told)
    arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def of_rows(rows: Sequence[tuple[Any, ...]], told: str) -> Any:
    """Return a batch of rows, which may be none."""
    return of_columns([*zip(*rows, strict=True)] or [()] * len(_schema(told)), told)
