"""Files of records and of items: JSON lines and CSV, also packed by gzip, and Parquet.

CSV and Parquet have a column for each field of a page, and all other records as JSON in one.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from scrapy.exceptions import UsageError

from shingling.admin.records import KINDS, PAGE_FIELDS, Record
from shingling.console.files import written_whole
from shingling.console.output import json_text
from shingling.errors import RecordError, ShinglingError, require
from shingling.extraction.lines import Line, csv_lines, json_lines, reading_errors, unpacked
from shingling.store.schema.fields import BASE64, TIME
from shingling.store.schema.rows import EXPORTED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from shingling.store.schema.fields import Letters

FORMATS = ("jsonl", "csv", "parquet")
_ROWS_READ_AT_ONCE = 1000
_MAX_GROUP_ROWS, _MAX_GROUP_CHARACTERS = 5_000, 1 << 24  # of a row group
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = [name for name, one in EXPORTED_FIELDS.items() if one.kind is TIME]
_SUFFIXES = {
    **dict.fromkeys((".jsonl", ".jsonlines", ".ndjson", ".jl"), "jsonl"),
    ".csv": "csv",
    ".parquet": "parquet",
}
# A field of each kind of record, and the column of CSV that holds records as JSON.
_COLUMNS_OF_PAGES = {"minima", "simhash", "text_hash"}
_FIELDS_OF_RECORDS = {"data", "format", "settings", "same", "minima", "blocks", "pages", "node"}


def format_of(name: str, asked: str | None) -> str:
    """Format of a file by its name, unless one is asked for.

    Raises:
        UsageError: the name has the suffix of none.
    """
    if asked is not None:
        return asked
    if name == "-":
        return "jsonl"
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix == ".parquet" and name.lower().endswith(".gz"):
        raise UsageError("Parquet files are packed as they are, without .gz")
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"{name}: the name tells no format; give --format {', '.join(FORMATS)}",
        )
    return _SUFFIXES[suffix]


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


@contextmanager
def opened(name: str) -> Iterator[IO[bytes]]:
    """Open a file to read from, unpacked if it is packed by gzip. `-` is standard input."""
    if name == "-":
        with unpacked(sys.stdin.buffer) as file:
            yield file
        return
    with Path(name).open("rb") as raw, unpacked(raw) as file:
        yield file


def read_lines(file: IO[bytes], form: str) -> Generator[Line]:
    """Yield the lines of a file as values by name, JSON lines or CSV.

    Raises:
        RecordError: the file cannot be read to its end.
    """
    try:
        yield from json_lines(file) if form == "jsonl" else csv_lines(file)
    except reading_errors() as error:
        raise RecordError(f"the file cannot be read to its end: {error}") from error


def records_in(lines: Iterable[Line], form: str) -> Iterator[Record]:
    """Yield the records that lines hold.

    Raises:
        RecordError: a line holds none.
    """
    read = _from_json if form == "jsonl" else _from_csv
    for line in lines:
        where = f"line {line.number:,}"
        if line.problem:
            raise RecordError(f"{where}: {line.problem}")
        try:
            yield read(line.values, where)
        except (ValueError, TypeError, RecursionError) as error:
            raise RecordError(f"{where}: {error}") from None


def is_record(line: Line) -> bool:
    """Whether a line is a record of a store, not an item of a feed."""
    if line.values.keys() >= _COLUMNS_OF_PAGES:
        return True
    return line.values.get("record") in KINDS and not _FIELDS_OF_RECORDS.isdisjoint(line.values)


def _from_json(values: dict[str, Any], where: str) -> Record:
    kind = values.pop("record", None)
    if not isinstance(kind, str):
        raise TypeError("record is missing")
    _decode(kind, values)
    return Record(kind, values, where)


def _from_csv(cells: dict[str, str], where: str) -> Record:
    kind, data = cells.pop("record", ""), cells.pop("data", "")
    if kind != "page":
        return _from_data(kind, data, where)
    values = {
        name: None if cell == "" else _CELLS.get(name, _string_in)(cell)
        for name, cell in cells.items()
    }
    _decode(kind, values)
    return Record(kind, values, where)


def _from_data(kind: str, data: str, where: str) -> Record:
    """Record that is no page, out of its JSON."""
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise TypeError("data is not a JSON object")
    _decode(kind, fields)
    return Record(kind, fields, where)


def _decode(kind: str, values: dict[str, Any]) -> None:
    """Decode the fields that JSON and CSV have as letters."""
    for name, letters in _LETTERS.get(kind, {}).items():
        if values.get(name) is None:
            continue
        try:
            values[name] = letters.decode(values[name])
        except (TypeError, ValueError):
            raise ValueError(f"{name} is not {letters.expected}") from None


_CELLS = {name: one.kind.cell for name, one in EXPORTED_FIELDS.items() if one.kind.cell}
_LETTERS: dict[str, dict[str, Letters]] = {
    "page": {name: one.kind.letters for name, one in EXPORTED_FIELDS.items() if one.kind.letters},
    "template": {"blocks": BASE64},
}


def _string_in(cell: str) -> str:
    return cell.removeprefix("\\")


def _encoded(record: Record) -> dict[str, Any]:
    values = dict(record.fields)
    for name, letters in _LETTERS.get(record.kind, {}).items():
        if values[name] is not None:
            values[name] = letters.encode(values[name])
    return values


def write_jsonl(records: Iterable[Record], file: IO[bytes]) -> None:
    """Write records, a JSON object a line."""
    for record in records:
        values = {"record": record.kind, **_encoded(record)}
        file.write(json_text(values).encode() + b"\n")


def write_csv(records: Iterable[Record], file: IO[bytes]) -> None:
    """Write records as CSV: the fields of pages in columns, other records as JSON in one.

    An empty cell is None. Before an empty string, and one that begins with a backslash, there
    is a backslash.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text)
    rows.writerow(("record", "data", *PAGE_FIELDS))
    for record in records:
        values = _encoded(record)
        if record.kind == "page":
            cells = (_cell(values.get(name)) for name in PAGE_FIELDS)
            rows.writerow((record.kind, "", *cells))
        else:
            rows.writerow((record.kind, json_text(values), *("" for _ in PAGE_FIELDS)))
    text.flush()
    text.detach()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return "\\" + value if value == "" or value[0] == "\\" else value
    return "" if value is None else repr(value)


