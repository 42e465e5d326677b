"""Records as lines of JSON, and the files that they are written to, also packed by gzip."""

from __future__ import annotations

import base64
import gzip
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from shingling.admin.records import BINARY, KINDS, Record
from shingling.console.files import written_whole
from shingling.console.output import json_text
from shingling.errors import RecordError, ShinglingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shingling.files.lines import RowValues

# A field of each kind of record, which items of a feed do not have together with `record`.
_FIELDS_OF_RECORDS = {"format", "settings", "same", "minima", "blocks", "pages"}


_ENCODE: dict[str, Callable[[Any], str]] = {
    **dict.fromkeys((*BINARY, "blocks", "lines"), lambda raw: base64.b64encode(raw).decode()),
    "text_hash": bytes.hex,
    "simhash": lambda number: f"{number:016x}",
}
"""Makes letters of the values that JSON cannot have, by their names."""

_DECODE: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(_ENCODE, partial(base64.b64decode, validate=True)),
    "text_hash": bytes.fromhex,
    "simhash": lambda digits: int.from_bytes(bytes.fromhex(digits), "big"),
}
"""Makes values of letters; raises TypeError or ValueError if it cannot."""


@contextmanager
def output(name: str, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file to write to; it takes its name once it is complete. `-` is standard output.

    Args:
        name: with the suffix `.gz`, it is packed by gzip.
        force: whether a file of this name is replaced.

    Raises:
        ShinglingError: there is one, and it is not to be replaced.
        OSError: it cannot be written.
    """
    path = Path(name)
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():  # a device or a pipe
        with path.open("wb") as file:
            yield file
        return
    if path.exists() and not force:
        raise ShinglingError(f"{name}: the file is there; --force replaces it")
    with written_whole(path) as file:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file


def record_of(values: RowValues, where: str) -> Record:
    """Record that a line of a file holds.

    Raises:
        RecordError: it holds none.
    """
    if isinstance(values, str):
        raise RecordError(f"{where}: {values}")
    kind = values.pop("record", None)
    if not isinstance(kind, str):
        raise RecordError(f"{where}: record is missing")
    for name, decode in _DECODE.items():
        with suppress(KeyError, TypeError, ValueError):  # `read_export` refuses what stays letters
            values[name] = decode(values[name])
    return Record(kind, values, where)


def is_record(values: RowValues) -> bool:
    """Whether a line is a record of a store, not an item of a feed."""
    is_of_kind = isinstance(values, dict) and values.get("record") in KINDS
    return is_of_kind and not _FIELDS_OF_RECORDS.isdisjoint(values)


def write_records(records: Iterable[Record], file: IO[bytes]) -> None:
    """Write records, a JSON object a line."""
    file.writelines(line + b"\n" for line in json_lines_of(records))


def json_lines_of(records: Iterable[Record]) -> Iterator[bytes]:
    """Yield each record as a JSON object."""
    for record in records:
        values: dict[str, Any] = {"record": record.kind, **record.fields}
        for name, encode in _ENCODE.items():
            if values.get(name) is not None:
                values[name] = encode(values[name])
        yield json_text(values).encode()
