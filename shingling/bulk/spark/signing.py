"""Rows of a DataFrame, signed by Spark's workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.inputs.payloads import json_values
from shingling.bulk.signing import named_row, sign_text, without_text
from shingling.bulk.spark.batches import of_rows
from shingling.sketch import FUNCTIONS
from shingling.store.ids import BadRowError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.bulk.options import Fields
    from shingling.sketch import Banding, Scheme

_NO_MINIMA = bytes(4 * FUNCTIONS)

SIGNED = (
    "row long, id string, name string, reason string, words int, text_hash binary, simhash long,"
    " minima binary, keys array<long>"
)


class Signing(NamedTuple):
    """How rows are signed.

    Args:
        scheme: of the signatures.
        banding: gives each row its keys; None gives none.
        fields: names of the columns.
        max_bytes: longest text, in characters.
    """

    scheme: Scheme
    banding: Banding | None
    fields: Fields
    max_bytes: int


def sign_rows(batches: Iterable[Any], signing: Signing) -> Iterator[Any]:
    """Sign rows, or give the reason why a row is bad.

    Args:
        batches: with the columns `row`, `place` and `values`. A row without an id is called by
            its place; without a place it is bad.
        signing: how rows are signed.

    Yields:
        Batches of the schema `SIGNED`.
    """
    for batch in batches:
        rows = batch.to_pylist()
        if not rows:
            continue
        done = [_signed(row, signing) for row in rows]
        keys: list[Any] = [None] * len(rows)
        if signing.banding is not None:
            minima = [np.frombuffer(columns[-1] or _NO_MINIMA, "<u4") for columns in done]
            keys = signing.banding.keys(minima).tolist()
        lines = zip(rows, done, keys, strict=True)
        yield of_rows([(row["row"], *columns, own) for row, columns, own in lines], SIGNED)


def _signed(row: dict[str, Any], signing: Signing) -> tuple[Any, ...]:
    """Sign a row: id, name, reason, words, text hash, SimHash and minima."""
    fields = signing.fields
    row_id, name = None, row["place"]
    try:
        named = named_row(json_values(row["values"]), fields.id)
        if named is not None:
            row_id = name = named[0].decode()
        if name is None:
            raise BadRowError("no id")
        signature = sign_text(row["values"], fields, signing.scheme, signing.max_bytes)
        if signature is None:
            raise BadRowError(without_text(row["values"], fields))
    except BadRowError as error:
        return row_id, name, str(error), None, None, None, None
    simhash = int(np.uint64(signature.simhash).view(np.int64))
    minima = signature.minima.astype("<u4").tobytes()
    return row_id, name, None, signature.words, signature.text_hash, simhash, minima
