"""Tar files, read forward and an entry at a time; a broken entry does not end the others.

`tarfile` reads a header of any size into memory, raises other errors than its own for what
entries contain, and takes a broken header for the end of the archive.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import IO, TYPE_CHECKING, NamedTuple

from shingling.bulk.files.pages import (
    ArchiveError,
    SavedPage,
    SkippedPage,
    is_chosen,
    name_problem,
    read_page,
    saved_time,
    url_of_name,
)
from shingling.bulk.files.unpacking import Unpacked
from shingling.errors import BulkError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MAX_EXTENDED_HEADER_BYTES = 1 << 16
"""Length of a PAX header, or of a long GNU name, above which its entry is broken."""

MAX_ENTRY_BYTES = 1 << 50
"""Length of an entry above which its header is broken."""

MAX_EXTENDED_HEADERS = 16
"""Number of PAX headers and long names before the header of the entry itself."""

MAX_SORTED_BYTES = 1 << 28
"""Memory for names and places of pages that are sorted at once."""

MAX_SPOOLED_BYTES = 1 << 34
"""Size of a temporary file for pages that are sorted at once."""

_BLOCK = 512  # bytes
_NO_BLOCK = bytes(_BLOCK)
# Types of entries, and of the headers before them.
_FILES = (b"0", b"\0", b"7")
_WITHOUT_DATA = (b"1", b"2", b"3", b"4", b"5", b"6")  # links, devices, folders, of any size
_SPARSE, _LONG_NAME, _PAX = b"S", b"L", (b"x", b"X")
_EXTENDED = (*_PAX, _LONG_NAME, b"K", b"g")  # also long names of links, and of no single entry
_PAX_RECORD = re.compile(rb"([0-9]{1,9}) ([^=\n]+)=")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_BYTES_OF_PAGE = 500  # in memory, besides its name


class _BrokenHeaderError(Exception):
    """The header of an entry is broken; the message says how."""


class _Entry(NamedTuple):
    """An entry, whose bytes are read next.

    Args:
        name: undecodable bytes as surrogates.
        size: in bytes.
        mtime: seconds since 1970.
        is_file: whether it is a regular file.
        problem: why it cannot be read; "" if it can.
    """

    name: str
    size: int
    mtime: float
    is_file: bool
    problem: str = ""


class _Data:
    """The bytes of an entry."""

    def __init__(self, stream: Unpacked, size: int) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        wanted = min(size, self._left)
        piece = self._stream.read(wanted)
        if len(piece) < wanted:
            raise self._stream.ended()
        self._left -= len(piece)
        return piece


def read_tar(
    path: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    """Yield the pages of a tar file, sorted by name.

    Raises:
        ArchiveError: it cannot be read any further.
        BulkError: there is no room for the pages that have to be sorted.
        OSError: the file cannot be read.
    """
    is_sorted = _is_sorted(path)
    with path.open("rb") as file:
        pages = _pages(path, Unpacked(file), only, base, max_bytes)
        yield from (page for _, page in pages) if is_sorted else _sorted_pages(pages)


def _is_sorted(path: Path) -> bool:
    """Check whether the entries of a tar file are sorted, up to where it breaks off."""
    before = ""
    with path.open("rb") as file:
        try:
            for entry in _entries(Unpacked(file)):
                if isinstance(entry, _Entry):
                    if entry.name < before:
                        return False
                    before = entry.name
        except ArchiveError:
            pass
    return True


def _pages(
    path: Path, stream: Unpacked, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[tuple[str, SavedPage | SkippedPage]]:
    """Yield pages, and what cannot be read, each with the name that it is sorted by."""
    before = ""
    for entry in _entries(stream):
        if isinstance(entry, SkippedPage):
            yield before, entry
            continue
        before = entry.name
        if not is_chosen(entry.name, only):
            continue
        problem = entry.problem or name_problem(entry.name)
        if problem:
            yield before, SkippedPage(entry.name, problem)
            continue
        url, fetched = url_of_name(path, entry.name, base), saved_time(entry.mtime)
        for page in read_page(_Data(stream, entry.size), url, fetched, max_bytes):
            yield before, page


def _sorted_pages(
    pages: Iterable[tuple[str, SavedPage | SkippedPage]],
) -> Iterator[SavedPage | SkippedPage]:
    """Sort pages by name; very many of them in several runs, one after the other.

    Raises:
        BulkError: there is no room for them.
    """
    run: list[tuple[str, int, int, SavedPage | SkippedPage]] = []
    run_bytes = 0
    broken: ArchiveError | None = None
    with tempfile.TemporaryFile() as spool:
        try:
            for name, page in pages:
                run.append((name, len(run), *_spooled(page, spool)))
                run_bytes += len(name) + _BYTES_OF_PAGE
                if run_bytes >= MAX_SORTED_BYTES or spool.tell() >= MAX_SPOOLED_BYTES:
                    yield from _of_run(run, spool)
                    run, run_bytes = [], 0
        except ArchiveError as error:
            broken = error
        yield from _of_run(run, spool)
    if broken is not None:
        raise broken


def _spooled(
    page: SavedPage | SkippedPage, spool: IO[bytes]
) -> tuple[int, SavedPage | SkippedPage]:
    """Length of a page's body, which is put aside, and the page without it."""
    if isinstance(page, SkippedPage):
        return 0, page
    try:
        spool.write(page.body)
    except OSError as error:
        raise BulkError(f"{tempfile.gettempdir()}: {error.strerror}") from error
    return len(page.body), replace(page, body=b"")


