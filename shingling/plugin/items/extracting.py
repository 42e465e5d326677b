"""Extract documents: make the page that the store checks, and keep what was extracted for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias

from w3lib.encoding import http_content_type_encoding

from shingling.errors import ExtractionError, StoreError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.html import Head, sniff_html
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.plugin.items.documents import (
    Document,
    Kind,
    is_same_page,
    text_fields,
    url_of_part,
)
from shingling.plugin.waiting import SharedTasks
from shingling.rules import DEFAULT_EXTRACTOR
from shingling.rules.reasons import Reason
from shingling.store.known import page_by_url, pages_by_body
from shingling.store.model import Page
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.http import Response

    from shingling.extraction.processes import Worker
    from shingling.plugin.items.store_thread import StoreThread
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme

_MAX_OWN_KEYS = 100_000  # 10 MB
_COMPARED_ONLY = DEFAULT_EXTRACTOR  # its texts are not for people


_Body: TypeAlias = tuple[Extraction, bytes | None]
"""What was extracted from a body, and the hash of the body and of how it is extracted, which the
store should keep with the page; None if it has it, or keeps no texts."""


class DocumentExtractor:
    """Extracts documents in worker processes, but not bodies that the store knows the text of.

    An extractor of one version extracts the same from the same bytes: verdicts do not depend on
    what is known, only time does.

    Args:
        settings: of the crawl.
        scheme: to sign with.
        spider: its name.
        store: of the texts of known bodies.
        first: a worker process that was started before; None if there is none.
    """

    def __init__(
        self,
        settings: DedupSettings,
        scheme: Scheme,
        spider: str,
        store: StoreThread,
        first: Worker | None,
    ) -> None:
        self._settings = settings
        self._spider = spider
        self._store = store
        self._extractor = PageExtractor(
            scheme,
            find_extractor(settings.extractor),
            settings.max_bytes,
            refuse_apps=True,
            worker_memory=settings.worker_memory,
        )
        self.pool = ExtractionPool(self._extractor, settings.workers, settings.timeout, first=first)
        self._reading = asyncio.Lock()  # of bodies in the store
        self._keys: set[bytes] = set()  # that are read next
        self._known: dict[bytes, Page] = {}  # that were read last
        # Of bodies of this crawl, if the store has no others; None: any body may be known.
        self._own_keys: set[bytes] | None = set() if store.was_empty else None
        self._known_bodies = 0  # pages that did not have to be extracted
        self.main_texts = 0  # that trafilatura was asked for
        self.main_texts_missing = 0  # of these, that it did not give
        # Of responses, by the URL that they are stored under: the items of a page share them, and
        # what learns from pages.
        self._bodies, self._heads = SharedTasks[_Body](), SharedTasks[Head]()

    async def extract(
        self, document: Document, response: Response | None
    ) -> tuple[Page, Extraction] | Reason:
        """Extract a document.

        Args:
            document: of an item.
            response: that it came from; None if there is none.

        Returns:
            The page that the store is to check and what was extracted, or why the document is
            skipped.
        """
        if document.canonical is not None:
            assert response is not None
            declared = (await self._head(response)).canonical
            if declared is None or not is_same_page(declared, document.canonical):
                return Reason.URL_MISMATCH
        extraction, key = await self._body(document, response)
        own = document.own_fields
        texts: Sequence[str] = ()
        if document.strings and extraction.prepared is not None:
            texts = text_fields(document.strings, extraction.prepared, self._extractor.scheme)
        if own is not None and texts:
            own = own.as_document(texts)
        if document.title is None or "title" in self._settings.fill_fields:
            extraction = await self._with_head(extraction, response)
        url = document.url
        if url is None:
            assert response is not None
            if extraction.signature is None:
                return extraction.reason or Reason.NO_MAIN_TEXT
            url = url_of_part(response.url, extraction.signature.text_hash)
        page = Page(
            url=url,
            prepared=extraction.prepared,
            signature=extraction.signature,
            title=document.title or extraction.title,
            language=extraction.language,
            source=document.source,
            scope=self._scope(url),
            reason=extraction.reason,
            body_key=key and (key if document.title is None else _without_title(key)),
            fields=own,
            learns_template=document.kind is not Kind.ITEM
            or response is None
            or sniff_html(response.body),
        )
        return page, extraction

    async def page(self, response: Response) -> Extraction | None:
        """Extract the page of a response; None if it is not HTML, or too large."""
        fetched = fetched_page(response)
        if fetched is None or len(fetched.body) > self._settings.max_bytes:
            return None
        extraction, _ = await self._shared_body(fetched, response.url, response)
        return await self._with_head(extraction, response)

    async def main_text(
        self, form: str, document: Document, response: Response | None, extraction: Extraction
    ) -> str | None:
        """Text that people read: trafilatura's, if the compared one is for comparing only.

        Args:
            form: `text` or `markdown`.
            document: of an item that is kept.
            response: that it came from; None if there is none.
            extraction: of the document, as it was compared.

        Returns:
            The compared text, or no Markdown, if trafilatura finds none or takes too long;
            `main_texts` counts how often it was asked, and `main_texts_missing` how often in vain.
        """
        compared = extraction.text if form == "text" else None
        if (
            extraction.prepared is None
            or document.text is not None
            or (form == "text" and self._settings.extractor != _COMPARED_ONLY)
        ):
            return compared
        fetched = fetched_for(document, response, self._settings.max_bytes)
        text = None
        self.main_texts += 1
        if isinstance(fetched, Fetched):
            with suppress(Exception):  # the item goes on without it
                text = await self.pool.main_text(fetched, form)
        if text is None:
            self.main_texts_missing += 1
            return compared
        return text

    def stats(self) -> dict[str, float]:
        """Stats of the extractions of a crawl, by key."""
        return {
            "known_bodies": self._known_bodies,
            "not_tried_again": self.pool.not_tried_again,
            "main_texts": self.main_texts,
            "main_texts_missing": self.main_texts_missing,
            "time/read": round(self.pool.seconds, 3),
        }

    async def _body(self, document: Document, response: Response | None) -> _Body:
        """Extract the text of a document."""
        url = document.url or (response.url if response is not None else "")
        fetched = fetched_for(document, response, self._settings.max_bytes)
        if isinstance(fetched, Reason):
            if fetched == Reason.NOT_MODIFIED:  # the store has what the server would send
                read_page = partial(page_by_url, url=url, scope=self._scope(url))
                page = await self._store.run(read_page)
                if page is not None and page.signature is not None:
                    return _extraction_of(page), None
            return Extraction(reason=fetched), None
        if response is None or fetched.body is not response.body:
            return await self._known_or_new(fetched, url)
        return await self._shared_body(fetched, url, response)

    async def _shared_body(self, fetched: Fetched, url: str, response: Response) -> _Body:
        """Extract the body of a response once, for all that ask for it under a URL."""
        return await self._bodies.result(response, url, partial(self._known_or_new, fetched, url))

    async def _known_or_new(self, fetched: Fetched, url: str) -> _Body:
        """Take what was extracted from a body before, or extract it."""
        # What the store knows of a body is its text, which it may be told not to keep.
        has_key = fetched.is_html and self._settings.rules.store_text
        key = self._extractor.body_key(fetched) if has_key else None
        if key is not None:
            page = None
            # If it fails, so does the check, which waits for the database or reports the error.
            with suppress(StoreError):
                page = await self._page_by_body(key)
            if page is not None and page.signature is not None:
                self._known_bodies += 1
                is_kept = (page.url, page.scope) == (safe_url(url), self._scope(url))
                known = page if page.body_key == key else replace(page, title=None)
                return _extraction_of(known), None if is_kept else key
        try:
            extraction = await self.pool.extract(fetched)
        except ExtractionError as error:
            extraction = Extraction(reason=error.reason)
        return extraction, key

    async def _page_by_body(self, key: bytes) -> Page | None:
        """Find what was extracted from a body before; keys that come meanwhile are read at once.

        Raises:
            StoreError: the database failed.
        """
        if self._own_keys is not None and key not in self._own_keys:
            self._own_keys.add(key)
            if len(self._own_keys) == _MAX_OWN_KEYS:
                self._own_keys = None
            return None
        self._keys |= {key, _without_title(key)}
        async with self._reading:
            if key in self._keys:
                keys, self._keys, self._known = self._keys, set(), {}
                self._known = await self._store.run(partial(pages_by_body, keys=keys))
            return self._known.get(key) or self._known.get(_without_title(key))

    async def _with_head(self, extraction: Extraction, response: Response | None) -> Extraction:
        """Add the title and language of the page to an extraction without title."""
        if extraction.title or extraction.signature is None or response is None:
            return extraction
        head = await self._head(response)
        return replace(extraction, title=head.title, language=extraction.language or head.language)

    async def _head(self, response: Response) -> Head:
        """Title, language and canonical URL of a page; its items share them."""
        return await self._heads.result(response, "", partial(self._extract_head, response))

    async def _extract_head(self, response: Response) -> Head:
        fetched = fetched_page(response)
        if fetched is None:
            return Head()
        try:
            return await self.pool.head(fetched)
        except ExtractionError:  # it took too long, or ended the worker
            return Head()

    def _scope(self, url: str) -> str:
        return self._settings.scope_of(url, self._spider)


def fetched_for(document: Document, response: Response | None, max_bytes: int) -> Fetched | Reason:
    """Choose what a document is extracted from.

    Args:
        document: with or without a content of its own.
        response: that it came from; None if its content is its own.
        max_bytes: larger bodies are skipped, and longer contents.
    """
    for own in (document.text, document.html):
        if own is not None and len(own) > max_bytes:
            return Reason.TOO_LARGE
    if document.text is not None:
        return Fetched(document.text, is_html=False, url=document.url)
    if document.html is not None:
        return Fetched(document.html, is_html=True, url=document.url)
    assert response is not None
    if response.status == HTTPStatus.NOT_MODIFIED:
        return Reason.NOT_MODIFIED
    if not response.body:
        return Reason.NO_MAIN_TEXT
    if len(response.body) > max_bytes:
        return Reason.TOO_LARGE
    return fetched_page(response) or Reason.NOT_HTML


def fetched_page(response: Response) -> Fetched | None:
    """Body of a response; None if it is not HTML."""
    header = response.headers.get("Content-Type") or b""
    if not response.body or not (b"html" in header.lower() or sniff_html(response.body)):
        return None
    encoding = http_content_type_encoding(header.decode("latin-1"))
    return Fetched(response.body, is_html=True, url=response.url, encoding=encoding)


def _without_title(key: bytes) -> bytes:
    """Key of a body that the store keeps with the title of an item, not with that of the page."""
    return key[::-1]


def _extraction_of(page: Page) -> Extraction:
    """Take from a stored page what was extracted from it then."""
    return Extraction(page.prepared, page.title, page.language, page.signature)
