"""HTML to main text, title and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from w3lib.encoding import html_to_unicode, resolve_encoding

from shingling.errors import ExtractionError
from shingling.extraction.extractors import BUILT_IN, Extracted, default_extractor
from shingling.extraction.limits import check_markup
from shingling.extraction.parsed import is_enough, language_code, plain_title
from shingling.rules import MAX_BYTES
from shingling.rules.reasons import Reason
from shingling.text import bounded, clean

if TYPE_CHECKING:
    from shingling.extraction.extractors import ExtractorFunction
    from shingling.extraction.parsed import Parser

EXTRACTION_VERSION = "5"
"""Version of what `extract_page` gives: raise it when pages give another text, title or language.

Bodies that a store knows are then extracted again.
"""

_HEAD_BYTES = 1 << 18  # at the beginning of a page, in which its head is looked for

_BINARY = (
    b"%PDF",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"RIFF",
    b"\x00",
)
# The MIME Sniffing Standard, section 7.1, and XHTML behind an XML declaration.
_HTML = re.compile(
    rb"(?:<\?xml\b[^>]{0,200}>\s*)?"
    rb"<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta"
    rb"|link|main|article|section|nav|header)(?=[\s>/])",
    re.IGNORECASE,
)
# References to characters that XML does not have: controls, U+FFFE and U+FFFF.
_CONTROL_REFERENCE = re.compile(
    r"&#(?:x0*(?:[1-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])"
    r"|0*(?:[1-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)
# What a browser that runs scripts takes for `<noscript>`, a group: up to the first end tag, but
# nothing in comments and scripts.
_NOSCRIPT = re.compile(
    r"<(?:!--[^-]*+(?:-(?!->)[^-]*+)*+|script\b[^<]*+(?:<(?!/script)[^<]*+)*+"
    r"|(noscript\b[^<]*+(?:<(?!/noscript)[^<]*+)*+(?:</noscript[^>]*+>?)?))",
    re.IGNORECASE,
)
_REPLACEMENT = "\ufffd"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class MainText:
    """The main text of a page, and what belongs to it.

    Args:
        text: the main text.
        title: from `<title>` or the extractor, or None.
        language: ISO 639 code that the page declares or the extractor gives, or None.
        is_app: whether the text is short and the page has data for scripts, which show more of it.
    """

    text: str
    title: str | None = None
    language: str | None = None
    is_app: bool = False


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


def decode(body: bytes, encoding: str | None = None) -> str:
    """Decode an HTML body; what cannot be decoded becomes U+FFFD.

    Valid UTF-8 is UTF-8, whatever is declared: declarations are often wrong, and other text
    is hardly ever valid UTF-8. Else, in this order: a byte order mark, `encoding` (of the
    HTTP header), the page's own declaration, a guess from the bytes. The guess also goes before
    a declaration by which most of the characters beyond ASCII are lost.
    """
    if b"\x1b" not in body:  # ISO-2022-JP is valid UTF-8
        try:
            return body.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    header = f"text/html; charset={encoding}" if encoding else None
    try:
        declared = html_to_unicode(header, body, auto_detect_fun=_guess_encoding)[1]
    except (LookupError, ValueError):  # a codec of Python that is not for text, as base64
        declared = body.decode("utf-8", "replace")
    # Two pages that are mostly U+FFFD would be alike in what is left of them.
    if 2 * declared.count(_REPLACEMENT) > len(declared) - len(declared.encode("ascii", "ignore")):
        guessed = body.decode(_guess_encoding(body) or "windows-1252", "replace")
        return min(declared, guessed, key=lambda text: text.count(_REPLACEMENT))
    return declared


def _guess_encoding(body: bytes) -> str | None:
    from trafilatura.utils import detect_encoding

    return next(filter(None, map(resolve_encoding, detect_encoding(body))), None)


def extract_page(
    html: bytes | str,
    url: str | None = None,
    *,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    parser: Parser | None = None,
    extractor: ExtractorFunction | None = None,
) -> MainText:
    """Extract the main text, title and language of an HTML page.

    Args:
        html: the page.
        url: where it came from; helps the extractor.
        encoding: as the HTTP header declares it; see `decode`.
        max_bytes: longer pages, in bytes (or characters of a str), are refused.
        parser: of the page; None is that of the default extractor.
        extractor: of the main text, instead of the parser's own.

    Raises:
        ExtractionError: with reason `too_large`, `too_many_elements`, `too_many_attributes`,
            `too_much_memory`, `not_html`, `no_main_text` or `extraction_failed`.
    """
    if len(html) > max_bytes:
        raise ExtractionError(Reason.TOO_LARGE, f"{len(html):,} bytes, more than {max_bytes:,}")
    if isinstance(html, bytes):
        if html.startswith(_BINARY):
            raise ExtractionError(Reason.NOT_HTML, "a binary file, not HTML")
        html = decode(html, encoding)
    # One reference to a control character would cost trafilatura the whole text.
    html = _CONTROL_REFERENCE.sub("", clean(html))
    html = _NOSCRIPT.sub(lambda found: "" if found[1] else found[0], html)
    check_markup(html)
    try:
        main = _main_text(html, url, parser or default_extractor().load_parser(), extractor)
    except ExtractionError:
        raise
    except Exception as error:  # a page must never stop a crawl, whatever the parser trips on
        is_memory = isinstance(error, MemoryError)
        reason = Reason.TOO_MUCH_MEMORY if is_memory else Reason.EXTRACTION_FAILED
        raise ExtractionError(reason, type(error).__name__) from error
    if main is None:
        raise ExtractionError(Reason.NO_MAIN_TEXT, "no main text in it")
    return main


def _main_text(
    html: str, url: str | None, parser: Parser, extractor: ExtractorFunction | None
) -> MainText | None:
    """Parse a page and take its main text, title and language; None without text."""
    page = parser.parse(html)
    if extractor is not None:
        own = _checked(extractor(html, url))
    else:
        own = Extracted(None if page is None else page.main_text(url))
    text = clean(own.text or "")
    if not text.strip():
        return None
    title, language = plain_title(clean(own.title or "")), language_code(own.language)
    if page is None:
        return MainText(text, title, language)
    is_app = not is_enough(text) and page.has_data
    return MainText(text, title or page.title, language or page.language, is_app)


def _checked(returned: object) -> Extracted:
    """Check what an extractor function has returned.

    Raises:
        ExtractionError: it is of another type than it should be.
    """
    own = returned if isinstance(returned, Extracted) else Extracted(returned)  # type: ignore[arg-type]  # checked below
    for name in ("text", "title", "language"):
        value = getattr(own, name)
        if value is not None and not isinstance(value, str):
            line = f"a {name} of type {type(value).__name__}"
            raise ExtractionError(Reason.EXTRACTION_FAILED, line)
    return own


def extract_head(
    html: bytes | str,
    url: str | None = None,
    *,
    encoding: str | None = None,
    parser: Parser | None = None,
) -> Head:
    """Extract what an HTML page says of itself, near its beginning; a page never raises.

    Args:
        html: the page.
        url: where it came from; a relative canonical URL begins there.
        encoding: as the HTTP header declares it.
        parser: of the page; None is that of the default extractor.
    """
    if isinstance(html, bytes):
        if len(html) > _HEAD_BYTES:
            html = html[: html.rfind(b">", 0, _HEAD_BYTES) + 1]  # not within a character
        html = decode(html, encoding)
    parser = parser or default_extractor().load_parser()
    try:
        beginning = clean(html[:_HEAD_BYTES])
        check_markup(beginning)
        page = parser.parse_head(beginning)
        if page is None:
            return Head()
        canonical = page.canonical
        if canonical is not None:
            canonical = urljoin(url or "", bounded(canonical))
        return Head(page.title, page.language, canonical)
    except (
        Exception
    ):  # there is nothing in it, or too much, a URL that is none, or what a parser trips on
        return Head()


def extract(html: bytes | str, url: str | None = None) -> str | None:
    """Extract the main text of an HTML page by trafilatura; None if it has none.

    None also for pages of more than 10 MB and for what is not HTML. The text depends on nothing
    but the arguments.

    Args:
        html: the page; bytes are decoded by what the page declares, or else by a guess.
        url: where it came from; helps the extractor.
    """
    try:
        return extract_page(html, url, parser=BUILT_IN["trafilatura"].load_parser()).text
    except ExtractionError:
        return None
