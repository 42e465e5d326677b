"""The item pipeline: drops or tags items whose page is a duplicate."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.asyncio import is_asyncio_available
from w3lib.encoding import http_content_type_encoding

from shingling.errors import SettingsError, ShinglingError
from shingling.plugin.carrier import ResponseCarrier
from shingling.plugin.readings import Readings
from shingling.plugin.settings import DedupSettings
from shingling.plugin.store_thread import StoreThread
from shingling.plugin.workers import ReadingPool
from shingling.reading import Content, Reader, Reading
from shingling.similarity import FEW_WORDS
from shingling.sketch import Signature
from shingling.store import Page, Verdict, safe_url, site_of
from shingling.text import sniff_html

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

_NOT_MODIFIED = "not_modified"


class DuplicatePage(DropItem):
    """An item was dropped because its page is a duplicate.

    Scrapy counts it as `item_dropped_reasons_count/DuplicatePage` and logs it at DEBUG.
    """

    def __init__(self, verdict: Verdict) -> None:
        alike = "" if verdict.resemblance is None else f" (resemblance {verdict.resemblance:.2f})"
        super().__init__(f"duplicate of {verdict.original}{alike}", log_level="DEBUG")
        self.verdict = verdict


@dataclass(frozen=True)
class _Outcome:
    verdict: Verdict
    reading: Reading = field(default_factory=Reading)


class DedupPipeline:
    """Decides the page of every item against the signature store."""

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._store: StoreThread | None = None
        self._pool: ReadingPool | None = None
        self._readings: Readings | None = None
        # Items of one response share a verdict: one task for each of its URLs.
        self._tasks: WeakKeyDictionary[Response, dict[str, asyncio.Task[_Outcome]]]
        self._tasks = WeakKeyDictionary()
        self._refused: set[tuple[type, str]] = set()
        self._turn: asyncio.Future[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the pipeline of a crawl.

        Raises:
            SettingsError: a `DEDUP_*` setting is not accepted.
            NotConfigured: `DEDUP_ENABLED` is False.
        """
        try:
            settings = DedupSettings.read(crawler.settings)
            if settings.enabled and not is_asyncio_available():
                raise SettingsError(
                    "scrapy-shingling needs asyncio: leave TWISTED_REACTOR at its default,"
                    " or set TWISTED_REACTOR_ENABLED = False"
                )
        except SettingsError as error:
            logger.error("%s", error)
            raise
        if not settings.enabled:
            raise NotConfigured
        pipeline = cls(crawler, settings)
        crawler.signals.connect(pipeline._spider_closed, signal=signals.spider_closed)
        return pipeline

    async def open_spider(self) -> None:
        """Open the store and start the workers.

        Raises:
            StoreError, SchemeError, BandingError: the store cannot be used with these
                settings; the crawl does not start.
        """
        settings = self._settings
        store = StoreThread(settings)
        spider = self._crawler.spider
        try:
            await store.open(
                spider.name if spider else "",
                {"action": settings.action, **settings.shown()},
            )
        except ShinglingError as error:
            logger.error("%s", error)
            raise
        self._store = store
        reader = Reader(settings.scheme, settings.extractor, settings.max_bytes)
        self._pool = ReadingPool(reader, settings.workers, settings.timeout)
        # What the store knows of a body is its text, which it may be told not to keep.
        self._readings = Readings(reader, self._pool, store if settings.store_text else None)

    async def close_spider(self) -> None:
        """End the workers, and write the last stats."""
        if self._store is None or self._pool is None or self._readings is None:
            return
        await asyncio.to_thread(self._pool.close)
        stats = self._crawler.stats
        stats.set_value("dedup/known_bodies", self._readings.known)
        stats.set_value("dedup/time/read", round(self._pool.seconds, 3))
        stats.set_value("dedup/time/store", round(self._store.seconds, 3))
        stats.set_value("dedup/batches", self._store.batches)
        if self._store.full_keys:
            stats.set_value("dedup/full_keys", self._store.full_keys)
        counted = {
            name: stats.get_value(f"dedup/{name}", 0)
            for name in ("checked", "new", "exact", "near", "unchanged", "changed")
        }
        shown = ", ".join(f"{number} {name}" for name, number in counted.items())
        logger.info("Dedup: %s pages", shown, extra={"spider": self._crawler.spider})

    async def _spider_closed(self, reason: str) -> None:
        """End the run; pipelines are not told why a crawl ends, signal handlers are."""
        if self._store is None:
            return
        try:
            await self._store.close(reason)
        except ShinglingError as error:
            logger.error("Dedup could not record the end of the run: %s", error)

    async def process_item(self, item: Any) -> Any:
        """Drop or tag an item by the verdict on its page.

        Raises:
            DuplicatePage: the page is a duplicate, and `DEDUP_ACTION` is `drop`.
        """
        carrier = self._crawler.get_spider_middleware(ResponseCarrier)
        response = carrier.take(item) if carrier else None
        try:
            outcome = await self._outcome(ItemAdapter(item), response)
        except Exception as error:  # an item is never lost because this plugin failed
            self._report(error, response)
            self._tag(item, {**Verdict("skipped", reason="error").as_dict(), "error": _line(error)})
            if self._settings.on_error == "close":
                self._close_crawl()
            return item
        self._fill(item, outcome.reading)
        if self._settings.action == "drop" and outcome.verdict.is_duplicate:
            raise DuplicatePage(outcome.verdict)
        self._tag(item, outcome.verdict.as_dict())
        return item

    async def _outcome(self, adapter: ItemAdapter, response: Response | None) -> _Outcome:
        url = adapter.get(self._settings.url_field) or (response.url if response else None)
        if not isinstance(url, str):
            return self._count(_Outcome(Verdict("skipped", reason="no_url")))
        if response is None:
            return await self._check(url, self._content(adapter, None, url))
        tasks = self._tasks.setdefault(response, {})
        if url not in tasks:
            opted_out = response.request is not None and response.meta.get("dedup") is False
            tasks[url] = asyncio.create_task(
                self._check(
                    url, "opted_out" if opted_out else self._content(adapter, response, url)
                )
            )
        return await asyncio.shield(tasks[url])

    def _content(self, adapter: ItemAdapter, response: Response | None, url: str) -> Content | str:
        """Return what is compared (text field, HTML field, response), or why there is nothing."""
        text = adapter.get(self._settings.text_field)
        if isinstance(text, str) and text.strip():
            return Content(text, is_html=False, url=url)
        html = adapter.get(self._settings.html_field)
        if isinstance(html, (str, bytes)) and html.strip():
            return Content(html, is_html=True, url=url)
        if response is None:
            return "no_content"
        if response.status == HTTPStatus.NOT_MODIFIED:
            return _NOT_MODIFIED
        if not response.body:
            return "no_main_text"
        if len(response.body) > self._settings.max_bytes:
            return "too_large"
        if not _is_html(response):
            return "not_html"
        kind = response.headers.get("Content-Type", b"") or b""
        encoding = http_content_type_encoding(kind.decode("latin-1"))
        return Content(response.body, is_html=True, url=response.url, encoding=encoding)

    async def _check(self, url: str, content: Content | str) -> _Outcome:
        """Read and decide one page; a str says why it is skipped.

        Pages are read side by side, and decided in the order in which they came: verdicts do
        not depend on the number of workers.
        """
        assert self._store is not None
        before, self._turn = self._turn, asyncio.get_running_loop().create_future()
        turn = self._turn
        scope = self._scope(url)
        self._store.expected += 1
        try:
            reading, body_key = await self._read(content, url, scope)
        finally:
            if before is not None:
                await before
            turn.set_result(None)
            # The last step before `check`, which is called without another await in between.
            self._store.expected -= 1
        signature = Signature.from_bytes(reading.signature) if reading.signature else None
        if signature is not None and "simhash" in self._settings.method:
            self._look_at_length(signature.words)
        page = Page(
            url=url,
            text=reading.text,
            signature=signature,
            title=reading.title,
            language=reading.language,
            scope=scope,
            reason=reading.reason,
            body_key=body_key,
        )
        return self._count(_Outcome(await self._store.check(page), reading))

    def _look_at_length(self, words: int) -> None:
        """Count texts that are short for a SimHash, and say so once."""
        if words >= FEW_WORDS:
            return
        if not self._crawler.stats.get_value("dedup/short_for_simhash"):
            logger.warning(
                "DEDUP_METHOD = %r misses many near-duplicates among texts of fewer than %d"
                " words, such as one of %d here; dedup/short_for_simhash counts them",
                self._settings.method,
                FEW_WORDS,
                words,
                extra={"spider": self._crawler.spider},
            )
        self._crawler.stats.inc_value("dedup/short_for_simhash")

    async def _read(
        self, content: Content | str, url: str, scope: str
    ) -> tuple[Reading, bytes | None]:
        """Return what is in a content, and the key of its body where it is to be stored."""
        assert self._readings is not None
        assert self._store is not None
        if isinstance(content, Content):
            return await self._readings.read(content, safe_url(url), scope)
        if content == _NOT_MODIFIED:
            page = await self._store.as_read(url, scope)
            if page is not None and page.signature is not None:
                signature = page.signature.to_bytes()
                return Reading(page.text, page.title, page.language, signature), None
        return Reading(reason=content), None

    def _scope(self, url: str) -> str:
        if self._settings.scope == "site":
            return site_of(safe_url(url))
        if self._settings.scope == "spider" and self._crawler.spider is not None:
            return self._crawler.spider.name
        return ""

    def _count(self, outcome: _Outcome) -> _Outcome:
        stats = self._crawler.stats
        verdict = outcome.verdict
        stats.inc_value("dedup/checked")
        if verdict.status == "skipped":
            stats.inc_value(f"dedup/skipped/{verdict.reason}")
        else:
            stats.inc_value(f"dedup/{verdict.status}")
        if verdict.reason == "piece":
            stats.inc_value("dedup/pieces")
        if verdict.contains is not None:
            stats.inc_value("dedup/contains")
        stats.inc_value("dedup/candidates", verdict.candidates)
        return outcome

    def _fill(self, item: Any, reading: Reading) -> None:
        adapter = ItemAdapter(item)
        for name in self._settings.fill_fields:
            if name in adapter.field_names() and not adapter.get(name):
                self._put(item, name, getattr(reading, name))

    def _tag(self, item: Any, result: dict[str, Any]) -> None:
        """Put the result into the item: always with `tag`, where declared with `drop`."""
        if self._settings.action == "observe" or not ItemAdapter.is_item(item):
            return
        field = self._settings.result_field
        if self._settings.action == "tag" or field in ItemAdapter(item).field_names():
            self._put(item, field, result)

    def _put(self, item: Any, field: str, value: Any) -> None:
        """Set a field; an item that does not take it is kept, with one warning for its class."""
        try:
            ItemAdapter(item)[field] = value
        except Exception as error:  # undeclared, frozen, or refused by the class's own checks
            kind = type(item)
            self._crawler.stats.inc_value("dedup/errors/result_field")
            if (kind, field) in self._refused:
                return
            self._refused.add((kind, field))
            logger.warning(
                "%s does not take the field %r of dedup (%s): declare it, or set"
                " DEDUP_RESULT_FIELD. Its items are kept without it.",
                f"{kind.__module__}.{kind.__qualname__}",
                field,
                _line(error),
                extra={"spider": self._crawler.spider},
            )

    def _report(self, error: Exception, response: Response | None = None) -> None:
        stats = self._crawler.stats
        stats.inc_value(f"dedup/errors/{type(error).__name__}")
        logger.error(
            "Dedup failed%s, the item is kept: %s",
            f" for {safe_url(response.url)[:500]}" if response else "",
            _line(error),
            extra={"spider": self._crawler.spider},
        )

    def _close_crawl(self) -> None:
        engine = self._crawler.engine
        if self._closing is None and engine is not None and engine.spider is not None:
            # Not awaited: the crawl waits for this very item before it closes.
            self._closing = asyncio.create_task(engine.close_spider_async(reason="dedup_error"))


def _is_html(response: Response) -> bool:
    kind = response.headers.get("Content-Type") or b""
    if b"html" in kind.lower():
        return True
    return sniff_html(response.body)


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
