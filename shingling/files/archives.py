"""Saved pages and texts out of folders and WARC files, read one at a time.

fastwarc reads WARC files, in a worker process with limits of memory and time. What it cannot read,
or what takes it too much, costs the rest of that file.
Collections read the pages, and a spider of `crawler` serves them.
"""

from __future__ import annotations

from contextlib import closing, suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from shingling.errors import BulkError, require
from shingling.extraction.html import sniff_html
from shingling.extraction.limits import limit_memory, limit_time
from shingling.extraction.processes import Worker, WorkerDiedError
from shingling.files.bodies import DECODING_ERRORS, decoded
from shingling.files.lines import reading_errors, unpacked
from shingling.files.pages import (
    MAX_HEAD_BYTES,
    ArchiveError,
    SavedPage,
    SkippedPage,
    is_chosen,
    saved_time,
    shown_name,
    url_of_name,
    url_problem,
)
from shingling.files.records import RecordStream
from shingling.json_values import number_or_time
from shingling.rules import WORKER_MEMORY_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from fastwarc.warc import WarcRecord

    from shingling.files.pages import Entry

MAX_UNPACKED_RATIO = 250
"""Bytes of pages that an archive may give for each of its own, from `UNPACKED_BYTES_ALLOWED` on."""

UNPACKED_BYTES_ALLOWED = 1 << 28
"""Bytes of pages that an archive may give, however small it is."""

SECONDS_ALLOWED = 20
"""CPU time that reading an archive may take, however small it is."""

SECONDS_PER_MEGABYTE = 2
"""CPU time that reading an archive may take for each megabyte of it, besides `SECONDS_ALLOWED`."""

_WARC = (".warc", ".warc.gz", ".wet", ".wet.gz")
_TAR = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_MAX_PART_PAGES, _MAX_PART_BYTES = 64, 1 << 23  # of an answer of a worker


_CODING_FIELDS = ("content-encoding", "transfer-encoding")


class Archive(NamedTuple):
    """A folder or a WARC file, and what is read of it.

    Args:
        path: of it.
        max_bytes: larger pages and texts are skipped.
        only: patterns of file names inside (`*` matches `/` too), or of URLs in a WARC file; none
            takes all.
        base: URL that the names in a folder are relative to; without it, pages have `file://` URLs.
        texts: whether the texts of a folder and of WET files are read, too, in their places.
    """

    path: Path
    max_bytes: int
    only: Sequence[str] = ()
    base: str | None = None
    texts: bool = False

    def entries(self) -> Iterator[Entry]:
        """Yield the HTML pages of a WARC file, or of a folder with those in its WARC files.

        Files that look like HTML are pages, whatever their suffix. Those of a folder come sorted by
        name, records in their order. One that cannot be read is yielded as a `SkippedPage`
        in its place. So is a link that leaves the folder; other links are left out, as the files
        that they lead to are read. Nothing is written to disk.

        Raises:
            ArchiveError: the file cannot be read any further, after the pages before that place.
                In a folder, such a file is skipped.
        """
        with closing(_ArchiveWorker()) as worker:
            if self.path.is_dir():
                yield from _files(self, worker)
                return
            try:
                yield from worker.pages_of(self)
            except (ArchiveError, OSError) as error:
                raise ArchiveError(f"{self.path} cannot be read any further: {error}") from error


def refuse_tar(path: Path, error: type[Exception]) -> None:
    """Refuse a tar file by its name.

    Raises:
        Exception: of the given class: it is one; the message says how to unpack it.
    """
    if path.name.lower().endswith(_TAR):
        raise error(
            f"{path.name}: tar files are not read; unpack it into a folder:"
            " mkdir pages && tar xf FILE -C pages"
        )


def require_content(path: Path, max_bytes: int) -> None:
    """Check that there is something to read in a folder, and fastwarc for WARC files.

    Raises:
        BulkError: there is not.
    """
    is_folder = path.is_dir()
    if not is_folder or any(file.name.endswith(_WARC) for file in path.rglob("*")):
        require("warc", "WARC", "fastwarc", error=BulkError)
    if is_folder and next(Archive(path, max_bytes, texts=True).entries(), None) is None:
        raise BulkError(
            f"{path}: no file in it is HTML, .txt, .md or .warc; files of rows are"
            " named themselves, such as DIR/*.parquet"
        )


