"""Documents extracted: the page that the store checks, and what was extracted for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import Context
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from w3lib.encoding import http_content_type_encoding

from shingling.errors import ExtractionError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.html import Head, sniff_html
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.plugin.items.documents import Document, Kind, Skipped, identity, is_same_page
from shingling.plugin.items.known_bodies import Body, KnownBodies, extraction_of
from shingling.rules.defaults import DEFAULT_EXTRACTOR
from shingling.store import Page, safe_url, site_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.http import Response

    from shingling.extraction.processes import Worker
    from shingling.plugin.items.store_thread import StoreThread
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme


_T = TypeVar("_T")

_COMPARED_ONLY = DEFAULT_EXTRACTOR  # its texts are not for people


class DocumentExtractor:
    """Extracts documents in worker processes.

    Args:
        settings: of the crawl.
        scheme: to sign with.
        spider: its name.
        store: of the texts of known bodies.
        first: a worker process that was started before; None where there is none.
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
        found = find_extractor(settings.extractor)
        extractor = PageExtractor(
            scheme,
            found,
            settings.max_bytes,
            refuse_apps=True,
            worker_memory=settings.worker_memory,
        )
        self.pool = ExtractionPool(extractor, settings.workers, settings.timeout, first=first)
        # What the store knows of a body is its text, which it may be told not to keep.
        self.bodies = KnownBodies(extractor, self.pool, store if settings.store_text else None)
        self.main_texts = 0  # that trafilatura was asked for
        self.main_texts_missing = 0  # of these, that it did not give
        self._shared: WeakKeyDictionary[Response, dict[str, asyncio.Task[Body]]] | None = None
        self._heads: WeakKeyDictionary[Response, asyncio.Task[Head]] = WeakKeyDictionary()

    def share_texts(self) -> None:
        """Extract a response once for its items and for `page`."""
        self._shared = WeakKeyDictionary()

    async def extract(
        self, document: Document, response: Response | None
    ) -> tuple[Page, Extraction] | Skipped:
        """Extract a document.

        Args:
            document: of an item.
            response: that it came from; None where there is none.

        Returns:
            The page that the store is to check and what was extracted, or why the document is
            skipped.
        """
        if document.canonical is not None and not await self._declares(
            document.canonical, response
        ):
            return Skipped("not_its_page")
        body = await self._text(document, response)
        extraction, own = body.extraction, document.own_fields
        if document.kind is Kind.ITEM and response is not None:
            extraction = await self._with_head(extraction, document, response)
        url = document.url
        if url is None:
            assert response is not None
            if extraction.signature is None:
                return Skipped(extraction.reason or "no_main_text")
            url = identity(document, response.url, extraction.signature.text_hash)
        page = Page(
            url=url,
            prepared=extraction.prepared,
            signature=extraction.signature,
            title=document.title or extraction.title,
            language=extraction.language,
            source=document.source,
            scope=self._scope(url),
            reason=extraction.reason,
            # What the store knows of a body is what was extracted from it: not the item's title.
            body_key=body.new_key if document.title is None else None,
            fields=own if own is None or body.key is None else own.made_of(body.key),
            teaches=document.kind is not Kind.ITEM or response is None or sniff_html(response.body),
        )
        return page, extraction

    async def _text(self, document: Document, response: Response | None) -> Body:
        """Extract the text of a document."""
        url = document.url or (response.url if response is not None else "")
        scope = self._scope(url)
        fetched = fetched_for(document, response, self._settings.max_bytes)
        if isinstance(fetched, Skipped):
            return Body(Extraction(reason=fetched.reason))
        if isinstance(fetched, NotModified):
            page = await self._store.as_read(url, scope)
            if page is None or page.signature is None:
                return Body(Extraction(reason="not_modified"))
            return Body(extraction_of(page))
        if self._shared is None or response is None or fetched.body is not response.body:
            return await self.bodies.extract(fetched, safe_url(url), scope)
        return await self._shared_text(fetched, url, response)

    async def _shared_text(self, fetched: Fetched, url: str, response: Response) -> Body:
        """Extract the body of a response once, for its item and for what is noted of it."""
        assert self._shared is not None
        tasks = self._shared.setdefault(response, {})
        if url not in tasks:
            scope = self._scope(url)
            tasks[url] = detached_task(self.bodies.extract(fetched, safe_url(url), scope))
        return await asyncio.shield(tasks[url])

    async def page(self, response: Response) -> tuple[Extraction, str | None] | None:
        """Extract the page of a response, and the URL that it declares as canonical.

        Returns:
            None where it is not HTML, or too large.
        """
        fetched = fetched_page(response)
        if fetched is None or len(fetched.body) > self._settings.max_bytes:
            return None
        extraction = (await self._shared_text(fetched, response.url, response)).extraction
        if b"canonical" not in response.body:
            return extraction, None
        return extraction, (await self._head(response)).canonical

    async def main_text(
        self, document: Document, response: Response | None, extraction: Extraction
    ) -> str | None:
        """Text that people read: trafilatura's, where the compared one is for comparing only.

        Args:
            document: of an item that is kept.
            response: that it came from; None where there is none.
            extraction: of the document, as it was compared.

        Returns:
            The compared text where trafilatura finds none or takes too long; `main_texts` counts
            how often it was asked, and `main_texts_missing` how often in vain.
        """
        if extraction.prepared is None or self._settings.extractor != _COMPARED_ONLY:
            return extraction.text
        fetched = fetched_for(document, response, self._settings.max_bytes)
        if isinstance(fetched, Fetched) and not fetched.is_html:
            return extraction.text
        main = None
        self.main_texts += 1
        if isinstance(fetched, Fetched):
            with suppress(Exception):  # the item goes on, whatever it is
                main = await self.pool.main_text(fetched)
        if main is None:
            self.main_texts_missing += 1
            return extraction.text
        return main.text

    async def _with_head(
        self, extraction: Extraction, document: Document, response: Response
    ) -> Extraction:
        """Add the title and language of the page to the text of an item that has no title."""
        if document.title is not None or extraction.title:
            return extraction
        head = await self._head(response)
        return replace(extraction, title=head.title, language=extraction.language or head.language)

    async def _head(self, response: Response) -> Head:
        """Title, language and canonical URL of a page; its items share them."""
        if response not in self._heads:
            self._heads[response] = detached_task(self._extract_head(fetched_page(response)))
        return await asyncio.shield(self._heads[response])

    async def _extract_head(self, fetched: Fetched | None) -> Head:
        if fetched is None:
            return Head()
        try:
            return await self.pool.head(fetched)
        except ExtractionError:  # it took too long, or ended the worker
            return Head()

    async def _declares(self, url: str, response: Response | None) -> bool:
        """Whether a page declares a URL as canonical."""
        assert response is not None
        declared = (await self._head(response)).canonical
        return declared is not None and is_same_page(declared, url)

    def _scope(self, url: str) -> str:
        if self._settings.scope == "site":
            return site_of(safe_url(url))
        return self._spider if self._settings.scope == "spider" else ""


