"""From a document to its verdict: extracted and signed side by side, decided in order."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from w3lib.encoding import http_content_type_encoding

from shingling.errors import ExtractionError, ShinglingError, StoreError
from shingling.extraction.html import sniff_html
from shingling.extraction.pool import ReadingPool
from shingling.extraction.reader import Content, Reader, Reading
from shingling.plugin.documents import Document, Kind, Skipped, identity, is_same_page
from shingling.plugin.middleware import is_parse_command
from shingling.plugin.readings import Readings
from shingling.plugin.store_thread import StoreThread
from shingling.sketch import Signature
from shingling.store import Page, Verdict, safe_url, site_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.extraction.processes import Worker
    from shingling.plugin.report import Report
    from shingling.plugin.settings import DedupSettings

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_NOT_MODIFIED = Skipped("not_modified")


class NotStartedError(ShinglingError):
    """The store cannot be opened: no document of the crawl is decided."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on a document, the URL that it is stored under, and what was read from it."""

    verdict: Verdict
    url: str
    reading: Reading = field(default_factory=Reading)


@dataclass
class _Shared:
    """What the items of one response have in common."""

    pages: dict[str, asyncio.Task[Outcome]] = field(default_factory=dict)
    head: asyncio.Task[Reading] | None = None


class Checker:
    """Decides documents; the store and the workers are opened by the first one.

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
        self._pool: ReadingPool | None = None
        self._readings: Readings | None = None
        self._starting: asyncio.Task[None] | None = None
        self._shared: WeakKeyDictionary[Response, _Shared] = WeakKeyDictionary()
        self._last_turn: asyncio.Future[None] | None = None

    async def check(
        self, document: Document, response: Response | None, *, again: bool = False
    ) -> Outcome:
        """Return the outcome of a document; the items that stand for one page share it.

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
            extracted = await self._extract(document, response)
        # Without another await in between, so that the order is that of the turns.
        if isinstance(extracted, Skipped):
            url = response.url if response is not None else document.url or ""
            outcome = Outcome(Verdict("skipped", reason=extracted.reason), url)
            words = None
        else:
            page, reading = extracted
            outcome = Outcome(await self._store.check(page), page.url, reading)
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
                {"action": settings.action, **settings.shown()},
                dry_run=is_parse_command(spider),
            )
        except ShinglingError as error:
            if first is not None:
                first.end()
            raise NotStartedError(str(error)) from error
        reader = Reader(scheme, settings.extractor, settings.max_bytes, refuse_apps=True)
        self._pool = ReadingPool(reader, settings.workers, settings.timeout, first=first)
        # What the store knows of a body is its text, which it may be told not to keep.
        known = self._store if settings.store_text else None
        self._readings = Readings(reader, self._pool, known)

    async def _extract(
        self, document: Document, response: Response | None
    ) -> tuple[Page, Reading] | Skipped:
        """Return the document as the store takes it, and what was read; or why it is skipped."""
        url, title = document.url, document.title
        if document.canonical is not None and not await self._declares(
            document.canonical, response
        ):
            return Skipped("not_its_page")
        reading, body_key = await self._read(document, response)
        language = reading.language
        if document.kind is Kind.ITEM and response is not None and title is None:
            head = reading if reading.title else await self._head(response)
            title, language = head.title, language or head.language
            reading = reading._replace(title=title, language=language)
        signature = Signature.from_bytes(reading.signature) if reading.signature else None
        if url is None:
            assert response is not None
            if signature is None:
                return Skipped(reading.reason or "no_main_text")
            url = identity(document, response.url, signature.text_hash)
        page = Page(
            url=url,
            text=reading.text,
            signature=signature,
            title=title or reading.title,
            language=language,
            source=document.source,
            scope=self._scope(url),
            reason=reading.reason,
            # What the store knows of a body is what was read from it: not the item's title.
            body_key=body_key if document.title is None else None,
        )
        return page, reading

    async def _read(
        self, document: Document, response: Response | None
    ) -> tuple[Reading, bytes | None]:
        """Return what is in a document, and the key of its body where it is to be stored."""
        assert self._readings is not None
        url = document.url or (response.url if response is not None else "")
        content = self._content(document, response)
        if isinstance(content, Content):
            return await self._readings.read(content, safe_url(url), self._scope(url))
        if content is _NOT_MODIFIED:
            page = await self._store.as_read(url, self._scope(url))
            if page is not None and page.signature is not None:
                signature = page.signature.to_bytes()
                return Reading(page.text, page.title, page.language, signature), None
        return Reading(reason=content.reason), None

    def _content(self, document: Document, response: Response | None) -> Content | Skipped:
        """Return what is compared: the item's text or HTML, or the body of its response."""
        if document.text is not None:
            return Content(document.text, is_html=False, url=document.url)
        if document.html is not None:
            return Content(document.html, is_html=True, url=document.url)
        assert response is not None
        if response.status == HTTPStatus.NOT_MODIFIED:
            return _NOT_MODIFIED
        if not response.body:
            return Skipped("no_main_text")
        if len(response.body) > self._settings.max_bytes:
            return Skipped("too_large")
        if not _is_html(response):
            return Skipped("not_html")
        return _body(response)

    async def _head(self, response: Response) -> Reading:
        """Return what the page of a response says of itself: its title and canonical URL."""
        if not response.body or not _is_html(response):
            return Reading()
        shared = self._shared.setdefault(response, _Shared())
        if shared.head is None:
            content = _body(response)._replace(head_only=True)
            shared.head = _task(self._read_head(content))
        return await asyncio.shield(shared.head)

    async def _read_head(self, content: Content) -> Reading:
        assert self._pool is not None
        try:
            return await self._pool.read(content)
        except ExtractionError:  # it took too long, or ended the worker
            return Reading()

    async def _declares(self, url: str, response: Response | None) -> bool:
        """Return whether a page declares a URL as canonical."""
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
        if self._pool is None or self._readings is None:
            return
        await asyncio.to_thread(self._pool.close)
        stats = self._crawler.stats
        stats.set_value("dedup/known_bodies", self._readings.known)
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


def _body(response: Response) -> Content:
    kind = response.headers.get("Content-Type", b"") or b""
    encoding = http_content_type_encoding(kind.decode("latin-1"))
    return Content(response.body, is_html=True, url=response.url, encoding=encoding)


def _is_html(response: Response) -> bool:
    kind = response.headers.get("Content-Type") or b""
    return b"html" in kind.lower() or sniff_html(response.body)
