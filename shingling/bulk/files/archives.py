"""Saved pages: a folder, a tar file, or WARC files, read one page at a time."""

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
_HEAD = 1 << 16  # bytes in which the head of a response ends, and HTML shows
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BROKEN = (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error)
_UNREADABLE = (OSError, ValueError, EOFError, zlib.error)
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class ArchiveError(ShinglingError):
    """The archive is not there, is of no known kind, or breaks off."""


@dataclass(frozen=True)
class SavedPage:
    """A page as it was saved; `content_type` is the HTTP header where it was kept."""

    url: str
    body: bytes
    fetched: datetime
    content_type: str | None = None


@dataclass(frozen=True)
class LeftOut:
    """A page, or a file of a folder, that cannot be had, and why; its name may be hostile."""

    name: str
    reason: str


def read_archive(
    path: Path, *, only: Sequence[str] = (), base: str | None = None, max_bytes: int
) -> Iterator[SavedPage | LeftOut]:
    """Yield the HTML pages of a folder, a tar file or a WARC file (or a folder of those).

    Files come in sorted order, whatever they are called, if they look like HTML; WARC
    records in theirs. What cannot be had comes in the place where it would be. Nothing is
    written to disk but, for a compressed tar file that is not sorted, its uncompressed form in
    a temporary file.

    Args:
        path: of the archive.
        only: patterns of file names inside (`*` matches `/` too), or of URLs in a WARC file.
        base: URL that the names in a folder or tar file are relative to; without it, pages
            have `file://` URLs.
        max_bytes: larger pages are left out.

    Raises:
        ArchiveError: see there; pages before the break have been yielded. In a folder, only the
            file that breaks off is left out.
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
    except _BROKEN as error:
        raise ArchiveError(f"{path} cannot be read any further: {error}") from error


def _read_folder(
    folder: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | LeftOut]:
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
        except _BROKEN as error:
            yield LeftOut(name, f"cannot be read any further: {error}")


def _page(
    file: IO[bytes], url: str, fetched: datetime, max_bytes: int
) -> Iterator[SavedPage | LeftOut]:
    """Yield the page that a file is, if it looks like one."""
    body = file.read(_HEAD)
    if not sniff_html(body):
        return
    body += file.read(max(max_bytes + 1 - len(body), 0))
    if len(body) > max_bytes:
        yield LeftOut(url, "too large")
    else:
        yield SavedPage(url, body, fetched)


def _read_tar(
    path: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | LeftOut]:
    if _is_sorted(path):
        with tarfile.open(path, "r|*") as archive:
            yield from _read_members(path, archive, _streamed(archive), only, base, max_bytes)
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
    """Return whether a tar file can be read as a stream: in order, or broken anyway."""
    before = ""
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in _streamed(archive):
                if member.name < before:
                    return False
                before = member.name
    except _BROKEN:
        return True
    return True


def _streamed(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar file, all of which tarfile itself would hold on to."""
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
) -> Iterator[SavedPage | LeftOut]:
    for member in members:
        file = archive.extractfile(member) if member.isfile() else None
        if file is not None and _chosen(member.name, only):
            url, fetched = _url(path, member.name, base), _time(member.mtime)
            yield from _page(file, url, fetched, max_bytes)


def _read_warc(path: Path, only: Sequence[str], max_bytes: int) -> Iterator[SavedPage | LeftOut]:
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
    """Read the packed file from its last record on: what is left of one more has no record.

    Raises:
        EOFError, OSError: the file breaks off.
    """
    file.seek(last)
    if file.read(len(_GZIP)) == _GZIP:
        file.seek(last)
        with gzip.open(file) as rest:
            while rest.read(_HEAD):
                pass


def _skip(record: WarcRecord, done: int) -> int:
    """Return how many bytes of a record there are behind those that are read.

    Raises:
        EOFError: the file ends within the record; fastwarc does not mind.
    """
    rest: int = record.reader.consume()
    if "Content-Length" not in record.headers or done + rest < record.content_length:
        raise EOFError("it ends in the middle of a record")
    return rest


def _response(record: WarcRecord, url: str, max_bytes: int) -> SavedPage | LeftOut | None:
    """Return the page that a response is, or why it cannot be had; None where it is none.

    Raises:
        EOFError: the file ends within the record.
    """
    block = record.reader.read(max_bytes + _HEAD)
    is_whole = not _skip(record, len(block))
    body = head = None
    with suppress(*_UNREADABLE):
        head = _parsed(block, "none").http_headers
    if head is None or head.status_code != HTTPStatus.OK:
        return None
    # It is decoded while it is read, so that a compressed bomb fills no memory.
    with suppress(*_UNREADABLE):
        body = _parsed(block, "all").reader.read(max_bytes + 1)
    kind = head.get("Content-Type")
    if "html" not in (kind or "").lower() and not sniff_html(body or b""):
        return None
    if not is_whole or (body is not None and len(body) > max_bytes):
        return LeftOut(url, "too large")
    if body is None:
        return LeftOut(url, "cannot be decoded")
    return SavedPage(url, body, record.record_date or _time(0), kind)


def _parsed(block: bytes, decode: Literal["none", "all"]) -> WarcRecord:
    """Return a record of its own: a decoder that fails would fail the file's next record."""
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
