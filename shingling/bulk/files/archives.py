"""Saved pages out of folders, tar files and WARC files, read one page at a time.

`files.sources` packs them into parts of an input; a spider of `crawler` serves them.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urljoin

from shingling.errors import ShinglingError
from shingling.extraction.html import sniff_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from fastwarc.warc import WarcRecord

_WARC = (".warc", ".warc.gz")
_GZIP = b"\x1f\x8b"
_MAX_HEAD_BYTES = 1 << 16  # in which the head of a response ends, and HTML is recognised
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_READING_ERRORS = (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error)
_DECODING_ERRORS = (OSError, ValueError, EOFError, zlib.error)
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class ArchiveError(ShinglingError):
    """The archive does not exist, is of no known kind, or breaks off."""


@dataclass(frozen=True)
class SavedPage:
    """A page as it was saved.

    Args:
        url: of the page, or `file://` with the name of its file.
        body: HTML, without the encoding of its transfer.
        fetched: when it was saved.
        content_type: HTTP header, if the archive has it.
    """

    url: str
    body: bytes
    fetched: datetime
    content_type: str | None = None


@dataclass(frozen=True)
class SkippedPage:
    """A page, or a file of a folder, that cannot be read.

    Args:
        name: URL or file name, which may have control characters.
        reason: why, in a few words.
    """

    name: str
    reason: str


def read_archive(
    path: Path, *, only: Sequence[str] = (), base: str | None = None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    """Yield the HTML pages of a folder, a tar file or a WARC file (or a folder of those).

    Files that look like HTML come sorted by name, whatever their suffix; WARC records come in
    their order. A page that cannot be read is yielded as a `SkippedPage` in its place. A
    compressed tar file that is not sorted is decompressed into a temporary file; nothing else is
    written to disk.

    Args:
        path: of the archive.
        only: patterns of file names inside (`*` matches `/` too), or of URLs in a WARC file.
        base: URL that the names in a folder or tar file are relative to; without it, pages
            have `file://` URLs.
        max_bytes: larger pages are skipped.

    Raises:
        ArchiveError: the archive does not exist, is of no known kind, or breaks off, after the
            pages before the break. In a folder, a file that breaks off is skipped.
    """
    try:
        if path.is_dir():
            pages = _read_folder(path, only, base, max_bytes)
        elif path.name.endswith(_TAR):
            pages = _read_tar(path, only, base, max_bytes)
        elif path.name.endswith(_WARC):
            pages = _read_warc(path, only, max_bytes)
        elif not path.exists():
            raise ArchiveError(f"{path} does not exist")
        else:
            raise ArchiveError(f"{path} is no folder and no {', '.join(_TAR + _WARC)} file")
        yield from pages
    except _READING_ERRORS as error:
        raise ArchiveError(f"{path} cannot be read any further: {error}") from error


def _read_folder(
    folder: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            if file.name.endswith(_WARC):
                yield from _read_warc(file, only, max_bytes)
            elif _chosen(name, only):
                with file.open("rb") as opened:
                    fetched = _time(file.stat().st_mtime)
                    yield from _page(opened, _url(folder, name, base), fetched, max_bytes)
        except _READING_ERRORS as error:
            yield SkippedPage(name, f"cannot be read any further: {error}")


def _page(
    file: IO[bytes], url: str, fetched: datetime, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    """Yield the page in a file, if it looks like HTML."""
    body = file.read(_MAX_HEAD_BYTES)
    if not sniff_html(body):
        return
    body += file.read(max(max_bytes + 1 - len(body), 0))
    if len(body) > max_bytes:
        yield SkippedPage(url, "too large")
    else:
        yield SavedPage(url, body, fetched)


def _read_tar(
    path: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    if _is_sorted(path):
        with tarfile.open(path, "r|*") as archive:
            yield from _read_members(path, archive, _members(archive), only, base, max_bytes)
        return
    with tempfile.TemporaryFile() as plain:
        opener = _OPENERS.get(path.suffix.replace(".tgz", ".gz"), open)
        with opener(path, "rb") as compressed:
            shutil.copyfileobj(compressed, plain)
        plain.seek(0)
        with tarfile.open(fileobj=plain, mode="r:") as archive:
            members = sorted(archive, key=lambda member: member.name)
            yield from _read_members(path, archive, members, only, base, max_bytes)


def _is_sorted(path: Path) -> bool:
    """Check whether the members of a tar file are sorted, up to where it breaks off."""
    before = ""
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in _members(archive):
                if member.name < before:
                    return False
                before = member.name
    except _READING_ERRORS:
        return True
    return True


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar file without keeping them all, as tarfile itself would."""
    while (member := archive.next()) is not None:
        yield member
        archive.members.clear()  # type: ignore[attr-defined]  # typeshed leaves it out


