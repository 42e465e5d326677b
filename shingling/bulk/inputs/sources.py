"""The inputs of a collection, cut into parts that workers sign side by side: step 1 of a run."""

from __future__ import annotations

import io
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias, TypeVar

from shingling.bulk.inputs.mongo import MONGO_SCHEMES, mongo_lines
from shingling.bulk.inputs.payloads import (
    ArrowRows,
    FileLines,
    Pages,
    Payload,
    Values,
)
from shingling.errors import BulkError, require
from shingling.files.archives import (
    Archive,
    refuse_tar,
    require_content,
)
from shingling.files.lines import (
    is_spread,
    json_items,
    name_without_packing,
    reading_errors,
    too_long,
    unpacked,
)
from shingling.files.pages import ArchiveError, SavedPage
from shingling.files.tables import CSV_SUFFIXES, csv_lines
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from shingling.bulk.options import Options
    from shingling.files.lines import Items, Line

    _Parts: TypeAlias = Iterator[tuple[Payload, float]]

_SUFFIXES = {
    **dict.fromkeys((".jsonl", ".jsonlines", ".ndjson", ".jl", ".json"), "jsonl"),
    **dict.fromkeys(CSV_SUFFIXES, "csv"),
    ".parquet": "parquet",
    **dict.fromkeys((".warc", ".wet"), "warc"),
}
_MAX_FILE_PARTS = 2048  # of a file of lines: the parts of a very large one are larger
_MAX_PART_ROWS = 8192
_MAX_PART_PAGES = 64
_PARQUET_ROWS_AT_ONCE = 16
_MAX_COLUMNS = 10_000  # of a Parquet file: each takes 10 KB
_CELL_BYTES = 16  # on the way to a worker, besides its text
_PART_BYTES = 1 << 23  # of rows that a worker signs at once
_Item = TypeVar("_Item")


def _reading_errors() -> tuple[type[Exception], ...]:
    """List what reading an input raises; Arrow has an error of its own, if it is in use."""
    arrow = sys.modules.get("pyarrow")
    return (*reading_errors(), ArchiveError, *(() if arrow is None else (arrow.ArrowException,)))


@dataclass(frozen=True)
class Source:
    """An input.

    Args:
        name: as it is shown in messages.
        cut: yields the parts, each with the number of bytes before it, if the size is known.
        identity: size and time of change, by which a run that continues sees whether the input
            is the same; None if it has none.
        size: in bytes, or None if it is not known.
        file: its absolute path, if its rows are lines that can be read again.
    """

    name: str
    cut: Callable[[], _Parts]
    identity: list[int] | None = None
    size: int | None = None
    file: str | None = None

    def parts(self) -> _Parts:
        """Yield the parts; an input that breaks off ends with a bad row.

        Raises:
            BulkError: a file cannot be opened.
        """
        try:
            yield from self.cut()
        except _reading_errors() as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise BulkError(f"{self.name}: {error.strerror}") from error
            reason = error.__cause__ if isinstance(error, ArchiveError) else error
            yield Values([(1, f"cannot be read any further: {plain_line(str(reason))}")]), 0


def sources_of(inputs: Iterable[str], options: Options) -> list[Source]:
    """Open the inputs.

    Args:
        inputs: paths, folders, URLs of collections of MongoDB, or `-` for standard input.
        options: with the format, and what it needs.

    Raises:
        BulkError: an input does not exist, has no known format, or needs a package that is not
            installed.
    """
    if options.output == "parquet":
        require("parquet", "Parquet", "pyarrow", error=BulkError)
    sources = [_source(name, options) for name in inputs]
    if not sources:
        raise BulkError("no input is named")
    return sources


def source_of_lines(name: str, read: Callable[[], Iterable[bytes]], options: Options) -> Source:
    """Input of rows that are in no file.

    Args:
        name: as it is shown in messages.
        read: gives the rows, as lines of JSON.
        options: with the largest row.
    """

    def parts() -> _Parts:
        most = options.max_bytes
        lines = ((line if len(line) <= most else too_long(most), len(line)) for line in read())
        return ((part, 0) for part in _lines(lines))

    return Source(name, parts)


