"""Files of JSON lines or CSV as they are imported: exported stores, and feeds of items."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from shingling.admin.files import is_record, record_of
from shingling.admin.records import read_export
from shingling.bulk.inputs.sources import sources_of
from shingling.bulk.options import Options
from shingling.errors import RecordError
from shingling.files.tables import is_csv
from shingling.rules import MAX_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.admin.records import Export
    from shingling.bulk.inputs.payloads import Payload
    from shingling.bulk.inputs.sources import Source
    from shingling.files.lines import RowValues


def files_of_lines(name: str) -> list[Source]:
    """Open a file, whose lines are JSON unless its name says CSV. `-` is standard input.

    Of a folder as Spark writes it, the files `part-*` follow each other.
    """
    form = "csv" if is_csv(name) else "jsonl"
    files = [*map(str, sorted(Path(name).glob("part-*")))] or [name]
    return sources_of(files, Options(format=form, max_bytes=MAX_LINE_BYTES))


def lines_of(parts: Iterable[Payload]) -> Iterator[tuple[str, RowValues]]:
    """Yield the rows of parts that follow each other, each behind its place; no empty lines."""
    before = 0
    for part in parts:
        line = 0
        for row in part.rows():
            line = row.line
            if row.values != "":
                yield f"line {before + line:,}", row.values
        before += line


def parts_of(sources: Iterable[Source]) -> Iterator[Payload]:
    """Yield the parts of files, one after the other."""
    return (part for source in sources for part, _ in source.parts())


def is_export(sources: Iterable[Source]) -> bool:
    """Whether files begin with a record of an exported store."""
    return any(is_record(values) for _, values in islice(lines_of(parts_of(sources)), 1))


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Name a file in the errors of its records."""
    try:
        yield
    except RecordError as error:
        raise RecordError(f"{file}: {error}") from error


def export_in(parts: Iterable[Payload]) -> Export:
    """Read an exported store: what it says first, and its other records but for the end.

    Raises:
        RecordError: it is none, or a record is not what it should be.
    """
    return read_export(record_of(values, where) for where, values in lines_of(parts))
