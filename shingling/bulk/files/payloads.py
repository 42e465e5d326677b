"""Parts of inputs, as they are sent to the workers, which take the rows out of them."""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from w3lib.encoding import http_content_type_encoding

from shingling.bulk.files.archives import LeftOut, SavedPage
from shingling.bulk.files.lines import json_object
from shingling.extraction.pages import Fetched
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BOM = b"\xef\xbb\xbf"


class RawRow(NamedTuple):
    """A row of an input.

    Args:
        line: from 1 on, within the part; of a file that has no lines, the row.
        values: its fields, or what is wrong with it; "" is an empty line.
        offset, length: where the row is in its file, if it is a line that can be read again.
        page: HTML to extract the text from, where that is in no field.
    """

    line: int
    values: dict[str, Any] | str
    offset: int = 0
    length: int = 0
    page: Fetched | None = None


class Payload(Protocol):
    """A part of an input."""

    @property
    def file(self) -> str | None:
        """Return the file that the rows stay in; None has them written elsewhere."""

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield the rows and empty lines; rows of more than `most` bytes are none."""


class Lines(NamedTuple):
    """Whole lines of a file of JSON lines, from one byte to another."""

    file: str
    start: int
    stop: int

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield the lines."""
        at = self.start
        with Path(self.file).open("rb") as file:
            file.seek(at)
            for number, (line, length) in enumerate(bounded_lines(file, most), start=1):
                if line is None:
                    yield RawRow(number, _too_long(most))
                else:
                    skipped = len(BOM) if at == 0 and line.startswith(BOM) else 0
                    own = line[skipped:].rstrip(b"\r\n")
                    yield RawRow(number, _object(own), at + skipped, len(own))
                at += length
                if at >= self.stop:
                    return


class Packed(NamedTuple):
    """Lines of JSON out of a stream; None for those that are too long."""

    lines: Sequence[bytes | None]
    file: str | None = None

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield the lines."""
        for number, line in enumerate(self.lines, start=1):
            if line is None:
                yield RawRow(number, _too_long(most))
            else:
                yield RawRow(number, _object(line))


class Values(NamedTuple):
    """Rows of CSV or of a query, each with its line; or what is wrong with one."""

    values: Sequence[tuple[int, dict[str, Any] | str]]
    file: str | None = None

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield the rows."""
        del most  # their cells have been checked
        for line, values in self.values:
            yield RawRow(line, values if isinstance(values, str) else plain_values(values))


class Columns(NamedTuple):
    """Rows of a Parquet file, as one message of Arrow."""

    message: bytes
    file: str | None = None

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield the rows."""
        del most  # the text's length is checked where it is signed
        import pyarrow as pa

        with pa.ipc.open_stream(self.message) as stream:
            number = 0
            for batch in stream:
                for values in batch.to_pylist():
                    number += 1
                    yield RawRow(number, plain_values(values))


class Pages(NamedTuple):
    """Pages of an archive, and what cannot be had of it."""

    pages: Sequence[SavedPage | LeftOut]
    file: str | None = None

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield a row of URL and time for each page."""
        del most  # archives are read with it
        for number, page in enumerate(self.pages, start=1):
            if isinstance(page, LeftOut):
                yield RawRow(number, plain_line(f"{page.name}: {page.reason}"))
                continue
            encoding = http_content_type_encoding(page.content_type) if page.content_type else None
            fetched = Fetched(page.body, is_html=True, url=page.url, encoding=encoding)
            values = {"url": page.url, "fetched": page.fetched.isoformat()}
            yield RawRow(number, values, page=fetched)


class Broken(NamedTuple):
    """What is wrong with an input, from the line behind the last one that could be read."""

    reason: str
    file: str | None = None

    def rows(self, most: int) -> Iterator[RawRow]:
        """Yield what is wrong."""
        del most
        yield RawRow(1, self.reason)


def bounded_lines(file: IO[bytes], most: int) -> Iterator[tuple[bytes | None, int]]:
    """Yield lines, each with its length; None in place of one of more than `most` bytes."""
    while line := file.readline(most + 1):
        length = len(line)
        if length <= most or line.endswith(b"\n"):
            yield line, length
            continue
        while not line.endswith(b"\n") and (line := file.readline(1 << 20)):
            length += len(line)
        yield None, length


def _object(line: bytes) -> dict[str, Any] | str:
    return json_object(line) if line.strip() else ""


def plain_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return a row's fields as JSON has them: times in ISO 8601, bytes as text or base64."""
    return {name: plain(value) for name, value in values.items()}


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return base64.b64encode(raw).decode()
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(one) for one in value]
    return str(value)


def dumped(values: dict[str, Any]) -> bytes:
    """Return a row as one line of JSON, without its end."""
    return json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")


def _too_long(most: int) -> str:
    return f"longer than {most:,} bytes"
