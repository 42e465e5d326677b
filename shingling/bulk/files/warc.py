"""WARC files, read forward and a record at a time; a broken record does not end the others.

Records are found here: fastwarc takes a wrong length for one of 0 bytes or for the end of the
file, and finds no record behind a broken one. It reads HTTP, within a record that is in memory.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from shingling.bulk.files.pages import (
    MAX_HEAD_BYTES,
    ArchiveError,
    SavedPage,
    SkippedPage,
    is_chosen,
    saved_time,
    url_problem,
)
from shingling.bulk.files.unpacking import DamagedError, EntryTooLongError, Unpacked
from shingling.extraction.html import sniff_html

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fastwarc.warc import WarcRecord

MAX_RECORD_HEADER_BYTES = 1 << 16
"""Length of the header of a WARC record above which it is broken."""

_VERSION = b"WARC/"
_MAX_BLANK_LINES = 16  # between two records
_LENGTH = re.compile(rb"[0-9]{1,15}")  # bytes
_DECODING_ERRORS = (OSError, ValueError, EOFError)
_URL_CHARACTERS = "".join(map(chr, range(0x21, 0x7F)))
_BODY_CODINGS = ("content-encoding", "transfer-encoding")


class _BrokenRecordError(Exception):
    """A record is broken; the message says how."""


def read_warc(path: Path, only: Sequence[str], max_bytes: int) -> Iterator[SavedPage | SkippedPage]:
    """Yield the pages of a WARC file: its successful responses of HTML.

    Raises:
        ArchiveError: it cannot be read any further, or fastwarc is not installed.
        OSError: the file cannot be read.
    """
    try:
        import fastwarc  # noqa: F401
    except ImportError:
        raise ArchiveError(
            "WARC files need fastwarc: pip install 'scrapy-shingling[warc]'"
        ) from None
    with path.open("rb") as file:
        stream = Unpacked(file, _VERSION)
        while True:
            place = f"record at {stream.place}"
            try:
                if not _is_at_record(stream):
                    return
                stream.is_in_entry = True
                page = _read_record(stream, only, max_bytes)
            except EntryTooLongError:
                page = SkippedPage(place, "it is longer than its gzip member")
            except (_BrokenRecordError, DamagedError) as error:
                page = SkippedPage(place, str(error))
                if not _find_record(stream, is_damaged=isinstance(error, DamagedError)):
                    raise ArchiveError(f"{page.message}, and no other is found behind it") from None
            finally:
                stream.is_in_entry = False
            if page is not None:
                yield page


def _find_record(stream: Unpacked, *, is_damaged: bool) -> bool:
    """Skip to the next record behind a broken one; False if there is none."""
    stream.is_in_entry = True
    if not is_damaged:
        try:
            return stream.skip_to(b"\n" + _VERSION)
        except EntryTooLongError:
            return True
        except DamagedError:
            pass
    return stream.skip_member()


def _is_at_record(stream: Unpacked) -> bool:
    """Read the first line of a record; False at the end of the file.

    Raises:
        _BrokenRecordError: it is none.
    """
    for _ in range(_MAX_BLANK_LINES):
        line = stream.line(MAX_RECORD_HEADER_BYTES)
        if line.startswith(_VERSION):
            return True
        if not line:
            return False
        if line.strip():
            break
    raise _BrokenRecordError("it does not begin as a record does")


def _read_record(
    stream: Unpacked, only: Sequence[str], max_bytes: int
) -> SavedPage | SkippedPage | None:
    """Read what follows the first line of a record: its page, if it has one.

    Raises:
        ArchiveError: the file ends within the record.
        _BrokenRecordError: it is not known where the record ends.
    """
    fields = _read_fields(stream)
    length = fields.get(b"content-length", b"")
    if not _LENGTH.fullmatch(length):
        raise _BrokenRecordError("it has no length")
    end = stream.position + int(length)
    is_http = fields.get(b"content-type", b"").lower().startswith(b"application/http")
    url = _url(fields.get(b"warc-target-uri", b""))
    page: SavedPage | SkippedPage | None = None
    if url and is_http and fields.get(b"warc-type") == b"response" and is_chosen(url, only):
        block = stream.read(min(int(length), max_bytes + MAX_HEAD_BYTES))
        stream.skip(end - stream.position)
        problem = url_problem(url)
        if problem:
            page = SkippedPage(url, problem)
        else:
            is_whole = len(block) == int(length)
            page = _response(block, is_whole, url, _date(fields), max_bytes)
    stream.skip(end - stream.position)
    return page


def _read_fields(stream: Unpacked) -> dict[bytes, bytes]:
    """Read the header of a record; names are in lower case.

    Raises:
        ArchiveError: the file ends within the header.
        _BrokenRecordError: it is too long, or has two lengths.
    """
    fields: dict[bytes, bytes] = {}
    end = stream.position + MAX_RECORD_HEADER_BYTES
    while line := stream.line(max(end - stream.position, 0)):
        if not line.endswith(b"\n"):
            break
        if not line.strip():
            return fields
        name, _, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        if fields.setdefault(name, value) != value and name == b"content-length":
            raise _BrokenRecordError("it has two lengths")
    if stream.position < end:
        raise stream.ended()
    raise _BrokenRecordError(f"its header is longer than {MAX_RECORD_HEADER_BYTES:,} bytes")


def _url(raw: bytes) -> str:
    """URL of a record; bytes that are not UTF-8 are escaped."""
    raw = raw.removeprefix(b"<").removesuffix(b">")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return quote(raw, safe=_URL_CHARACTERS)


def _date(fields: dict[bytes, bytes]) -> datetime:
    """Time of a record; 1970 if it is not known."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(fields.get(b"warc-date", b"").decode())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    return saved_time(0)


def _response(
    block: bytes, is_whole: bool, url: str, fetched: datetime, max_bytes: int
) -> SavedPage | SkippedPage | None:
    """Page of a response; None if the response is not a page."""
    head = body = None
    start = block[:MAX_HEAD_BYTES]
    if b"\r\n\r\n" in start or b"\n\n" in start:
        with suppress(*_DECODING_ERRORS):
            head = _parsed(block, "none").http_headers
    if head is None or head.status_code is None:
        return SkippedPage(url, "its HTTP header is broken")
    if head.status_code != HTTPStatus.OK:
        return None
    codings = [value for name, value in head.items() if name.lower() in _BODY_CODINGS]
    # Bytes that are packed twice can take any time to unpack, and give nothing.
    if not any("," in value for value in codings):
        # Decoding while reading keeps a decompression bomb from filling the memory.
        with suppress(*_DECODING_ERRORS):
            body = _parsed(block, "all").reader.read(max_bytes + 1)
    kind = head.get("Content-Type")
    if "html" not in (kind or "").lower() and not sniff_html(body or b""):
        return None
    if not is_whole or (body is not None and len(body) > max_bytes):
        return SkippedPage(url, "too large")
    if body is None:
        return SkippedPage(url, "cannot be decoded")
    return SavedPage(url, body, fetched, kind)


def _parsed(block: bytes, decode: Literal["none", "all"]) -> WarcRecord:
    """Parse a response."""
    from fastwarc.warc import WarcRecord

    record = WarcRecord()
    record.is_http = True
    record.set_bytes_content(block)
    record.parse_http(auto_decode=decode)
    return record
