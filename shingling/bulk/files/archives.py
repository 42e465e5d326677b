"""Saved pages out of folders, tar files and WARC files, read one page at a time.

`files.sources` packs them into parts of an input; a spider of `crawler` serves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from shingling.bulk.files.pages import (
    ArchiveError,
    SavedPage,
    SkippedPage,
    is_chosen,
    read_page,
    saved_time,
    url_of_name,
)
from shingling.bulk.files.tar import read_tar
from shingling.bulk.files.warc import read_warc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MAX_NAMED_BAD_ENTRIES = 1000
"""Entries of an archive that are named if they cannot be read; others are only counted."""

_Entry = TypeVar("_Entry")
_WARC = (".warc", ".warc.gz")
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def read_archive(
    path: Path, *, only: Sequence[str] = (), base: str | None = None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    """Yield the HTML pages of a folder, a tar file or a WARC file (or a folder of those).

    Files that look like HTML come sorted by name, whatever their suffix; WARC records come in
    their order. An entry that cannot be read is yielded as a `SkippedPage` in its place. Pages of
    a tar file that is not sorted are put into a temporary file; nothing else is written to disk.

    Args:
        path: of the archive.
        only: patterns of file names inside (`*` matches `/` too), or of URLs in a WARC file.
        base: URL that the names in a folder or tar file are relative to; without it, pages
            have `file://` URLs.
        max_bytes: larger pages are skipped.

    Raises:
        ArchiveError: the archive does not exist, is of no known kind, or cannot be read any
            further, after the pages before that place. In a folder, such a file is skipped.
        BulkError: the disk is full.
    """
    return first_named(_read(path, only, base, max_bytes))


def _read(
    path: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    if not path.exists():
        raise ArchiveError(f"{path} does not exist")
    try:
        if path.is_dir():
            yield from _read_folder(path, only, base, max_bytes)
        elif path.name.endswith(_TAR):
            yield from read_tar(path, only, base, max_bytes)
        elif path.name.endswith(_WARC):
            yield from read_warc(path, only, max_bytes)
        else:
            raise ArchiveError(f"it is no folder and no {', '.join(_TAR + _WARC)} file")
    except (ArchiveError, OSError) as error:
        raise ArchiveError(f"{path} cannot be read any further: {error}") from error


def _read_folder(
    folder: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    for file in files:
        yield from read_file(
            file, file.relative_to(folder).as_posix(), folder, only, base, max_bytes
        )


def read_file(
    file: Path, name: str, folder: Path, only: Sequence[str], base: str | None, max_bytes: int
) -> Iterator[SavedPage | SkippedPage]:
    """Yield the page of a file in a folder, or the pages of a WARC file there.

    Args:
        file: its path.
        name: its path in the folder.
        folder: where it is.
        only: as for `read_archive`.
        base: as for `read_archive`.
        max_bytes: as for `read_archive`.
    """
    try:
        if file.name.endswith(_WARC):
            yield from read_warc(file, only, max_bytes)
        elif is_chosen(name, only):
            with file.open("rb") as opened:
                fetched = saved_time(file.stat().st_mtime)
                yield from read_page(opened, url_of_name(folder, name, base), fetched, max_bytes)
    except (ArchiveError, OSError) as error:
        yield SkippedPage(name, f"cannot be read any further: {error}")


def first_named(pages: Iterable[_Entry | SkippedPage]) -> Iterator[_Entry | SkippedPage]:
    """Yield pages, and the first of those that cannot be read; the others are counted."""
    skipped = 0
    broken: ArchiveError | None = None
    try:
        for page in pages:
            skipped += isinstance(page, SkippedPage)
            if not isinstance(page, SkippedPage) or skipped <= MAX_NAMED_BAD_ENTRIES:
                yield page
    except ArchiveError as error:
        broken = error
    if skipped > MAX_NAMED_BAD_ENTRIES:
        more = skipped - MAX_NAMED_BAD_ENTRIES
        yield SkippedPage("further entries", f"{more:,} more cannot be read")
    if broken is not None:
        raise broken