def _files(archive: Archive, worker: _ArchiveWorker) -> Iterator[Entry]:
    """Yield the pages of a folder's files, and its texts if they are asked for."""
    folder = archive.path
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        try:
            if file.is_symlink():
                if not file.resolve(strict=True).is_relative_to(folder.resolve()):
                    yield SkippedPage(name, "it is a link that leaves the folder")
            elif not file.is_file():
                continue
            elif file.name.endswith(_WARC):
                yield from worker.pages_of(archive._replace(path=file))
            elif is_chosen(name, archive.only):
                page = _read_file(file, name, archive)
                if page is not None:
                    yield page
        except ArchiveError as error:
            yield SkippedPage(name, f"cannot be read any further: {error}")
        except (OSError, RuntimeError) as error:  # a link to itself
            yield SkippedPage(name, f"cannot be read: {error}")


def _read_file(file: Path, name: str, archive: Archive) -> Entry | None:
    """Read the page or the text that a file is; None if it is neither."""
    with file.open("rb") as opened:
        body = opened.read(MAX_HEAD_BYTES)
        is_page = sniff_html(body)
        text_suffixes = (".md",) if is_page else (".md", ".txt")
        is_text = archive.texts and file.name.lower().endswith(text_suffixes)
        if not is_page and not is_text:
            return None
        body += opened.read(max(archive.max_bytes + 1 - len(body), 0))
    url = shown_name(name) if is_text else url_of_name(archive.path, name, archive.base)
    if len(body) > archive.max_bytes:
        return SkippedPage(name if is_text else url, "too large")
    fetched = saved_time(file.stat().st_mtime)
    return SavedPage(url, body, fetched, name_field="" if is_text else None)


class _ArchiveWorker:
    """A worker process that reads archives; it is started for the first one."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def pages_of(self, archive: Archive) -> Iterator[Entry]:
        """Yield the pages of a WARC file.

        Raises:
            ArchiveError: it cannot be read any further.
        """
        asked: Archive | None = archive
        try:
            if self._worker is None:
                self._worker = Worker()
                self._worker.start(Reader())
            while part := self._worker.ask(asked):
                asked = None
                for page in part:
                    if isinstance(page, ArchiveError):
                        raise page
                    yield page
        except WorkerDiedError:
            self.close()
            raise ArchiveError("the process that read it has ended") from None

    def close(self) -> None:
        """End the process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()


