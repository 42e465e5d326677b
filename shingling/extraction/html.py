"""Bodies that may be HTML, recognised before anything is parsed."""

from __future__ import annotations

import re
from typing import NamedTuple

EXTRACTION_VERSION = "8"
"""Version of what `extract_page` gives: raise it when pages give another text, title or language.

Bodies that a store knows are then extracted again.
"""

# The MIME Sniffing Standard, section 7.1, and XHTML behind an XML declaration.
_HTML = re.compile(
    rb"(?:<\?xml\b[^>]{0,200}>\s*)?"
    rb"<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta"
    rb"|link|main|article|section|nav|header)(?=[\s>/])",
    re.IGNORECASE,
)
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Head(NamedTuple):
    """What a page says of itself: `<title>`, declared language and canonical URL, or None."""

    title: str | None = None
    language: str | None = None
    canonical: str | None = None


def sniff_html(body: bytes) -> bool:
    """Whether bytes look like an HTML page; their content type does not matter."""
    if body.startswith(_UTF16):
        body = body[:8192].decode("utf-16", "replace").encode()
    start = body.removeprefix(b"\xef\xbb\xbf")[:8192].lstrip()
    while start.startswith(b"<!--"):
        start = start[4:].partition(b"-->")[2].lstrip()
    return _HTML.match(start) is not None
