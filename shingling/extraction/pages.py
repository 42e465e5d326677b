"""From what was fetched to a signed main text: the work that is done away from the event loop."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from shingling.errors import ExtractionError
from shingling.extraction.extractors import Extractor, default_extractor
from shingling.extraction.html import EXTRACTION_VERSION
from shingling.extraction.limits import limit_memory
from shingling.rules import MAX_BYTES, WORKER_MEMORY_BYTES
from shingling.rules.reasons import Reason
from shingling.sketch import sign
from shingling.text import PreparedText, clean

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from shingling.extraction.html import Head
    from shingling.sketch import Scheme, Signature

    Answer: TypeAlias = "Extraction | Head | str | None"

# Of a page that is extracted in a thread: a parser takes less than a second for it.
_MAX_CHARS_IN_THREAD = 1 << 19
_MAX_TAGS_IN_THREAD = 6000
_MAX_ATTRIBUTES_IN_THREAD = 10_000  # and other equals signs
_MAX_UNCLOSED_IN_THREAD = 50  # formatting elements: a parser opens them again and again
_FORMATTING_TAG = re.compile(
    r"<(/?)(a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(?=[\s/>])", re.IGNORECASE
)

_NICE = 5  # below the crawl's own process: its event loop does not wait for a core


@dataclass(frozen=True)
class Fetched:
    """What was fetched.

    Args:
        body: HTML (bytes or str), or a main text (str).
        is_html: which of the two.
        url: where it came from.
        encoding: of bytes, as the HTTP header declares it.
    """

    body: bytes | str
    is_html: bool
    url: str | None = None
    encoding: str | None = None

    @property
    def raw(self) -> bytes:
        """The body as bytes, by which it is known again."""
        body = self.body
        return body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body


@dataclass(frozen=True)
class Extraction:
    """The main text, prepared for the store, and its signature; or the reason why there is none."""

    prepared: PreparedText | None = None
    title: str | None = None
    language: str | None = None
    signature: Signature | None = None
    reason: Reason | None = None

    @property
    def text(self) -> str | None:
        """The main text."""
        return None if self.prepared is None else self.prepared.text


@dataclass(frozen=True)
class PageExtractor:
    """Extracts and signs the main texts of pages.

    Args:
        scheme: to sign with.
        extractor: of main texts from HTML.
        max_bytes: larger pages are refused.
        refuse_apps: whether pages are left out whose text is short, and which have data for
            scripts: all pages of a single-page application have the same text.
        worker_memory: bytes that a worker process may take; 0 is no limit.
    """

    scheme: Scheme
    extractor: Extractor = field(default_factory=default_extractor)
    max_bytes: int = MAX_BYTES
    refuse_apps: bool = False
    worker_memory: int = WORKER_MEMORY_BYTES

    def prepare(self) -> Callable[[tuple[str, Fetched]], Answer]:
        """Make a worker process ready."""
        limit_memory(self.worker_memory)
        self.warm_up()
        if hasattr(os, "nice"):  # not sooner: the first page of a crawl waits for all this
            os.nice(_NICE)
        return self.answer

    def warm_up(self) -> None:
        """Load parser, extractor and dictionaries: the first page takes no longer than others."""
        import_module("shingling.extraction.main_text")
        self.extractor.load_parser()
        self.extractor.load_function()
        sign("é", self.scheme)

    def answer(self, question: tuple[str, Fetched]) -> Answer:
        """Do what a pool asks for: `extract`, `head`, `text` or `markdown`."""
        name, fetched = question
        if name == "head":
            return self.head(fetched)
        return self.extract(fetched) if name == "extract" else self.main_text(fetched, name)

    def extract(self, fetched: Fetched) -> Extraction:
        """Extract and sign the main text; instead of raising, an extraction has a reason."""
        try:
            return self._extract(fetched)
        except ExtractionError as error:
            return Extraction(reason=error.reason)
        except MemoryError:
            return Extraction(reason=Reason.TOO_MUCH_MEMORY)

    def _extract(self, fetched: Fetched) -> Extraction:
        if not fetched.is_html:
            text = self._plain(fetched.body)
            return Extraction(self._prepared(text), signature=sign(text, self.scheme))
        from shingling.extraction.main_text import extract_page  # the crawl's process needs none

        page = extract_page(
            fetched.body,
            fetched.url,
            encoding=fetched.encoding,
            max_bytes=self.max_bytes,
            parser=self.extractor.load_parser(),
            extractor=self.extractor.load_function(),
        )
        if page.is_app and self.refuse_apps:
            return Extraction(reason=Reason.DATA_IN_SCRIPTS)
        signature = sign(page.text, self.scheme)
        return Extraction(self._prepared(page.text), page.title, page.language, signature)

    def head(self, fetched: Fetched) -> Head:
        """Extract what a page says of itself: title, language, canonical URL."""
        from shingling.extraction.main_text import extract_head

        parser = self.extractor.load_parser()
        return extract_head(fetched.body, fetched.url, encoding=fetched.encoding, parser=parser)

    def main_text(self, fetched: Fetched, form: str) -> str | None:
        """Extract the text that people read, by trafilatura; None if there is none.

        Args:
            fetched: the page, as HTML.
            form: `text` or `markdown`.
        """
        from shingling.extraction.main_text import extract_page
        from shingling.extraction.trafilatura import MarkdownPage, TrafilaturaPage

        try:
            text = extract_page(
                fetched.body,
                fetched.url,
                encoding=fetched.encoding,
                max_bytes=self.max_bytes,
                parser=TrafilaturaPage if form == "text" else MarkdownPage,
            ).text
            # Links are absolute in Markdown, and may be longer than the page.
            return text if len(text) <= self.max_bytes else None
        except (ExtractionError, MemoryError):
            return None

    def body_key(self, fetched: Fetched) -> bytes | None:
        """128-bit hash of a body and of all that decides what is extracted from it.

        None if it is not known what decides: see `Extractor.distributions`.
        """
        version = self.extractor.version()
        if version is None:
            return None
        encoding = "str" if isinstance(fetched.body, str) else fetched.encoding
        how = f"{EXTRACTION_VERSION} {version} {encoding}\0".encode("utf-8", "replace")
        return hashlib.blake2b(how + fetched.raw, digest_size=16).digest()

    def _prepared(self, text: str) -> PreparedText:
        return PreparedText(text).ready(self.scheme.canonical)

    def _plain(self, body: bytes | str) -> str:
        if len(body) > self.max_bytes:
            raise ExtractionError(Reason.TOO_LARGE, f"{len(body):,} characters")
        return clean(body if isinstance(body, str) else body.decode("utf-8", "replace"))


def check_for_thread(fetched: Fetched) -> None:
    """Refuse what could hold up the whole process if one of its threads extracted it.

    A thread cannot be ended, and parsers do not let other threads run.

    Raises:
        ExtractionError: with reason `needs_worker`.
    """
    body = fetched.body
    if len(body) > _MAX_CHARS_IN_THREAD:
        raise ExtractionError(Reason.NEEDS_WORKER, f"{len(body):,} bytes, too many for a thread")
    if not fetched.is_html:
        return
    from shingling.extraction.decoding import decode  # a crawl with workers needs none

    html = decode(body, fetched.encoding) if isinstance(body, bytes) else body
    if html.count("<") > _MAX_TAGS_IN_THREAD or html.count("=") > _MAX_ATTRIBUTES_IN_THREAD:
        raise ExtractionError(Reason.NEEDS_WORKER, "too many tags or attributes for a thread")
    unclosed: Counter[str] = Counter()
    for end, name in _FORMATTING_TAG.findall(html):
        unclosed[name.lower()] += -1 if end and unclosed[name.lower()] else not end
        if unclosed[name.lower()] > _MAX_UNCLOSED_IN_THREAD:
            raise ExtractionError(Reason.NEEDS_WORKER, f"too many unclosed {name} for a thread")
