"""Documents decided: extracted and signed side by side, checked in their order."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from shingling.errors import ExtractionError, ShinglingError, StoreError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.html import Head
from shingling.extraction.pages import Extraction, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.plugin.items.documents import Document, Kind, Skipped, identity, is_same_page
from shingling.plugin.items.known_bodies import KnownBodies, extraction_of
from shingling.plugin.items.responses import NotModified, fetched_for, fetched_page
from shingling.plugin.items.store_thread import StoreThread
from shingling.plugin.middleware import is_parse_command
from shingling.store import Page, Verdict, safe_url, site_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.extraction.pages import Fetched
    from shingling.extraction.processes import Worker
    from shingling.plugin.report import Report
    from shingling.plugin.settings import DedupSettings

logger = logging.getLogger(__name__)

_T = TypeVar("_T")


class NotStartedError(ShinglingError):
    """The store cannot be opened: no document of the crawl is decided."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on a document, the URL that it is stored under, and its text."""

    verdict: Verdict
    url: str
    extraction: Extraction = field(default_factory=Extraction)


@dataclass
class _Shared:
    """What the items of one response have in common."""

    pages: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    head: asyncio.Task[Head] | None = None


class Checker:
    """Decides documents; the first one opens the store and starts the workers.

    Args:
        crawler: whose responses they come from.
        settings: of the crawl.
        report: hears of every document.
        worker: a worker process that was started before; None where there is none.
    """

    def __init__(
        self, crawler: Crawler, settings: DedupSettings, report: Report, worker: Worker | None
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._report = report
        self._worker = worker
        self._store = StoreThread(settings)
        self._pool: ExtractionPool | None = None
        self._bodies: KnownBodies | None = None
        self._starting: asyncio.Task[None] | None = None
        self._shared: WeakKeyDictionary[Response, _Shared] = WeakKeyDictionary()
        self._last_turn: asyncio.Future[None] | None = None

    async def check(
        self, document: Document, response: Response | None, *, again: bool = False
    ) -> Outcome:
        """Decide a document; the items that stand for one page share its outcome.

        Args:
            document: what is decided.
            response: that it came from; None where there is none.
            again: it was decided before, but its original has been withdrawn since.

        Raises:
            NotStartedError: the store cannot be opened.
            StoreError: the database failed; the document is not stored.
        """
        if again:
            outcome = await self._check(document, response)
            verdict = outcome.verdict
            if verdict.status == "unchanged":  # since it was stored a moment ago
                return replace(outcome, verdict=replace(verdict, status="new"))
            return outcome
        if document.kind is Kind.ITEM or response is None:
            return await self._check(document, response)
        assert document.url is not None
        pages = self._shared.setdefault(response, _Shared()).pages
        if document.url not in pages:
            pages[document.url] = _task(self._check(document, response))
        return await asyncio.shield(pages[document.url])

    async def _check(self, document: Document, response: Response | None) -> Outcome:
        async with self._in_turn():
            await self._start_once()
            extracted = await self._page(document, response)
        # Without another await in between, so that the order is that of the turns.
        if isinstance(extracted, Skipped):
            url = response.url if response is not None else document.url or ""
            outcome = Outcome(Verdict("skipped", reason=extracted.reason), url)
            words = None
        else:
            page, extraction = extracted
            outcome = Outcome(await self._store.check(page), page.url, extraction)
            words = None if page.signature is None else page.signature.words
        self._report.decided(outcome.verdict, words)
        return outcome

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Let documents leave the block in the order in which they entered it.

        They are extracted side by side and decided in their order: verdicts do not depend on the
        number of workers. The store waits a moment for those that are in the block.
        """
        before, mine = self._last_turn, asyncio.get_running_loop().create_future()
        self._last_turn = mine
        with self._store.expecting():
            try:
                yield
            finally:
                if before is not None:
                    await before
                mine.set_result(None)

    async def _start_once(self) -> None:
        if self._starting is None:
            self._starting = _task(self._start())
        await asyncio.shield(self._starting)

    async def _start(self) -> None:
        """Open the store, while the first worker starts."""
        settings, spider = self._settings, self._crawler.spider
        first, self._worker = self._worker, None
        try:
            scheme = await self._store.open(
                spider.name if spider else "",
                {"action": settings.action, **settings.for_run()},
                dry_run=is_parse_command(spider),
            )
        except ShinglingError as error:
            if first is not None:
                first.end()
            raise NotStartedError(str(error)) from error
        extractor = PageExtractor(
            scheme, find_extractor(settings.extractor), settings.max_bytes, refuse_apps=True
        )
        self._pool = ExtractionPool(extractor, settings.workers, settings.timeout, first=first)
        # What the store knows of a body is its text, which it may be told not to keep.
        texts = self._store if settings.store_text else None
        self._bodies = KnownBodies(extractor, self._pool, texts)

    async def _page(
        self, document: Document, response: Response | None
    ) -> tuple[Page, Extraction] | Skipped:
        """Extract a document: the page that the store checks and what is in it, if it has any."""
        if document.canonical is not None and not await self._declares(
            document.canonical, response
        ):
            return Skipped("not_its_page")
        extraction, body_key = await self._extract(document, response)
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
            text=extraction.text,
            signature=extraction.signature,
            title=document.title or extraction.title,
            language=extraction.language,
            source=document.source,
            scope=self._scope(url),
            reason=extraction.reason,
            # What the store knows of a body is what was extracted from it: not the item's title.
            body_key=body_key if document.title is None else None,
        )
        return page, extraction

    async def _extract(
        self, document: Document, response: Response | None
    ) -> tuple[Extraction, bytes | None]:
        """Extract a document; the second is the key of its body, if it is to be stored."""
        assert self._bodies is not None
        url = document.url or (response.url if response is not None else "")
        scope = self._scope(url)
        fetched = fetched_for(document, response, self._settings.max_bytes)
        if isinstance(fetched, Skipped):
            return Extraction(reason=fetched.reason), None
        if isinstance(fetched, NotModified):
            page = await self._store.as_read(url, scope)
            if page is None or page.signature is None:
                return Extraction(reason="not_modified"), None
            return extraction_of(page), None
        return await self._bodies.extract(fetched, safe_url(url), scope)

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
        shared = self._shared.setdefault(response, _Shared())
        if shared.head is None:
            shared.head = _task(self._extract_head(fetched_page(response)))
        return await asyncio.shield(shared.head)

    async def _extract_head(self, fetched: Fetched | None) -> Head:
        assert self._pool is not None
        if fetched is None:
            return Head()
        try:
            return await self._pool.head(fetched)
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
        if self._settings.scope == "spider" and self._crawler.spider is not None:
            return self._crawler.spider.name
        return ""

    async def withdraw(self, url: str) -> None:
        """Take a document out of the store: its item was dropped by a later pipeline."""
        try:
            await self._store.forget(url)
        except StoreError as error:
            logger.error("Dedup could not withdraw %s: %s", url, error)
        else:
            self._crawler.stats.inc_value("dedup/withdrawn")

    async def close(self) -> None:
        """End the workers, and write the last stats."""
        if self._worker is not None:  # nothing came that was to be read
            self._worker.end()
        if self._pool is None or self._bodies is None:
            return
        await asyncio.to_thread(self._pool.close)
        stats = self._crawler.stats
        stats.set_value("dedup/known_bodies", self._bodies.known)
        stats.set_value("dedup/time/read", round(self._pool.seconds, 3))
        stats.set_value("dedup/time/store", round(self._store.seconds, 3))
        stats.set_value("dedup/batches", self._store.batches)
        if self._store.full_keys:
            stats.set_value("dedup/full_keys", self._store.full_keys)

    async def close_store(self, reason: str) -> None:
        """End the run, and let go of the store.

        Raises:
            StoreError: the database failed.
        """
        await self._store.close(reason)


def _task(work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start a task whose context is empty: that of the item has the response in it.

    A task that is kept for as long as its response would keep the response for good.
    """
    return asyncio.create_task(work, context=Context())
