"""Files of records and of items: JSON lines, also packed by gzip."""

from __future__ import annotations

import base64
import gzip
import sys
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from shingling.admin.records import BINARY, KINDS, Record
from shingling.console.files import written_whole
from shingling.console.output import json_text
from shingling.errors import RecordError, ShinglingError
from shingling.files.lines import Line, json_lines, reading_errors, unpacked
from shingling.files.tables import csv_lines, is_csv

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

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


def read_lines(name: str) -> Generator[Line]:
    """Yield the lines of a file as values by name: CSV if its name says so, else JSON.

    `-` is standard input. Of a folder as Spark writes it, the files `part-*` follow each other.
    A file is unpacked if it is packed by gzip.

    Raises:
        RecordError: the file cannot be read to its end.
    """
    read = csv_lines if is_csv(name) else json_lines
    before = 0  # lines of the files before
    for path in sorted(Path(name).glob("part-*")) or [Path(name)]:
        opened = nullcontext(sys.stdin.buffer) if path.name == "-" else path.open("rb")
        with opened as raw, unpacked(raw) as file:
            number = before
            try:
                for line in read(file):
                    number = before + line.number
                    yield line._replace(number=number)
            except reading_errors() as error:
                raise RecordError(f"the file cannot be read to its end: {error}") from error
            before = number


def records_in(lines: Iterable[Line]) -> Iterator[Record]:
    """Yield the records that lines hold.

    Raises:
        RecordError: a line holds none.
    """
    for line in lines:
        where = f"line {line.number:,}"
        if line.problem:
            raise RecordError(f"{where}: {line.problem}")
        kind = line.values.pop("record", None)
        if not isinstance(kind, str):
            raise RecordError(f"{where}: record is missing")
        for name, decode in _DECODE.items():
            with suppress(KeyError, TypeError, ValueError):  # `checked` refuses what stays letters
                line.values[name] = decode(line.values[name])
        yield Record(kind, line.values, where)


def is_record(line: Line) -> bool:
    """Whether a line is a record of a store, not an item of a feed."""
    return line.values.get("record") in KINDS and not _FIELDS_OF_RECORDS.isdisjoint(line.values)


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
