"""Arrow batches out of columns and rows, by a schema in Spark's notation."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_OTHER_NAMES = {"long": "int64", "int": "int32"}  # of Spark's types in Arrow
_KNOWS_ARROW = hasattr(DataFrame, "toArrow")  # from Spark 4 on


@cache
def _parsed(schema: str) -> Any:
    columns = (column.split() for column in schema.split(", "))
    return pa.schema(
        [(name, pa.type_for_alias(_OTHER_NAMES.get(kind, kind))) for name, kind in columns]
    )


def of_columns(columns: Sequence[Any], schema: str) -> Any:
    """Make a batch out of columns.

    Args:
        columns: an array or a list for each.
        schema: their names and types, as in `row long, id string`.
    """
    parsed = _parsed(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, parsed, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=parsed)


def of_rows(rows: Sequence[tuple[Any, ...]], schema: str) -> Any:
    """Make a batch out of rows; there may be none."""
    return of_columns([*zip(*rows, strict=True)] or [()] * len(_parsed(schema)), schema)


def collected(frame: DataFrame) -> Any:
    """Fetch a frame as a table."""
    return frame.toArrow() if _KNOWS_ARROW else pa.Table.from_pandas(frame.toPandas())


def frame_of(spark: SparkSession, columns: Sequence[Any], schema: str) -> DataFrame:
    """Make a frame out of columns."""
    table = pa.Table.from_batches([of_columns(columns, schema)])
    rows = table if _KNOWS_ARROW else table.to_pandas()
    return spark.createDataFrame(rows if table.num_rows else [], schema)
