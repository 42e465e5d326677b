"""What Spark's workers sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.files.payloads import json_values
from shingling.bulk.signing.sign_part import BadRowError, id_of, without_text
from shingling.bulk.spark.batches import of_rows
from shingling.sketch import FUNCTIONS, sign
from shingling.text import clean

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
        banding: that makes their keys; None makes none.
        fields: names of the columns.
        max_bytes: characters of a text at most.
    """

    scheme: Scheme
    banding: Banding | None
    fields: Fields
    max_bytes: int


def sign_rows(batches: Iterable[Any], signing: Signing) -> Iterator[Any]:
    """Sign rows, or say why they cannot be: `SIGNED` for columns `row`, `place` and `values`.

    A row without an id is called by its place; without that it cannot be taken.
    """
    for batch in batches:
        rows = batch.to_pylist()
        if not rows:
            continue
        done = [_signed(row, signing) for row in rows]
        keys: list[Any] = [None] * len(rows)
        if signing.banding is not None:
            minima = [np.frombuffer(one[-1] or _NO_MINIMA, "<u4") for one in done]
            keys = signing.banding.keys(minima).tolist()
        lines = zip(rows, done, keys, strict=True)
        yield of_rows([(row["row"], *one, own) for row, one, own in lines], SIGNED)


def _signed(row: dict[str, Any], signing: Signing) -> tuple[Any, ...]:
    """Return id, name, reason, words, text hash, SimHash and minima of a row."""
    fields = signing.fields
    own, name = None, row["place"]
    try:
        named = id_of(json_values(row["values"]), fields.id)
        if named is not None:
            own = name = named[0].decode()
        if name is None:
            raise BadRowError("no id")
        body = row["values"][fields.text]
        if not isinstance(body, str) or not body or body.isspace():
            raise BadRowError(without_text(row["values"], fields))
        if len(body) > signing.max_bytes:
            raise BadRowError(f"{fields.text} is longer than {signing.max_bytes:,}")
        signature = sign(clean(body), signing.scheme)
        if not signature.words:
            raise BadRowError(f"{fields.text} has no words")
    except BadRowError as error:
        return own, name, str(error), None, None, None, None
    simhash = int(np.uint64(signature.simhash).view(np.int64))
    minima = signature.minima.astype("<u4").tobytes()
    return own, name, None, signature.words, signature.text_hash, simhash, minima
