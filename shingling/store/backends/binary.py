"""PostgreSQL's binary formats: arrays of integers as parameters, and rows that are copied."""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import event

from shingling.store.schema.statements import COPIED_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine
    from sqlalchemy.engine.interfaces import ExecutionContext

    Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

_BIGINT_OID, _BIGINT_ARRAY_OID = 20, 1016
_ELEMENT = np.dtype([("size", ">i4"), ("value", ">i8")])


def listen(engine: Engine) -> None:
    """Have an engine copy rows, and send arrays of NumPy as they are."""
    event.listen(engine, "do_executemany", _copy)
    event.listen(engine, "connect", _register)


def pack_array(values: Integers) -> bytes:
    """Array `bigint[]` as the protocol has it."""
    elements = np.empty(len(values), dtype=_ELEMENT)
    elements["size"], elements["value"] = 8, values
    dimensions = (len(values), 1) if len(values) else ()
    header = (len(dimensions) // 2, 0, _BIGINT_OID, *dimensions)
    return struct.pack(f">{len(header)}i", *header) + elements.tobytes()


def _copy(
    cursor: Any, statement: str, rows: Sequence[Sequence[object]], context: ExecutionContext | None
) -> bool:
    types = None if context is None else context.execution_options.get(COPIED_TYPES)
    if types is None:
        return False
    with cursor.copy(statement) as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
    return True


def _register(connection: Any, _record: object) -> None:
    connection.adapters.register_dumper(np.ndarray, _dumper())


@cache
def _dumper() -> type:
    from psycopg.adapt import Dumper
    from psycopg.pq import Format

    class ArrayDumper(Dumper):
        """Sends an array of integers; psycopg takes fifteen times as long for a list of them."""

        format = Format.BINARY
        oid = _BIGINT_ARRAY_OID

        def dump(self, values: Integers) -> bytes:
            """Pack the array."""
            return pack_array(values)

    return ArrayDumper
