"""Lines of files, each an object: JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from shingling.defaults import MAX_FILE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator


class Line(NamedTuple):
    """An object of a file by its line, or what is wrong with that line."""

    number: int
    values: dict[str, Any]
    problem: str = ""


def json_lines(file: IO[bytes]) -> Iterator[Line]:
    """Yield what JSON lines hold; empty ones are passed over."""
    for number, raw in enumerate(file, start=1):
        line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not line.strip():
            continue
        values = json_object(line)
        yield Line(number, {}, values) if isinstance(values, str) else Line(number, values)


def json_object(line: bytes) -> dict[str, Any] | str:
    """Return the object that a line holds, or what is wrong with it."""
    try:
        values = json.loads(line.decode())
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, RecursionError):
        return "not JSON"
    return values if isinstance(values, dict) else "not a JSON object"


def csv_lines(file: IO[bytes], most: int = MAX_FILE_BYTES) -> Iterator[Line]:
    """Yield the rows of CSV in UTF-8 behind its header, each numbered by its last line.

    Args:
        file: to read from.
        most: characters of a cell.
    """
    limit = csv.field_size_limit(most)  # of all readers in the process
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        rows = csv.reader(text)
        names = next(rows, [])
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield Line(rows.line_num, {}, f"not CSV ({error})")
                continue
            if not row:
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


def _is_utf8(cell: str) -> bool:
    return cell.isascii() or not any("\ud800" <= char <= "\udfff" for char in cell)
