"""HTML to main text, title and language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from lxml.etree import LxmlError
from lxml.html import HTMLParser, document_fromstring
from w3lib.encoding import html_to_unicode, resolve_encoding

from shingling.defaults import MAX_BYTES
from shingling.errors import ExtractionError
from shingling.extraction.extractors import Extracted
from shingling.text import canonical_words, clean, plain_line

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from shingling.extraction.extractors import ExtractorFunction

EXTRACTION_VERSION = "3"
"""Version of what `extract_page` gives: raise it when pages give another text, title or language.

Bodies that a store knows are then extracted again.
"""

_HEAD_BYTES = 1 << 18  # at the beginning of a page, in which its head is looked for
_MAX_TITLE_CHARACTERS = 500
_ENOUGH_WORDS = 80  # a shorter text may lack what is between two headings
_ENOUGH_CHARACTERS = 2000  # of which the words need not be counted
_SMALL_PAGE_CHARACTERS = 15_000  # in a smaller page, other extractors find little else
_ENOUGH_WORDS_FRACTION = 0.4  # of the words of a small page; above, they are not asked

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
# The first element of a part of a page: neither <html> nor <head> nor <body>.
_FRAGMENT = re.compile(r"\s*<(?!html|head|body|title|meta|frameset)[a-z][^<]*>", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]{1,6})|([0-9]{1,7}));?", re.IGNORECASE)
# What single-page applications keep the data of a page in.
_STATE = re.compile(r"__(?:(?:INITIAL|PRELOADED|APOLLO|REDUX)_STATE|NEXT_DATA|NUXT|DATA)__")
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
    """Whether bytes look like an HTML page, whatever content type they were sent with."""
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


def _without_control(reference: re.Match[str]) -> str:
    """Character reference, or nothing if XML has no such character."""
    code = int(reference[1], 16) if reference[1] else int(reference[2])
    control = 0 < code < 0x20 and code not in (0x09, 0x0A, 0x0D)
    return "" if control or code in (0xFFFE, 0xFFFF) else reference[0]


def _guess_encoding(body: bytes) -> str | None:
    from trafilatura.utils import detect_encoding

    return next(filter(None, map(resolve_encoding, detect_encoding(body))), None)


def extract_page(
    html: bytes | str,
    url: str | None = None,
    *,
    encoding: str | None = None,
    max_bytes: int = MAX_BYTES,
    extractor: ExtractorFunction | None = None,
) -> MainText:
    """Extract the main text, title and language of an HTML page.

    Args:
        html: the page.
        url: where it came from; helps the extractor.
        encoding: as the HTTP header declares it; see `decode`.
        max_bytes: longer pages, in bytes (or characters of a str), are refused.
        extractor: of the main text; None is trafilatura.

    Raises:
        ExtractionError: with reason `too_large`, `not_html`, `no_main_text` or
            `extraction_failed`.
    """
    if len(html) > max_bytes:
        raise ExtractionError("too_large", f"{len(html):,} bytes, more than {max_bytes:,}")
    import trafilatura  # half a second, which the process of a crawl does not spend

    if isinstance(html, bytes):
        if html.startswith(_BINARY):
            raise ExtractionError("not_html", "a binary file, not HTML")
        html = decode(html, encoding)
    # One reference to a control character would cost the extractor the whole text.
    html = clean(html)
    if "&#" in html:
        html = _REFERENCE.sub(_without_control, html)
    try:
        # trafilatura takes a lone element for something else than HTML.
        whole = f"<html><body>{html}</body></html>" if _FRAGMENT.match(html) else html
        tree = trafilatura.load_html(whole)
        if extractor:
            own = _checked(extractor(html, url))
        elif tree is None:
            own = Extracted(None)
        else:
            small = len(html) < _SMALL_PAGE_CHARACTERS
            own = Extracted(_main_text(tree, url, small=small))
        title, language = _plain_title(clean(own.title or "")), _language_code(own.language)
        if tree is not None:
            title, language = title or _title(tree), language or _language(tree)
    except ExtractionError:
        raise
    except Exception as error:  # a page must never stop a crawl, whatever the parser trips on
        raise ExtractionError("extraction_failed", type(error).__name__) from error
    text = clean(own.text or "")
    if not text.strip():
        raise ExtractionError("no_main_text", "no main text in it")
    is_app = tree is not None and not _is_enough(text) and _has_data(tree)
    return MainText(text, title, language, is_app)


def _checked(returned: object) -> Extracted:
    """Check what an extractor function has returned.

    Raises:
        ExtractionError: it is of another type than it should be.
    """
    own = returned if isinstance(returned, Extracted) else Extracted(returned)  # type: ignore[arg-type]
    for name in ("text", "title", "language"):
        value = getattr(own, name)
        if value is not None and not isinstance(value, str):
            raise ExtractionError("extraction_failed", f"a {name} of type {type(value).__name__}")
    return own


def extract_head(html: bytes | str, url: str | None = None, *, encoding: str | None = None) -> Head:
    """Extract what an HTML page says of itself, near its beginning; a page never raises.

    Args:
        html: the page.
        url: where it came from; a relative canonical URL begins there.
        encoding: as the HTTP header declares it.
    """
    if isinstance(html, bytes):
        if len(html) > _HEAD_BYTES:
            html = html[: html.rfind(b">", 0, _HEAD_BYTES) + 1]  # not within a character
        html = decode(html, encoding)
    try:
        parser = HTMLParser(encoding="utf-8")
        tree = document_fromstring(clean(html[:_HEAD_BYTES]).encode(), parser=parser)
        return Head(_title(tree), _language(tree), _canonical(tree, url))
    except (LxmlError, ValueError):  # there is nothing in it, or a URL that is none
        return Head()


def _canonical(tree: HtmlElement, url: str | None) -> str | None:
    for link in tree.iterfind(".//link[@href]"):
        if "canonical" in link.get("rel", "").lower().split():
            return urljoin(url or "", str(link.get("href")).strip())
    return None


def _main_text(tree: HtmlElement, url: str | None, *, small: bool) -> str | None:
    """Extract what trafilatura is sure of; if that is little, what it takes for text.

    Where its own rules have found a text, its comparison with other extractors changes little,
    and takes half of the time. In small pages they are asked only where most words are left out.
    """
    import trafilatura

    # `deduplicate` would make the text depend on the pages extracted before.
    take = partial(trafilatura.extract, url=url, include_comments=False, deduplicate=False)
    sure: str | None = take(tree, favor_precision=True, fast=True)
    if _is_enough(sure):
        return sure
    if small:
        more: str | None = take(tree, fast=True)
        if _is_enough(more) or _is_most(more, tree):
            return more
    else:
        sure = take(tree, favor_precision=True) or sure
        if _is_enough(sure):
            return sure
    return take(tree) or sure


def _has_data(tree: HtmlElement) -> bool:
    """Whether a page has data for scripts: JSON, or the state of a framework."""
    for script in tree.iter("script"):
        if "json" in script.get("type", "").lower() or _STATE.search(script.text or ""):
            return True
    return bool(tree.xpath("boolean(//@*[starts-with(., '{\"') or starts-with(., '[{\"')])"))


def _is_enough(text: str | None) -> bool:
    return text is not None and (
        len(text) > _ENOUGH_CHARACTERS or len(canonical_words(text)) >= _ENOUGH_WORDS
    )


def _is_most(text: str | None, tree: HtmlElement) -> bool:
    """Whether a text has enough of a page's words: there is little else to be found."""
    if not text:
        return False
    shown = tree.xpath("//body//text()[not(parent::script or parent::style or parent::noscript)]")
    least = _ENOUGH_WORDS_FRACTION * len(canonical_words(" ".join(shown)))
    return len(canonical_words(text)) >= least


def extract(html: bytes | str, url: str | None = None) -> str | None:
    """Extract the main text of an HTML page; None if it has none.

    None also for pages of more than 10 MB and for what is not HTML. The text depends on nothing
    but the arguments.

    Args:
        html: the page; bytes are decoded by what the page declares, or else by a guess.
        url: where it came from; helps the extractor.
    """
    try:
        return extract_page(html, url).text
    except ExtractionError:
        return None


def _title(tree: HtmlElement) -> str | None:
    element = tree.find(".//head/title")
    if element is None:
        element = tree.find(".//title")
    if element is None:
        return None
    return _plain_title(str(element.text_content()))


def _plain_title(title: str) -> str | None:
    return plain_line(title[: 4 * _MAX_TITLE_CHARACTERS])[:_MAX_TITLE_CHARACTERS] or None


def _language(tree: HtmlElement) -> str | None:
    return _language_code(
        tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang")
    )


def _language_code(declared: str | None) -> str | None:
    """ISO 639 code at the beginning of a language tag, as `en` of `en-GB`."""
    match = re.match(r"([a-zA-Z]{2,3})(?![a-zA-Z])", (declared or "").strip())
    return match[1].lower() if match else None
