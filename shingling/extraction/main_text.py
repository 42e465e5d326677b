"""HTML to main text, title and language.

A worker process imports this, not the process of the crawl.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from shingling.errors import ExtractionError, require_type
from shingling.extraction.decoding import decode, decode_clean
from shingling.extraction.extractors import Extracted, default_extractor, find_extractor
from shingling.extraction.html import Head
from shingling.extraction.parsed import is_enough, language_code, plain_title
from shingling.rules import DEFAULT_EXTRACTOR, MAX_BYTES
from shingling.rules.reasons import Reason
from shingling.text import bounded, clean, without_marks

if TYPE_CHECKING:
    from shingling.extraction.extractors import ExtractorFunction
    from shingling.extraction.parsed import Parser

MAX_TAGS = 500_000
"""Start and end tags of a page; the largest known reference manuals have 170,000."""

MAX_ATTRIBUTES = 10_000
"""Attributes of a tag: parsers compare each name with all those before it."""

_LONG_TAG = 1 << 16  # characters; more than 10,000 attributes hardly fit into a shorter one
_TAG_START = re.compile("<[a-zA-Z]")
# A tag up to its end or to one attribute too many, which is a group. A `>` may be in quotes.
_SPACE = r"[ \t\n\f\r]*+"
_NAME = r"""(?:[ \t\n\f\r/]++[^ \t\n\f\r/>][^ \t\n\f\r/>=]*+|(?<=["'])[^ \t\n\f\r/>="']++)"""
_VALUE = r"""(?:"[^"]*+"|'[^']*+'|[^ \t\n\f\r>"'][^ \t\n\f\r>]*+)"""
_ATTRIBUTE = f"{_NAME}(?:{_SPACE}={_SPACE}{_VALUE})?+"
_TAG = re.compile(
    rf"<[a-zA-Z][^ \t\n\f\r/>]*+(?:{_ATTRIBUTE}){{0,{MAX_ATTRIBUTES}}}+({_ATTRIBUTE})?+"
)

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
# References to characters that XML does not have: controls, U+FFFE and U+FFFF.
_CONTROL_REFERENCE = re.compile(
    r"&#(?:x0*(?:[1-8bcef]|1[0-9a-f]|fff[ef])(?![0-9a-f])"
    r"|0*(?:[1-8]|1[124-9]|2[0-9]|3[01]|6553[45])(?![0-9]));?",
    re.IGNORECASE,
)
# What a browser that runs scripts takes for `<noscript>`, a group: up to the first end tag, but
# nothing in comments and scripts.
_NOSCRIPT = re.compile(
    r"<(?=[!sn])(?:!--[^-]*+(?:-(?!->)[^-]*+)*+|script\b[^<]*+(?:<(?!/script)[^<]*+)*+"
    r"|(noscript\b[^<]*+(?:<(?!/noscript)[^<]*+)*+(?:</noscript[^>]*+>?)?))",
    re.IGNORECASE,
)


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
        html = decode_clean(html, encoding)
    else:
        html = clean(html)
    # One reference to a control character would cost trafilatura the whole text.
    html = _CONTROL_REFERENCE.sub("", html)
    html = _NOSCRIPT.sub(lambda match: "" if match[1] else match[0], html)
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


def extract(
    html: bytes | str, url: str | None = None, *, extractor: str = DEFAULT_EXTRACTOR
) -> str | None:
    """Extract the main text of an HTML page, as a crawl does; None if it has none.

    None also for pages of more than 10 MB and for what is not HTML. The text depends on nothing
    but the arguments.

    Args:
        html: the page; bytes are decoded by what the page declares, or else by a guess.
        url: where it came from; helps the extractor.
        extractor: as `DEDUP_EXTRACTOR` names it.

    Raises:
        ArgumentError: `html` is something else.
        SettingsError: there is no such extractor, or it cannot be imported.
    """
    require_type("html", html, bytes, str)
    chosen = find_extractor(extractor)
    function = chosen.load_function()
    try:
        text = extract_page(html, url, parser=chosen.load_parser(), extractor=function).text
        return without_marks(text)
    except ExtractionError:
        return None


def check_markup(html: str) -> None:
    """Refuse a page with more tags, or more attributes of one tag, than real pages have.

    It takes next to no time, because only what is in long stretches without a `>` is looked at. A
    tag that has one in a quoted value every few kilobytes is left to the time limit.

    Raises:
        ExtractionError: with reason `too_many_elements` or `too_many_attributes`.
    """
    if len(html) > MAX_TAGS and html.count("<") > MAX_TAGS:
        raise ExtractionError(Reason.TOO_MANY_ELEMENTS, f"more than {MAX_TAGS:,} tags")
    start = 0
    while len(html) - start > _LONG_TAG:
        end = html.rfind(">", start, start + _LONG_TAG)
        if end < 0:
            end = _end_of_long_tag(html, start)
        start = end + 1


def _end_of_long_tag(html: str, start: int) -> int:
    """Where to go on behind a long stretch without a `>`, which is looked at for a tag.

    Raises:
        ExtractionError: the tag has too many attributes.
    """
    end = html.find(">", start + _LONG_TAG)
    end = end if end >= 0 else len(html)
    first = _TAG_START.search(html, start, end)
    # In a script, `i<n` is no tag.
    if first is None or html.rfind("<script", 0, start) > html.rfind("</script", 0, start):
        return end
    tag = _TAG.match(html, first.start())
    assert tag is not None
    if tag[1] is not None:
        detail = f"more than {MAX_ATTRIBUTES:,} attributes of one tag"
        raise ExtractionError(Reason.TOO_MANY_ATTRIBUTES, detail)
    return max(end, tag.end())
