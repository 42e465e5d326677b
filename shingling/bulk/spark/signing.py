"""Rows of a DataFrame, signed by Spark's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.bulk.rows import compared_text, id_of_row, place_of_row, sign_row
from shingling.bulk.spark.batches import of_columns, of_rows
from shingling.json_values import json_value
from shingling.sketch import sign
from shingling.store.ids import BadRowError
from shingling.store.schema.rows import LITTLE_ENDIAN, SIGNED as SIGNED_NUMBER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.bulk.options import Options

SIGNED = (
    "at long, id string, name string, reason string, has_text boolean, place double, words int,"
    " text_hash binary, simhash long, minima binary"
)

TEXTS = "at long, text string, title string, language string"


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


def read_texts(batches: Iterable[Any], skip_words: int) -> Iterator[Any]:
    """Read the texts that are compared: batches of the schema `TEXTS`, of columns as there."""
    for batch in batches:
        rows = batch.to_pylist()
        texts = [compared_text(json_value(row["text"]), skip_words) for row in rows]
        others = ([row[name] for row in rows] for name in ("title", "language"))
        yield of_columns((batch.column("at"), texts, *others), TEXTS)


def _signed(row: dict[str, Any], options: Options) -> tuple[Any, ...]:
    """Sign a row: its id, file and line, and the others of `SIGNED`."""
    row_id, name = None, row["place"]
    try:
        values = json_value(row["values"])
        row_id = id_of_row(values, options)
        if row_id is None and name is None:
            raise BadRowError("no id")
        signature = sign_row(values, options)
        has_text = signature is not None
        signature = signature or sign("", options.scheme)
    except BadRowError as error:
        return row_id, name, str(error), *[None] * 6
    place = place_of_row(values, options)
    simhash, minima = SIGNED_NUMBER.write(signature.simhash), LITTLE_ENDIAN.write(signature.minima)
    own = has_text, place, signature.words, signature.text_hash, simhash, minima
    return row_id, name, None, *own
