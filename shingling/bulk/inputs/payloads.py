"""Parts of inputs as they are sent to the workers, which read the rows out of them.

`inputs.sources` makes them; `signing.sign_part` reads their rows.
"""

from __future__ import annotations

from itertools import chain, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from w3lib.encoding import http_content_type_encoding

from shingling.extraction.decoding import decode
from shingling.extraction.pages import Fetched
from shingling.files.lines import AFTER_OBJECT, BOM, json_object, limited_lines
from shingling.files.pages import SkippedPage
from shingling.json_values import json_value
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shingling.files.lines import RowValues
    from shingling.files.pages import Entry


class RawRow(NamedTuple):
    """A row of an input.

    Args:
        line: its number within the part, from 1 on; of a file without lines, that of the row.
        values: its fields, or what is wrong with it; "" for an empty line.
        offset: of the row in its file, in bytes, if it is a line that can be read again.
        length: of that line, in bytes.
        page: HTML to extract the text from, if it is not in a field.
    """

    line: int
    values: RowValues
    offset: int = 0
    length: int = 0
    page: Fetched | None = None


class FileLines(NamedTuple):
    """Whole lines of a file of JSON lines, in which they can be read again.

    Args:
        file: its path.
        start, stop: the first byte, and the one behind the last line.
        max_bytes: of a line; longer ones are bad rows.
    """

    file: str
    start: int
    stop: int
    max_bytes: int

    def rows(self) -> Iterator[RawRow]:
        """Yield the lines."""
        at = self.start
        with Path(self.file).open("rb") as file:
            file.seek(at)
            for number, (line, length) in enumerate(limited_lines(file, self.max_bytes), start=1):
                if isinstance(line, str):
                    yield RawRow(number, line)
                else:
                    skipped = len(BOM) if at == 0 and line.startswith(BOM) else 0
                    own = line[skipped:].rstrip(AFTER_OBJECT)
                    yield RawRow(number, json_object(own), at + skipped, len(own))
                at += length
                if at >= self.stop:
                    return


class Values(NamedTuple):
    """Rows out of a stream, each with its line: as JSON or as fields; a text says what is wrong."""

    values: Sequence[tuple[int, bytes | RowValues]]

    def rows(self) -> Iterator[RawRow]:
        """Yield the rows."""
        for line, values in self.values:
            yield RawRow(line, json_object(values) if isinstance(values, bytes) else values)


class ArrowRows(NamedTuple):
    """Rows of a Parquet file, in batches of Arrow."""

    batches: Sequence[Any]

    def rows(self) -> Iterator[RawRow]:
        """Yield the rows."""
        rows = chain.from_iterable(map(_arrow_rows, self.batches))
        return starmap(RawRow, enumerate(rows, start=1))


class Pages(NamedTuple):
    """Pages of an archive or a folder, its texts, and those that cannot be read.

    Args:
        pages: the entries.
        text_field, id_field: fields that texts are put into, and their names.
    """

    pages: Sequence[Entry]
    text_field: str
    id_field: str

    def rows(self) -> Iterator[RawRow]:
        """Yield a row with URL or name, and time, for each page or text."""
        for number, page in enumerate(self.pages, start=1):
            if isinstance(page, SkippedPage):
                yield RawRow(number, page.message)
                continue
            values = {"fetched": page.fetched.isoformat()}
            if page.name_field is not None:
                name, text = page.name_field or self.id_field, decode(page.body)
                yield RawRow(number, {name: page.url, self.text_field: text, **values})
                continue
            encoding = http_content_type_encoding(page.content_type)
            fetched = Fetched(page.body, is_html=True, url=page.url, encoding=encoding)
            yield RawRow(number, {"url": page.url, **values}, page=fetched)


Payload: TypeAlias = FileLines | Values | ArrowRows | Pages
"""A part of an input; `rows` yields its rows and empty lines."""


def _arrow_rows(batch: Any) -> list[RowValues]:
    """Fields of each row, or what is wrong with it: a time beyond all years, no UTF-8."""
    try:
        return [json_value(values) for values in batch.to_pylist()]
    except (ValueError, OverflowError) as error:
        if batch.num_rows == 1:
            return [f"a value cannot be read: {plain_line(str(error))}"]
        rows = (batch.slice(place, 1) for place in range(batch.num_rows))
        return [values for row in rows for values in _arrow_rows(row)]