def _read_members(
    path: Path,
    archive: tarfile.TarFile,
    members: Iterable[tarfile.TarInfo],
    only: Sequence[str],
    base: str | None,
    max_bytes: int,
) -> Iterator[SavedPage | SkippedPage]:
    for member in members:
        file = archive.extractfile(member) if member.isfile() else None
        if file is not None and _chosen(member.name, only):
            url, fetched = _url(path, member.name, base), _time(member.mtime)
            yield from _page(file, url, fetched, max_bytes)


def _read_warc(
    path: Path, only: Sequence[str], max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ImportError:
        raise ArchiveError(
            "WARC files need fastwarc: pip install 'scrapy-shingling[warc]'"
        ) from None
    with path.open("rb") as file:
        last = 0
        for record in ArchiveIterator(file, parse_http=False):
            last = record.stream_pos
            url = record.headers.get("WARC-Target-URI")
            is_response = record.record_type == WarcRecordType.response and record.is_http
            page = None
            if url and is_response and _chosen(url, only):
                page = _response(record, url.strip("<>"), max_bytes)
            else:
                _skip(record, 0)
            if page is not None:
                yield page
        _check_end(file, last)


def _check_end(file: IO[bytes], last: int) -> None:
    """Read a compressed file again from its last record on, to find a record that is cut off.

    fastwarc yields no such record, and raises nothing.

    Raises:
        EOFError, OSError: the file breaks off.
    """
    file.seek(last)
    if file.read(len(_GZIP)) == _GZIP:
        file.seek(last)
        with gzip.open(file) as rest:
            while rest.read(_MAX_HEAD_BYTES):
                pass


def _skip(record: WarcRecord, done: int) -> int:
    """Skip the rest of a record.

    Args:
        record: as fastwarc yields it.
        done: number of its bytes that are read already.

    Returns:
        Number of bytes of the rest.

    Raises:
        EOFError: the file ends within the record, which fastwarc does not report.
    """
    rest: int = record.reader.consume()
    if "Content-Length" not in record.headers or done + rest < record.content_length:
        raise EOFError("it ends in the middle of a record")
    return rest


def _response(record: WarcRecord, url: str, max_bytes: int) -> SavedPage | SkippedPage | None:
    """Page of a response; None if the response is not a page.

    Raises:
        EOFError: the file ends within the record.
    """
    block = record.reader.read(max_bytes + _MAX_HEAD_BYTES)
    is_whole = not _skip(record, len(block))
    body = head = None
    with suppress(*_DECODING_ERRORS):
        head = _parsed(block, "none").http_headers
    if head is None or head.status_code != HTTPStatus.OK:
        return None
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
    return SavedPage(url, body, record.record_date or _time(0), kind)


def _parsed(block: bytes, decode: Literal["none", "all"]) -> WarcRecord:
    """Parse a response apart from its file: an error of a decoder would spoil the next record."""
    from fastwarc.warc import WarcRecord

    record = WarcRecord()
    record.is_http = True
    record.set_bytes_content(block)
    record.parse_http(auto_decode=decode)
    return record


def _chosen(name: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _url(archive: Path, name: str, base: str | None) -> str:
    if base is not None:
        return urljoin(base, quote(name))
    return f"{archive.resolve().as_uri()}/{quote(name)}"


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
