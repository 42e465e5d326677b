"""JSON lines and CSV: files with an object in each line.

`files.sources` and the command line read them, a line at a time.
"""

from __future__ import annotations

import csv
import io
import json
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shingling.rules.defaults import MAX_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator


_SKIPPED_AT_ONCE = 1 << 20  # bytes, or characters, of a line that is too long


class Line(NamedTuple):
    """An object of a file.

    Args:
        number: of its line, from 1 on.
        values: its fields.
        problem: what is wrong with the line; "" if nothing is.
    """

    number: int
    values: dict[str, Any]
    problem: str = ""


def json_lines(file: IO[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the objects of JSON lines; empty lines are skipped.

    Args:
        file: to read from.
        max_bytes: of a line; longer ones are not held in memory.
    """
    number = 0
    while raw := file.readline(max_bytes + 1):
        number += 1
        if len(raw) > max_bytes and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(_SKIPPED_AT_ONCE)
            yield Line(number, {}, f"longer than {max_bytes:,} bytes")
            continue
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not line.strip():
            continue
        values = json_object(line)
        yield Line(number, {}, values) if isinstance(values, str) else Line(number, values)


def json_object(line: bytes) -> dict[str, Any] | str:
    """Object of a line of JSON, or what is wrong with the line."""
    try:
        values = json.loads(line.decode())
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, RecursionError):
        return "not JSON"
    return values if isinstance(values, dict) else "not a JSON object"


def csv_lines(file: IO[bytes], max_characters: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the rows of CSV in UTF-8 after its header, each with the number of its last line.

    Args:
        file: to read from.
        max_characters: of a cell, and of a line.
    """
    limit = csv.field_size_limit(max_characters)  # of all readers in the process
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        lines = _LimitedLines(text, max_characters)
        rows = csv.reader(lines)
        try:
            names = next(rows, [])
        except csv.Error as error:
            yield Line(rows.line_num, {}, f"the header is not CSV ({error})")
            return
        while True:
            lines.is_cut = False
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Line(rows.line_num, {}, f"not CSV ({error})")
                continue
            if not row:
                continue
            if lines.is_cut:
                yield Line(rows.line_num, {}, f"longer than {max_characters:,} characters")
                continue
            values = dict(zip(names, row, strict=False))
            if len(row) != len(names):
                problem = f"{len(row)} cells, not {len(names)}"
            else:
                problem = "" if all(map(_is_utf8, row)) else "not UTF-8"
            yield Line(rows.line_num, values, problem)
    finally:
        csv.field_size_limit(limit)
        text.detach()


class _LimitedLines:
    """Lines of a text, of which those that are too long are cut."""

    def __init__(self, text: io.TextIOWrapper, max_characters: int) -> None:
        self._text = text
        self._max_characters = max_characters
        self.is_cut = False

    def __iter__(self) -> _LimitedLines:
        return self

    def __next__(self) -> str:
        line = piece = self._text.readline(self._max_characters + 1)
        if not line:
            raise StopIteration
        if len(line) > self._max_characters:
            while piece and not piece.endswith(("\n", "\r")):
                self.is_cut = True
                piece = self._text.readline(_SKIPPED_AT_ONCE)
        return line


def _is_utf8(cell: str) -> bool:
    return cell.isascii() or not any("\ud800" <= char <= "\udfff" for char in cell)
