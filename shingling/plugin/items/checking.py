"""Decide documents: they are extracted and signed side by side, and checked in their order."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.errors import StoreError
from shingling.extraction.pages import Extraction
from shingling.plugin.items.documents import Document, Kind
from shingling.plugin.items.extracting import DocumentExtractor
from shingling.plugin.items.store_thread import StoreThread
from shingling.plugin.middleware import BacklogMiddleware, SourceMiddleware, is_parse_command
from shingling.plugin.waiting import SharedTasks, detached_task, ends_within
from shingling.rules.reasons import Reason
from shingling.store.model import Verdict
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.extraction.processes import Worker
    from shingling.plugin.report import Report
    from shingling.plugin.settings import DedupSettings
    from shingling.store.session import Session

logger = logging.getLogger(__name__)

_MAX_TURN_SECONDS = 0.5  # for which a document waits for those before it, if one of them is slow

_ALWAYS_SHOWN = ("known_bodies", "time/read", "time/store", "batches")


@dataclass(frozen=True)
class Outcome:
    """The verdict on a document, the URL that it is stored under, and its text."""

    verdict: Verdict
    url: str
    extraction: Extraction = field(default_factory=Extraction)

    def with_verdict(self, **changes: Any) -> Outcome:
        """Make an outcome whose verdict has some other values."""
        return replace(self, verdict=replace(self.verdict, **changes))


class Checker:
    """Decides documents.

    Args:
        crawler: whose responses they come from.
        settings: of the crawl.
        report: hears of every document.
        worker: a worker process that was started before; None if there is none.

    Attributes:
        tell: is told the verdict on the page of a response, if something wants to know.
    """

    def __init__(
        self, crawler: Crawler, settings: DedupSettings, report: Report, worker: Worker | None
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._report = report
        self._worker = worker
        middleware = crawler.get_spider_middleware(SourceMiddleware)
        gone = deque[str]() if middleware is None else middleware.gone
        self._backlog = crawler.get_downloader_middleware(BacklogMiddleware) or BacklogMiddleware()
        self._store = StoreThread(settings, gone)
        self._extractor: DocumentExtractor | None = None
        self._starting: asyncio.Task[DocumentExtractor] | None = None
        self._pages = SharedTasks[Outcome]()  # for the items that stand for the same page
        self._last_turn: asyncio.Future[None] | None = None
        self.tell: Callable[[Response, Verdict | None], None] | None = None

    async def opened(self) -> tuple[DocumentExtractor, StoreThread]:
        """Open the store and start a worker, unless that was done.

        Raises:
            ShinglingError: the store cannot be opened.
        """
        if self._starting is None:
            self._starting = detached_task(self._start())
        return await asyncio.shield(self._starting), self._store

    async def check(
        self, document: Document, response: Response | None, *, again: bool = False
    ) -> Outcome:
        """Decide a document; the items that stand for one page share its outcome.

        Args:
            document: what is decided.
            response: that it came from; None if there is none.
            again: it was decided before, but its original has been withdrawn since.

        Raises:
            StoreError: the database failed; the document is not stored.
        """
        # Others wait in the order of their verdicts: only what nobody waits for may take a detour.
        if again or document.kind is not Kind.LIST or response is None:
            return await self._check(document, response)
        assert document.url is not None
        check = partial(self._check, document, response)
        return await self._pages.result(response, document.url, check)

    async def _check(self, document: Document, response: Response | None) -> Outcome:
        with self._backlog.documents.one():
            async with self._in_turn():
                extractor, store = await self.opened()
                extracted = await extractor.extract(document, response)
            # Without another await in between, so that the order is that of the turns.
            if isinstance(extracted, Reason):
                url = response.url if response is not None else document.url or ""
                outcome = Outcome(Verdict("skipped", reason=extracted), url)
            else:
                page, extraction = extracted
                outcome = Outcome(await store.check(page), safe_url(page.url), extraction)
        signature = outcome.extraction.signature
        self._report.decided(outcome.verdict, None if signature is None else signature.words)
        if self.tell is not None and response is not None and document.source is None:
            self.tell(response, outcome.verdict)
        return outcome

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        """Let documents leave the block in the order in which they entered it.

        They are extracted side by side and decided in their order: verdicts do not depend on the
        number of workers. While there is a slow page, those behind it go on after a moment; it is
        decided when it is ready. The store waits a moment for those that are in the block.
        """
        before, mine = self._last_turn, asyncio.get_running_loop().create_future()
        self._last_turn = mine
        with self._store.expected.one():
            try:
                yield
            finally:
                while before is not None and not await ends_within(before, _MAX_TURN_SECONDS):
                    if self._extractor is not None and self._extractor.pool.has_slow_page:
                        break
                mine.set_result(None)

    async def _start(self) -> DocumentExtractor:
        """Open the store, while the first worker starts."""
        settings, spider = self._settings, self._crawler.spider
        first, self._worker = self._worker, None
        name = "" if spider is None else spider.name
        try:
            scheme = await self._store.open(
                name,
                {"action": settings.action, **settings.for_run()},
                dry_run=is_parse_command(spider),
            )
        except Exception:
            if first is not None:
                first.end()
            raise
        self._extractor = DocumentExtractor(settings, scheme, name, self._store, first)
        return self._extractor

    async def resume(self) -> None:
        """Go on with a job that was paused, once Scrapy has read what it keeps of it."""
        job = getattr(self._crawler.spider, "state", None)
        if job is not None:
            await self._store.resume(job)

    async def withdraw(self, url: str) -> None:
        """Take a document out of the store: its item was dropped by a later pipeline."""
        from shingling.store.forgetting import Chosen, forget  # few crawls need it

        if await self._change(url, partial(forget, chosen=Chosen([url]))):
            self._crawler.stats.inc_value("dedup/withdrawn")

    async def take_back(self, url: str) -> None:
        """Note of a document that stays in the store that its item has not come out."""
        from shingling.store.forgetting import take_back  # few crawls need it

        await self._change(url, partial(take_back, url=url))

    async def _change(self, url: str, action: Callable[[Session], Any]) -> bool:
        """Change what the store has of a URL: whether that was done."""
        if self._store.is_dry_run:
            return False
        try:
            await self._store.run(action)
        except StoreError as error:
            logger.error("Dedup could not withdraw %s: %s", url, error)
            return False
        return True

    async def close(self) -> None:
        """End the workers, and write the last stats."""
        if self._worker is not None:  # no document came
            self._worker.end()
        if self._extractor is None:
            return
        await asyncio.to_thread(self._extractor.pool.close)
        stats = {**self._extractor.stats(), **self._store.stats()}
        for name, value in stats.items():
            if value or name in _ALWAYS_SHOWN:
                self._crawler.stats.set_value(f"dedup/{name}", value)
        if missing := self._extractor.main_texts_missing:
            logger.info(
                "Dedup: trafilatura found no main text in time for %d of %d pages; their items have"
                " the text that was compared, or no Markdown",
                missing,
                self._extractor.main_texts,
            )

    async def close_store(self, reason: str) -> None:
        """End the run, and let go of the store.

        Raises:
            StoreError: the database failed.
        """
        self._store.count(**self._report.counts)
        await self._store.close(reason)