def require_parquet() -> None:
    """Check that Parquet files can be read and written.

    Raises:
        ShinglingError: pyarrow is not installed.
    """
    require("parquet", "Parquet", "pyarrow", error=ShinglingError)


def _schema() -> Any:
    import pyarrow as pa

    columns = [(name, *one.kind.arrow) for name, one in EXPORTED_FIELDS.items()]
    pages = [(name, getattr(pa, kind)(*given)) for name, kind, *given in columns]
    return pa.schema([("record", pa.string()), ("data", pa.string()), *pages])


def write_parquet(records: Iterable[Record], file: IO[bytes]) -> None:
    """Write records as Parquet: the fields of pages in columns, other records as JSON in one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema()
    rows: list[Mapping[str, Any]] = []
    size = 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for record in records:
            row: dict[str, Any] = {"record": record.kind, "data": None, "text": None}
            if record.kind == "page":
                row |= record.fields
                row |= {name: 1000 * row[name] for name in _TIMES}
            else:
                row["data"] = json_text(_encoded(record))
            rows.append(row)
            size += len(row["text"] or row["data"] or "")
            full = len(rows) == _MAX_GROUP_ROWS or size > _MAX_GROUP_CHARACTERS
            if full or record.kind == "end":
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
                rows, size = [], 0


def read_parquet(file: IO[bytes]) -> Generator[Record]:
    """Yield the records of a file that can be read at any place.

    Raises:
        RecordError: it is no Parquet file, or one of something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    errors = (pa.ArrowException, ValueError, TypeError, LookupError, OSError, RecursionError)
    try:
        with pq.ParquetFile(file) as parquet:
            yield from _records_of(parquet)
    except errors as error:
        if isinstance(error, ShinglingError):
            raise
        problem = " ".join(str(error).split()) or type(error).__name__
        raise RecordError(f"not a Parquet file of a store: {problem}") from error


def _records_of(parquet: Any) -> Iterator[Record]:
    import pyarrow as pa

    schema, number = _schema(), 0
    if not {*schema.names} <= {*parquet.schema_arrow.names}:
        raise RecordError("a Parquet file of something else, not of `scrapy dedup export`")
    for batch in parquet.iter_batches(_ROWS_READ_AT_ONCE):
        table = pa.Table.from_batches([batch]).select(schema.names)
        for row in table.replace_schema_metadata().cast(schema).to_pylist():
            number += 1
            where, kind, data = f"row {number:,}", row.pop("record"), row.pop("data")
            if kind != "page":
                yield _from_data(kind, data, where)
                continue
            seconds = {name: (row[name] - _EPOCH) // timedelta(seconds=1) for name in _TIMES}
            yield Record(kind, {**row, **seconds}, where)
