"""Saved pages: a folder, a tar file, or WARC files, read one page at a time."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

from shingling.text import sniff_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from fastwarc.warc import WarcRecord

_WARC = (".warc", ".warc.gz")
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_BROKEN = (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error)
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class ArchiveError(Exception):
    """The archive is not there, is of no known kind, or breaks off."""


@dataclass(frozen=True)
class SavedPage:
    """A page as it was saved; `content_type` is the HTTP header where it was kept."""

    url: str
    body: bytes
    fetched: datetime
    content_type: str | None = None


def read_archive(
    path: Path, *, only: Sequence[str] = (), base: str | None = None, max_bytes: int
) -> Iterator[SavedPage]:
    """Yield the HTML pages of a folder, a tar file or a WARC file (or a folder of those).

    Files come in sorted order, whatever they are called, if they look like HTML; WARC
    records in theirs. Nothing is written to disk but, for a compressed tar file that is
    not sorted, its uncompressed form in a temporary file.

    Args:
        path: of the archive.
        only: patterns of file names inside (`*` matches `/` too), or of URLs in a WARC file.
        base: URL that the names in a folder or tar file are relative to; without it, pages
            have `file://` URLs.
        max_bytes: larger files are left out.

    Raises:
        ArchiveError: see there; pages before the break have been yielded.
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
) -> Iterator[SavedPage]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    for file in files:
        name = file.relative_to(folder).as_posix()
        if file.name.endswith(_WARC):
            yield from _read_warc(file, only, max_bytes)
            continue
        if not _chosen(name, only) or file.stat().st_size > max_bytes:
            continue
        body = file.read_bytes()
        if sniff_html(body):
            yield SavedPage(_url(folder, name, base), body, _time(file.stat().st_mtime))


def _read_tar(
    path: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage]:
    if _is_sorted(path):
        with tarfile.open(path, "r|*") as archive:
            yield from _read_members(path, archive, archive, only, base, max_bytes)
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
            for member in archive:
                if member.name < before:
                    return False
                before = member.name
    except _BROKEN:
        return True
    return True


def _read_members(
    path: Path,
    archive: tarfile.TarFile,
    members: Iterable[tarfile.TarInfo],
    only: Sequence[str],
    base: str | None,
    max_bytes: int,
) -> Iterator[SavedPage]:
    for member in members:
        if not member.isfile() or not _chosen(member.name, only) or member.size > max_bytes:
            continue
        file = archive.extractfile(member)
        body = file.read() if file else b""
        if sniff_html(body):
            yield SavedPage(_url(path, member.name, base), body, _time(member.mtime))


def _read_warc(path: Path, only: Sequence[str], max_bytes: int) -> Iterator[SavedPage]:
    try:
        from fastwarc.warc import ArchiveIterator, WarcRecordType
    except ImportError:
        raise ArchiveError(
            "WARC files need fastwarc: pip install 'scrapy-shingling[warc]'"
        ) from None
    with path.open("rb") as file:
        # Bodies are decoded while they are read, so that a compressed bomb fills no memory.
        records = ArchiveIterator(
            file, record_types=WarcRecordType.response, parse_http=True, auto_decode="all"
        )
        for record in records:
            url = record.headers.get("WARC-Target-URI")
            if not url or not record.is_http or record.http_headers is None:
                continue
            if record.http_headers.status_code != HTTPStatus.OK or not _chosen(url, only):
                continue
            body = _payload(record, max_bytes)
            kind = record.http_headers.get("Content-Type")
            if body is not None and (sniff_html(body) or "html" in (kind or "").lower()):
                yield SavedPage(url.strip("<>"), body, record.record_date or _time(0), kind)


def _payload(record: WarcRecord, max_bytes: int) -> bytes | None:
    """Return the decoded body of a response, or None where it is too large or broken."""
    try:
        body = record.reader.read(max_bytes + 1)
    except (OSError, ValueError, EOFError, zlib.error):
        return None
    return body if len(body) <= max_bytes else None


def _chosen(name: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def _url(archive: Path, name: str, base: str | None) -> str:
    if base is not None:
        return urljoin(base, quote(name))
    return f"{archive.resolve().as_uri()}/{quote(name)}"


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
