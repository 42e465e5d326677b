"""JSON lines and arrays: files with an object in each line, plain or packed.

Collections, imports and the command line read them, a line at a time.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from shingling.errors import BulkError, require
from shingling.rules import MAX_LINE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    Items: TypeAlias = Iterator[tuple[bytes | str, int]]
    """Lines or items, each with its length in bytes; a text says that one is too long."""

    RowValues: TypeAlias = dict[str, Any] | str
    """Fields of a row, or what is wrong with it."""

BOM = b"\xef\xbb\xbf"
"""What a file in UTF-8 may begin with."""

_BETWEEN_ITEMS = " \t\r\n,[]"
AFTER_OBJECT = b" \t\r\n,"
_JSON_SPACE = b" \t\r\n"
"""What a line may have behind its object."""

GZIP, ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PACKED_SUFFIXES = (".gz", ".zst")
"""What packed bytes begin with."""

_PEEKED_BYTES = 1 << 10
_READ_AT_ONCE = 1 << 20  # characters of arrays
_decode = json.JSONDecoder().raw_decode
_SKIPPED_AT_ONCE = 1 << 20  # bytes of a line that is too long


def name_without_packing(name: str) -> str:
    """Name of a file in lower case, without the ending that says how it is packed."""
    name = name.lower()
    return name.removesuffix(next(filter(name.endswith, PACKED_SUFFIXES), ""))


@contextmanager
def unpacked(raw: IO[bytes]) -> Iterator[IO[bytes]]:
    """Open a file or a stream that may be packed by gzip or Zstandard.

    Raises:
        BulkError: it is in UTF-16 or UTF-32, or packed by Zstandard, which is not installed.
    """
    # A buffer of its own, as a stream cannot be read from its start again.
    buffered = io.BufferedReader(cast("io.RawIOBase", raw))
    try:
        start = buffered.peek(4)[:4]
        # Without a mark at the start, every other byte of Latin letters is 0.
        halves = start[::2], start[1::2]
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) or halves.count(b"\0\0") == 1:
            raise BulkError(f"{raw.name}: it is in UTF-16; iconv -f UTF-16 -t UTF-8 makes UTF-8")
        if start.startswith(GZIP):
            with _Gunzip(fileobj=buffered) as file:
                yield cast("IO[bytes]", file)
        elif start.startswith(ZSTANDARD):
            with _unzstd(buffered) as file:
                yield file
        else:
            yield buffered
    finally:
        buffered.detach()


class _Gunzip(gzip.GzipFile):
    """A file of gzip, of which all that is before damage can be read."""

    def read(self, size: int | None = -1) -> bytes:
        # By itself, it would lose the bytes that it has when it comes to the damage.
        return self.read1(-1 if size is None else size)


def _unzstd(file: IO[bytes]) -> Any:
    try:
        from compression.zstd import ZstdFile  # type: ignore[import-not-found]  # from 3.14 on
    except ImportError:
        require("zstd", "Zstandard", "backports.zstd", error=BulkError)
        from backports.zstd import ZstdFile
    return ZstdFile(file)


def reading_errors() -> tuple[type[Exception], ...]:
    """List what reading a file raises; Zstandard has an error of its own, if it is in use."""
    modules = [sys.modules.get(name) for name in ("compression.zstd", "backports.zstd")]
    own = (module.ZstdError for module in modules if module is not None)
    return (OSError, EOFError, zlib.error, *own)


class Line(NamedTuple):
    """An object of a file.

    Args:
        number: of its line, from 1 on.
        values: its fields, or what is wrong with the line.
    """

    number: int
    values: RowValues


def limited_lines(file: IO[bytes], max_bytes: int) -> Items:
    """Yield lines that have so many bytes at most, besides their end."""
    while line := file.readline(max_bytes + 1):
        length = len(line)
        if length <= max_bytes or line.endswith(b"\n"):
            yield line, length
            continue
        while not line.endswith(b"\n") and (line := file.readline(_SKIPPED_AT_ONCE)):
            length += len(line)
        yield too_long(max_bytes), length


def json_items(file: Any, max_bytes: int) -> Items:
    """Yield what `limited_lines` does or, of a file that spans lines, `spread_items`."""
    if file.peek(len(BOM)).startswith(BOM):
        file.read(len(BOM))
    return (spread_items if is_spread(file) else limited_lines)(file, max_bytes)


def is_spread(file: Any) -> bool:
    """Whether a file begins with an array of JSON, or with an object of several lines.

    Args:
        file: of which nothing is read yet.
    """
    start: bytes = file.peek(_PEEKED_BYTES)
    first_line = start.removeprefix(BOM).lstrip().partition(b"\n")[0]
    return first_line.startswith(b"[") or first_line.rstrip() == b"{"


def spread_items(file: IO[bytes], max_bytes: int) -> Items:
    """Yield the items of JSON arrays, and objects, that follow each other, whatever their lines.

    Raises:
        EOFError: the rest is not JSON, is cut off, or is an item that is far too long.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape")
    waiting, at = "", 0
    try:
        while True:
            while waiting[at : at + 1] in _BETWEEN_ITEMS and at < len(waiting):
                at += 1
            try:
                end = _decode(waiting, at)[1]
            except (ValueError, RecursionError) as error:
                waiting, at = waiting[at:], 0
                wanted = max(len(waiting), _READ_AT_ONCE)  # an item is not decoded often
                more = text.read(wanted) if len(waiting) <= max_bytes else ""
                if more:
                    waiting += more
                    continue
                if not waiting:
                    return
                reason = f"not JSON, or an item of more than {max_bytes:,} bytes"
                raise EOFError(reason) from error
            item = waiting[at:end].encode("utf-8", "surrogateescape")
            yield item if len(item) <= max_bytes else too_long(max_bytes), len(item)
            at = end
    finally:
        text.detach()


def json_lines(file: IO[bytes], max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """Yield the objects of JSON lines or arrays; empty lines are skipped.

    Args:
        file: to read from, at its start.
        max_bytes: of a line; longer ones are not held in memory.
    """
    for number, (line, _) in enumerate(json_items(file, max_bytes), start=1):
        values = line if isinstance(line, str) else json_object(line)
        if values != "":
            yield Line(number, values)


def too_long(max_bytes: int) -> str:
    """Say what is wrong with a line that is too long."""
    return f"longer than {max_bytes:,} bytes"


def json_object(line: bytes) -> RowValues:
    """Object of a line of JSON, or what is wrong with the line; "" for an empty one.

    A comma behind it is not looked at.
    """
    if not line.strip():
        return ""
    try:
        text = line.rstrip(AFTER_OBJECT).lstrip(_JSON_SPACE).decode()
        values, end = _decode(text)  # in half the time of json.loads
    except UnicodeDecodeError:
        return "not UTF-8"
    except (ValueError, RecursionError):
        return "not JSON"
    if end < len(text):
        return "not JSON"
    return values if isinstance(values, dict) else "not a JSON object"
