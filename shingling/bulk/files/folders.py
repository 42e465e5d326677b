"""Folders of texts (`.txt`, `.md`) and of saved pages, read one file at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.bulk.files.archives import first_named, read_file
from shingling.bulk.files.pages import (
    SavedPage,
    SavedText,
    SkippedPage,
    saved_time,
    shown_name,
)
from shingling.errors import BulkError
from shingling.extraction.html import sniff_html
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_TEXTS = (".txt", ".md")


def require_content(folder: Path, max_bytes: int) -> None:
    """Check that there is something to read in a folder.

    Raises:
        BulkError: there is not.
    """
    if next(read_folder(folder, max_bytes), None) is None:
        raise BulkError(f"{plain_line(str(folder))}: no file in it is HTML, .txt, .md or .warc")


def read_folder(folder: Path, max_bytes: int) -> Iterator[SavedPage | SavedText | SkippedPage]:
    """Yield the texts and HTML pages of a folder and of those in it, sorted by name.

    A file that cannot be read is yielded as a `SkippedPage` in its place. So is a link that leaves
    the folder; other links are left out, as the files that they lead to are read.

    Args:
        folder: its path.
        max_bytes: larger files are skipped.
    """
    return first_named(_read(folder, max_bytes))


def _read(folder: Path, max_bytes: int) -> Iterator[SavedPage | SavedText | SkippedPage]:
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        try:
            if file.is_symlink():
                if not file.resolve(strict=True).is_relative_to(folder.resolve()):
                    yield SkippedPage(name, "it is a link that leaves the folder")
            elif not file.is_file():
                continue
            elif file.name.lower().endswith(_TEXTS):
                yield from _read_text(file, name, folder, max_bytes)
            else:
                yield from read_file(file, name, folder, (), None, max_bytes)
        except (OSError, RuntimeError) as error:  # a link to itself
            yield SkippedPage(name, f"cannot be read: {error}")


def _read_text(
    file: Path, name: str, folder: Path, max_bytes: int
) -> Iterator[SavedPage | SavedText | SkippedPage]:
    with file.open("rb") as opened:
        body = opened.read(max_bytes + 1)
    if file.name.lower().endswith(".txt") and sniff_html(body):  # a page that was saved as text
        yield from read_file(file, name, folder, (), None, max_bytes)
    elif len(body) > max_bytes:
        yield SkippedPage(name, "too large")
    else:
        yield SavedText(shown_name(name), body, saved_time(file.stat().st_mtime))
