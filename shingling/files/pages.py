"""Saved pages, and what is told about those that cannot be read.

`files.archives` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from shingling.errors import ShinglingError, shortened
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_HEAD_BYTES = 1 << 16
"""Bytes in which the HTTP header of a response has to end, and HTML is recognised."""

MAX_URL_CHARACTERS = 8192
"""Length of a URL in a WARC file above which it is no page's."""

_MAX_SHOWN_CHARACTERS = 200  # of a name
_MAX_TIMESTAMP = 253_402_300_799  # seconds: the end of the year 9999


class ArchiveError(ShinglingError):
    """The archive does not exist, is of no known kind, or cannot be read any further."""


@dataclass(frozen=True)
class SavedPage:
    """A page as it was saved; or a text file of a folder, or a text of a WET file.

    Args:
        url: of the page, or `file://` with the name of its file; of a text file, its path in the
            folder.
        body: HTML or text, without the encoding of its transfer.
        fetched: when it was saved; 1970 if that is not told.
        content_type: HTTP header, if it is there.
        name_field: of a text, the field of its row that has `url`; "" for the one with the id.
    """

    url: str
    body: bytes
    fetched: datetime
    content_type: str | None = None
    name_field: str | None = None


@dataclass(frozen=True)
class SkippedPage:
    """An entry of an archive, or a file of a folder, that cannot be read.

    Args:
        name: URL, file name or place, as the archive has it: of any length and characters.
        reason: why, in a few words.
    """

    name: str
    reason: str

    @property
    def message(self) -> str:
        """Name and reason on a line that a terminal can show, with the start of a long name."""
        return plain_line(f"{shortened(self.name, _MAX_SHOWN_CHARACTERS)}: {self.reason}")


Entry: TypeAlias = SavedPage | SkippedPage
"""What an archive or a folder has, in its order."""


def is_chosen(name: str, only: Sequence[str]) -> bool:
    """Check whether a name matches one of the patterns, if there are any."""
    return not only or any(fnmatchcase(name, pattern) for pattern in only)


def url_of_name(archive: Path, name: str, base: str | None) -> str:
    """URL of a file in an archive; bytes of its name that are not UTF-8 are escaped."""
    quoted = quote(name.encode("utf-8", "surrogateescape"))
    if base is not None:
        # A name such as `a:b` must not be taken for a URL of its own.
        return urljoin(base, f"./{quoted}")
    return f"{archive.resolve().as_uri()}/{quoted}"


def url_problem(url: str) -> str | None:
    """Say why a URL cannot be that of a page; None if it can."""
    if len(url) > MAX_URL_CHARACTERS:
        return f"its URL is longer than {MAX_URL_CHARACTERS:,} characters"
    if plain_line(url) != url:
        return "its URL has control characters or spaces"
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in ("http", "https"):
        return "its URL is not that of a page on the web"
    return None


def shown_name(name: str) -> str:
    """Name of a file as valid text; bytes of it that are not UTF-8 are percent-encoded."""
    return "".join(
        f"%{ord(char) - 0xDC00:02X}" if "\udc80" <= char <= "\udcff" else char for char in name
    )


def saved_time(seconds: float) -> datetime:
    """Time of a page from a timestamp; 1970 if there is no such time."""
    return datetime.fromtimestamp(seconds if 0 <= seconds <= _MAX_TIMESTAMP else 0, UTC)