def _of_run(
    run: list[tuple[str, int, int, SavedPage | SkippedPage]], spool: IO[bytes]
) -> Iterator[SavedPage | SkippedPage]:
    """Yield pages in the order of their names, and make room for others."""
    starts = [0, *accumulate(length for _, _, length, _ in run)]
    run.sort(key=lambda one: one[:2])
    for _, number, length, page in run:
        if isinstance(page, SavedPage):
            spool.seek(starts[number])
            page = replace(page, body=spool.read(length))
        yield page
    spool.seek(0)
    spool.truncate()


def _entries(stream: Unpacked) -> Iterator[_Entry | SkippedPage]:
    """Yield the regular files of a tar file, and what is broken in their place."""
    block = stream.read(_BLOCK)
    if not block:
        raise ArchiveError("it is empty")
    while block not in (_NO_BLOCK, b""):
        place = f"entry at byte {stream.position - len(block):,}"
        try:
            entry = _read_headers(block, stream)
        except _BrokenHeaderError as error:
            block = _next_header(stream)
            if not block:
                raise ArchiveError(f"{place}: {error}, and no other is found behind it") from None
            yield SkippedPage(place, str(error))
            continue
        end = stream.position + _padded(entry.size)
        if entry.is_file or entry.problem:
            yield entry
        stream.skip(end - stream.position)
        block = stream.read(_BLOCK)


def _next_header(stream: Unpacked) -> bytes:
    """Find the next block that is a header; b"" if there is none."""
    while len(block := stream.read(_BLOCK)) == _BLOCK:
        if block[257:262] == b"ustar" and _has_checksum(block):
            return block
    return b""


def _read_headers(block: bytes, stream: Unpacked) -> _Entry:
    """Read the headers of an entry, of which the last one is its own.

    Raises:
        _BrokenHeaderError: it is not known where the entry ends.
    """
    fields: dict[bytes, bytes] = {}
    problem = ""
    for _ in range(MAX_EXTENDED_HEADERS):
        if len(block) < _BLOCK:
            raise stream.ended()
        if not _has_checksum(block):
            raise _BrokenHeaderError("its header is broken")
        kind, size = block[156:157], _size(block[124:136])
        if kind not in _EXTENDED:
            break
        if size > MAX_EXTENDED_HEADER_BYTES:
            problem = f"its header is longer than {MAX_EXTENDED_HEADER_BYTES:,} bytes"
            stream.skip(_padded(size))
        elif not _add_fields(kind, stream.read(_padded(size))[:size], fields):
            problem = "its PAX header is broken"
        block = stream.read(_BLOCK)
    else:
        raise _BrokenHeaderError(f"it has more than {MAX_EXTENDED_HEADERS} headers")
    if b"size" in fields:
        size = _pax_size(fields[b"size"])
    if kind == _SPARSE:
        extended = block[482]
        while extended:
            extended = stream.read(_BLOCK)[504:505] > b"\0"
    if kind == _SPARSE or any(field.startswith(b"GNU.sparse.") for field in fields):
        problem = problem or "it is a sparse file"
    name = _name(block, fields)
    is_file = kind in _FILES and not name.endswith("/")
    size = 0 if kind in _WITHOUT_DATA else size
    return _Entry(name, size, _mtime(block, fields), is_file, problem)


def _has_checksum(block: bytes) -> bool:
    try:
        expected = _number(block[148:156])
    except ValueError:
        return False
    return expected == sum(block) - sum(block[148:156]) + 8 * ord(" ")


def _add_fields(kind: bytes, raw: bytes, fields: dict[bytes, bytes]) -> bool:
    """Add what a header tells about the entry behind it; False if it is broken."""
    if kind == _LONG_NAME:
        fields[b"path"] = raw.partition(b"\0")[0]
    if kind not in _PAX:
        return True
    at = 0
    while at < len(raw) and raw[at]:
        record = _PAX_RECORD.match(raw, at)
        if record is None:
            return False
        end = at + int(record[1])
        if not record.end() < end <= len(raw):
            return False
        fields[record[2]] = raw[record.end() : end - 1]
        at = end
    return True


def _name(block: bytes, fields: dict[bytes, bytes]) -> str:
    name = block[:100].partition(b"\0")[0]
    prefix = block[345:500].partition(b"\0")[0] if block[257:263] == b"ustar\0" else b""
    if prefix:
        name = prefix + b"/" + name
    name = fields.get(b"GNU.sparse.name", fields.get(b"path", name))
    return name.decode("utf-8", "surrogateescape")


def _size(field: bytes) -> int:
    """Size of an entry.

    Raises:
        _BrokenHeaderError: it is none.
    """
    with suppress(ValueError):
        size = _number(field)
        if 0 <= size <= MAX_ENTRY_BYTES:
            return size
    raise _BrokenHeaderError("its size is impossible")


def _pax_size(field: bytes) -> int:
    if _DIGITS.fullmatch(field) and int(field) <= MAX_ENTRY_BYTES:
        return int(field)
    raise _BrokenHeaderError("its size is impossible")


def _mtime(block: bytes, fields: dict[bytes, bytes]) -> float:
    """Time of an entry in seconds; 0 if it is not known."""
    with suppress(ValueError, OverflowError):
        if b"mtime" in fields:
            return float(fields[b"mtime"])
        return float(_number(block[136:148]))
    return 0.0


def _number(field: bytes) -> int:
    """Read a number of a header, in octal digits or, if it is large, in bytes.

    Raises:
        ValueError: it is none.
    """
    if field[0] >= 0x80:
        return int.from_bytes(field[1:]) if field[0] == 0x80 else -1
    return int(field.partition(b"\0")[0].strip() or b"0", 8)


def _padded(size: int) -> int:
    """Length of data with what fills its last block."""
    return -(-size // _BLOCK) * _BLOCK