class Reader:
    """Reads archives, in a process whose memory and time are limited."""

    def prepare(self) -> Callable[[Archive | None], Any]:
        """Make the process ready, whose memory is limited."""
        limit_memory(WORKER_MEMORY_BYTES)
        return self.answer

    def answer(self, archive: Archive | None) -> list[Entry | ArchiveError]:
        """Give the next pages of an archive; none at its end.

        Args:
            archive: to begin with; None goes on with the one before.

        Returns:
            Pages; if it cannot be read any further, the reason is the last one.
        """
        if archive is not None:
            size = archive.path.stat().st_size
            limit_time(SECONDS_ALLOWED + SECONDS_PER_MEGABYTE * size // 10**6)
            self._pages = _read_warc(archive)
            self._given, self._most = 0, max(UNPACKED_BYTES_ALLOWED, size * MAX_UNPACKED_RATIO)
        part: list[Entry | ArchiveError] = []
        given_before = self._given
        try:
            for page in self._pages:
                if isinstance(page, SavedPage):
                    self._given += len(page.body)
                if self._given > self._most:
                    raise ArchiveError(f"it gives more than {self._most:,} bytes, unpacked")
                part.append(page)
                if len(part) == _MAX_PART_PAGES or self._given - given_before >= _MAX_PART_BYTES:
                    break
        except ArchiveError as error:
            part.append(error)
        except MemoryError:
            part.append(ArchiveError(f"it takes more than {WORKER_MEMORY_BYTES:,} bytes of memory"))
        except Exception as error:  # whatever is in a record, the run goes on
            part.append(ArchiveError(str(error) or type(error).__name__))
        return part


def _read_warc(archive: Archive) -> Iterator[Entry]:
    """Yield HTML of a WARC file, from successful responses and resources, and the texts of WET.

    Raises:
        ArchiveError: it is no WARC file, ends within a record, or fastwarc is not installed.
    """
    require("warc", "WARC", "fastwarc", error=ArchiveError)
    from fastwarc.warc import ArchiveIterator, WarcRecordType

    # By itself, fastwarc takes a gzip member that is cut off for the end of the file.
    with archive.path.open("rb") as raw, unpacked(raw) as file:
        stream = RecordStream(file)
        errors: tuple[type[Exception], ...] = (*reading_errors(), ValueError, ArchiveError)
        while True:
            name = ""
            try:
                for record in ArchiveIterator(
                    cast("Any", stream),
                    record_types=WarcRecordType.any_type,
                    parse_http=False,
                    quirks_mode=stream.is_lenient,
                ):
                    stream.begin_record(record.stream_pos)
                    name = (record.headers.get("WARC-Target-URI") or "").strip("<>")
                    entry = _entry(record, name, archive)
                    stream.end_record(record.content_length)
                    name = ""
                    if entry is not None:
                        yield entry
                return
            except errors as error:
                name = name or f"byte {stream.start:,}"
                passed = stream.pass_over()
                if not passed:
                    raise
                reason = f"a broken record ({error}): {passed:,} bytes are passed over"
                yield SkippedPage(name, reason)


def _entry(record: WarcRecord, url: str, archive: Archive) -> Entry | None:
    """Page or text of a record, or what is wrong with it; None if it is neither.

    Raises:
        ArchiveError: the file ends within it.
    """
    from fastwarc.warc import WarcRecordType

    kind = record.record_type
    is_text = archive.texts and kind == WarcRecordType.conversion
    is_file = kind == WarcRecordType.resource
    is_wanted = is_text or is_file or kind == WarcRecordType.response
    block = record.reader.read(archive.max_bytes + MAX_HEAD_BYTES) if is_wanted else b""
    length = record.content_length
    if "Content-Length" not in record.headers or len(block) + record.consume() < length:
        raise ArchiveError("it ends in the middle of a record")
    if not is_wanted or not url or not (record.is_http or is_text or sniff_html(block)):
        return None
    if not is_chosen(url, archive.only):
        return None
    problem = url_problem(url)
    if problem:
        return SkippedPage(url, problem)
    if record.is_http:
        return _response(block, length, url, _date(record), archive.max_bytes)
    if length > archive.max_bytes:
        return SkippedPage(url, "too large")
    content_type = record.headers.get("Content-Type")
    return SavedPage(url, block, _date(record), content_type, "url" if is_text else None)


def _date(record: WarcRecord) -> datetime:
    """Time of a record; 1970 if it is not known."""
    return saved_time(number_or_time(record.headers.get("WARC-Date")) or 0)


def _response(
    block: bytes, length: int, url: str, fetched: datetime, max_bytes: int
) -> SavedPage | SkippedPage | None:
    """Page of a response; None if the response is not a page."""
    from fastwarc.warc import WarcRecord

    record = WarcRecord()
    record.is_http = True
    record.set_bytes_content(block)
    head = None
    start = block[:MAX_HEAD_BYTES]
    if b"\r\n\r\n" in start or b"\n\n" in start:
        with suppress(*DECODING_ERRORS):
            record.parse_http(quirks_mode=True)  # also if its lines end in LF only
            head = record.http_headers
    if head is None or head.status_code is None:
        return SkippedPage(url, "its HTTP header is broken")
    if head.status_code != HTTPStatus.OK:
        return None
    kind = head.get("Content-Type")
    is_html = "html" in (kind or "").lower()
    named = (value for name, value in head.items() if name.lower() in _CODING_FIELDS)
    codings = ",".join(named).lower()
    raw = record.reader.read()
    body = decoded(raw, codings, max_bytes + 1) if is_html or codings else raw
    if not is_html and not sniff_html(body or b""):
        return None
    if len(block) < length or (body is not None and len(body) > max_bytes):
        return SkippedPage(url, "too large")
    if body is None:
        return SkippedPage(url, "cannot be decoded")
    return SavedPage(url, body, fetched, kind)
