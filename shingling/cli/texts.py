"""What a person names to be measured: a stored page, a file or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shingling.errors import ExtractionError, ShinglingError
from shingling.extraction.html import decode, extract_page, sniff_html
from shingling.rules.defaults import MAX_FILE_BYTES

if TYPE_CHECKING:
    from shingling.store import Store, StoredPage


def stored_page(url: str, store: Store) -> StoredPage:
    """Find the stored page of a URL.

    Raises:
        ShinglingError: it is not stored.
    """
    found = store.find(url)
    if not found:
        raise ShinglingError(f"{url} is neither a file nor stored")
    return found[0]


def text_of_file(what: str) -> str | None:
    """Text of a file or of standard input (`-`), the main text of HTML; None without such a file.

    Raises:
        ShinglingError: its main text cannot be extracted.
    """
    if what == "-":
        raw = sys.stdin.buffer.read()
    elif Path(what).exists() and not Path(what).is_dir():
        raw = Path(what).read_bytes()
    else:
        return None
    if not sniff_html(raw):
        return decode(raw)
    try:
        return extract_page(raw, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise ShinglingError(f"{what}: {error}") from error