def _source(name: str, options: Options) -> Source:
    if name == "-":
        form = options.format or "jsonl"
        if form not in ("jsonl", "csv"):
            raise BulkError(f"standard input is read as jsonl or csv, not as {form}")
        return Source("-", lambda: _stream(sys.stdin.buffer, form, options))
    if name.startswith(MONGO_SCHEMES):
        return source_of_lines(*mongo_lines(name, options.query), options)
    if "://" in name and not Path(name).exists():
        raise BulkError("of URLs, only those of MongoDB are read; give other rows by a pipe, to -")
    path = Path(name)
    try:
        stat = path.stat()
    except OSError as error:
        raise BulkError(f"{name}: {error.strerror}") from error
    refuse_tar(path, BulkError)
    form = options.format or _format_of(path)
    size = stat.st_size
    identity = [size, stat.st_mtime_ns]
    if form in ("folder", "warc", "html"):
        require_content(path, options.max_bytes)
        return Source(name, lambda: _pages(path, options, texts=form != "html"), identity)
    if form == "parquet":
        require("parquet", "Parquet", "pyarrow", error=BulkError)
        return Source(name, lambda: _parquet(path, size), identity, size)
    if not path.is_file():  # a pipe, which can be read once
        return Source(name, lambda: _file(path, form, options))
    with path.open("rb") as raw, unpacked(raw) as file:
        has_lines = isinstance(file, io.BufferedReader) and not is_spread(file)
    if form == "jsonl" and has_lines:
        return Source(
            name, lambda: _parts_of_lines(path, size, options), identity, size, str(path.absolute())
        )
    return Source(name, lambda: _file(path, form, options), identity, size)


def _format_of(path: Path) -> str:
    if path.is_dir():
        return "folder"
    suffix = Path(name_without_packing(path.name)).suffix
    if suffix not in _SUFFIXES:
        raise BulkError(
            f"{path}: the name tells no format; name one by --format: jsonl, csv,"
            " parquet, warc or html"
        )
    return _SUFFIXES[suffix]


def _parts_of_lines(path: Path, size: int, options: Options) -> _Parts:
    """Yield parts of whole lines, which workers read for themselves."""
    with path.open("rb") as file:
        start = 0
        step = max(_PART_BYTES, size // _MAX_FILE_PARTS)
        while start < size:
            file.seek(min(start + step, size))
            while (piece := file.readline(1 << 20)) and not piece.endswith(b"\n"):
                pass
            stop = file.tell()
            yield FileLines(str(path), start, stop, options.max_bytes), start
            start = stop


def _file(path: Path, form: str, options: Options) -> _Parts:
    with path.open("rb") as raw:
        yield from _stream(raw, form, options)


def _stream(raw: IO[bytes], form: str, options: Options) -> _Parts:
    with unpacked(raw) as file:
        is_csv = form == "csv"
        parts = _csv(file, options) if is_csv else _lines(json_items(file, options.max_bytes))
        for part in parts:
            yield part, raw.tell() if raw.seekable() else 0


def _lines(lines: Items) -> Iterator[Payload]:
    return (Values([*enumerate(part, start=1)]) for part in _collected(lines, _MAX_PART_ROWS))


def _csv(file: IO[bytes], options: Options) -> Iterator[Payload]:
    lines = csv_lines(file, options.max_bytes, options.delimiter)
    before = 0
    for part in _collected(((line, _size(line)) for line in lines), _MAX_PART_ROWS):
        yield Values([(line.number - before, line.values) for line in part])
        before = part[-1].number


def _size(line: Line) -> int:
    """Bytes of a row of CSV, about."""
    if isinstance(line.values, str):
        return _CELL_BYTES
    return sum(map(len, line.values.values())) + _CELL_BYTES * len(line.values)


def _collected(items: Iterable[tuple[_Item, int]], max_items: int) -> Iterator[list[_Item]]:
    """Collect items into parts; if they break off, the ones before come first.

    Args:
        items: each with its size in bytes.
        max_items: of a part.
    """
    waiting: list[_Item] = []
    size = 0
    try:
        for item, item_bytes in items:
            waiting.append(item)
            size += item_bytes
            if len(waiting) == max_items or size >= _PART_BYTES:
                yield waiting
                waiting, size = [], 0
    except _reading_errors():
        if waiting:
            yield waiting
        raise
    if waiting:
        yield waiting


def _parquet(path: Path, size: int) -> _Parts:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        if file.metadata.num_columns > _MAX_COLUMNS:
            raise pa.ArrowInvalid(f"more than {_MAX_COLUMNS:,} columns")
        for name, times in Counter(file.schema_arrow.names).items():
            if times > 1:
                raise pa.ArrowInvalid(f"two columns are called {name}")
        done, total = 0, max(file.metadata.num_rows, 1)
        # A file of a kilobyte may have rows of a megabyte each.
        sized = ((batch, batch.nbytes) for batch in file.iter_batches(_PARQUET_ROWS_AT_ONCE))
        for part in _collected(sized, _MAX_PART_ROWS // _PARQUET_ROWS_AT_ONCE):
            yield ArrowRows(part), size * done / total
            done += sum(batch.num_rows for batch in part)


def _pages(path: Path, options: Options, *, texts: bool) -> _Parts:
    pages = Archive(path, options.max_bytes, texts=texts).entries()
    sized = ((page, len(page.body) if isinstance(page, SavedPage) else 0) for page in pages)
    for part in _collected(sized, _MAX_PART_PAGES):
        yield Pages(part, options.fields.text, options.fields.id or "id"), 0
