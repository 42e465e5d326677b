"""Rows of a DataFrame, signed by Spark's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.bulk.options import Order
from shingling.bulk.signing import named_row, sign_text, without_text
from shingling.bulk.spark.batches import of_rows
from shingling.files.json_values import json_values
from shingling.store.ids import BadRowError
from shingling.store.schema.rows import LITTLE_ENDIAN, SIGNED as SIGNED_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.bulk.options import Options

SIGNED = (
    "at long, id string, name string, reason string, place double, words int, text_hash binary,"
    " simhash long, minima binary"
)


def sign_rows(batches: Iterable[Any], options: Options) -> Iterator[Any]:
    """Sign rows, or give the reason why a row is bad.

    Args:
        batches: with the columns `at`, `place` and `values`. A row without an id is called by
            its place; without a place it is bad.
        options: how rows are signed.

    Yields:
        Batches of the schema `SIGNED`.
    """
    for batch in batches:
        rows = [(row["at"], *_signed(row, options)) for row in batch.to_pylist()]
        yield of_rows(rows, SIGNED)


def _signed(row: dict[str, Any], options: Options) -> tuple[Any, ...]:
    """Sign a row: id, name, reason, place in the order, words, text hash, SimHash and minima."""
    fields = options.fields
    row_id, name = None, row["place"]
    try:
        values = json_values(row["values"])
        named = named_row(values, fields.id)
        if named is not None:
            row_id = name = named[0].decode()
        if name is None:
            raise BadRowError("no id")
        signature = sign_text(row["values"], fields, options.scheme, options.max_bytes)
        if signature is None:
            raise BadRowError(without_text(row["values"], fields))
    except BadRowError as error:
        return row_id, name, str(error), *[None] * 5
    place = Order.by(options).of(values, values[fields.text])
    simhash, minima = SIGNED_NUMBER.write(signature.simhash), LITTLE_ENDIAN.write(signature.minima)
    return row_id, name, None, place, signature.words, signature.text_hash, simhash, minima