def detached_task(work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start a task whose context is empty: that of the item has the response in it.

    A task that is kept for as long as its response would keep the response for good.
    """
    return asyncio.create_task(work, context=Context())


class NotModified:
    """The server says that the page is still what the store has: status 304."""


def fetched_for(
    document: Document, response: Response | None, max_bytes: int
) -> Fetched | NotModified | Skipped:
    """Choose what a document is extracted from.

    Args:
        document: with or without a content of its own.
        response: that it came from; None where its content is its own.
        max_bytes: larger bodies are skipped, and longer contents.
    """
    for own in (document.text, document.html):
        if own is not None and len(own) > max_bytes:
            return Skipped("too_large")
    if document.text is not None:
        return Fetched(document.text, is_html=False, url=document.url)
    if document.html is not None:
        return Fetched(document.html, is_html=True, url=document.url)
    assert response is not None
    if response.status == HTTPStatus.NOT_MODIFIED:
        return NotModified()
    if not response.body:
        return Skipped("no_main_text")
    if len(response.body) > max_bytes:
        return Skipped("too_large")
    return fetched_page(response) or Skipped("not_html")


def fetched_page(response: Response) -> Fetched | None:
    """Body of a response; None where it is not HTML."""
    header = response.headers.get("Content-Type") or b""
    if not response.body or not (b"html" in header.lower() or sniff_html(response.body)):
        return None
    encoding = http_content_type_encoding(header.decode("latin-1"))
    return Fetched(response.body, is_html=True, url=response.url, encoding=encoding)
