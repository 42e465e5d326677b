"""What becomes of an item: it is dropped, or goes on with the verdict on its document.

The first item of a crawl imports this module, and with it the store and what signs pages.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter

from shingling.plugin.checking import Checker, NotStartedError, Outcome
from shingling.plugin.delivery import Deliveries
from shingling.plugin.documents import Document, Kind, Skipped, choose_document, read_fields
from shingling.plugin.duplicate import DuplicatePage
from shingling.plugin.report import CLOSE_REASON
from shingling.store import Verdict, safe_url

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.extraction.processes import Worker
    from shingling.extraction.reader import Reading
    from shingling.plugin.middleware import Source
    from shingling.plugin.report import Report
    from shingling.plugin.settings import DedupSettings

logger = logging.getLogger(__name__)

_ATTEMPTS = 5  # originals in a row that a later pipeline may drop
_QUIET = 1  # a level of logging that is never shown


class ItemDecider:
    """Decides items by their documents.

    Args:
        crawler: whose items they are.
        settings: of the crawl.
        report: counts what becomes of them.
        action: `drop`, `tag` or `observe`.
        worker: a worker process that was started before, for the checker.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: DedupSettings,
        report: Report,
        action: str,
        worker: Worker | None,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._report = report
        self._action = action
        self.checker = Checker(crawler, settings, report, worker)
        self._deliveries = Deliveries(crawler, self.checker.withdraw, settings.timeout)
        # URLs that documents of a response have brought.
        self._urls: WeakKeyDictionary[Response, set[str]] = WeakKeyDictionary()
        self._closing: asyncio.Task[None] | None = None

    async def decide(self, item: Any, source: Source | None) -> Any:
        """Return the item with its result, or drop it.

        Raises:
            DuplicatePage: its document is a duplicate, and it is to be dropped.
        """
        response = None if source is None else source.response
        self._deliveries.forget_last()
        try:
            document = self._document(item, source)
            outcome = await self._decide(document, response)
            is_list = isinstance(document, Document) and document.kind is Kind.LIST
            may_drop = self._action == "drop" and (not is_list or self._settings.lists == "drop")
            for _ in range(_ATTEMPTS):
                if not may_drop or await self._original_comes_out(outcome.verdict):
                    break
                outcome = await self._decide(document, response, again=True)
        except Exception as error:  # an item is never lost because this plugin failed
            self._fail(error, response)
            self._tag(item, {**Verdict("skipped", reason="error").as_dict(), "error": _line(error)})
            return item

        verdict, result = outcome.verdict, outcome.verdict.as_dict()
        if verdict.is_duplicate and may_drop:
            self._report.dropped(verdict, outcome.url)
            raise DuplicatePage(verdict, "DEBUG" if self._settings.debug else _QUIET)

        self._report.kept(verdict)
        if is_list:
            self._explain_lists(outcome.url)
            result["reason"] = result["reason"] or "list"
        else:
            self._fill(item, outcome.reading)
            if verdict.status in ("new", "changed") and not verdict.is_duplicate:
                self._deliveries.begin(outcome.url)
        self._tag(item, result)
        return item

    async def _original_comes_out(self, verdict: Verdict) -> bool:
        return verdict.original is None or await self._deliveries.comes_out(verdict.original)

    def _document(self, item: Any, source: Source | None) -> Document | Skipped:
        fields = read_fields(ItemAdapter(item), self._settings)
        response = None if source is None else source.response
        if response is None:
            if source is None and not fields.has_content:
                self._explain_unknown_response(item)
            return choose_document(fields, source, set())
        if response.request is not None and response.meta.get("dedup") is False:
            return Skipped("opted_out")
        return choose_document(fields, source, self._urls.setdefault(response, set()))

    async def _decide(
        self, document: Document | Skipped, response: Response | None, *, again: bool = False
    ) -> Outcome:
        if isinstance(document, Document):
            return await self.checker.check(document, response, again=again)
        verdict = Verdict("skipped", reason=document.reason)
        self._report.decided(verdict, None)
        return Outcome(verdict, "" if response is None else response.url)

    def _fill(self, item: Any, reading: Reading) -> None:
        adapter = ItemAdapter(item)
        for name in self._settings.fill_fields:
            if name in adapter.field_names() and not adapter.get(name):
                self._put(item, name, getattr(reading, name))

    def _tag(self, item: Any, result: dict[str, Any]) -> None:
        """Put the result into the item: always with `tag`, where declared with `drop`."""
        if self._action == "observe" or not ItemAdapter.is_item(item):
            return
        field = self._settings.result_field
        if self._action == "tag" or field in ItemAdapter(item).field_names():
            self._put(item, field, result)

    def _put(self, item: Any, field: str, value: Any) -> None:
        """Set a field; an item that does not take it is kept, with one warning for its class."""
        try:
            ItemAdapter(item)[field] = value
        except Exception as error:  # undeclared, frozen, or refused by the class's own checks
            name = _class_name(item)
            self._crawler.stats.inc_value("dedup/errors/result_field")
            self._report.warn_once(
                f"{name} {field}",
                f"{name} does not take the field {field!r} of dedup ({_line(error)}): declare it,"
                " or set DEDUP_RESULT_FIELD. Its items are kept without it.",
            )

    def _explain_lists(self, url: str) -> None:
        if self._action == "drop" and self._settings.lists == "keep":
            self._report.warn_once(
                "lists",
                f"A response ({url[:500]}) has several items without a text of their own. Such"
                " items are kept, whatever the verdict on their page: give them a text"
                ' (DEDUP_TEXT_FIELD) to compare each by itself, or set DEDUP_LISTS = "drop" to'
                " drop all items of a page that is a duplicate.",
            )

    def _explain_unknown_response(self, item: Any) -> None:
        self._report.warn_once(
            "unknown response",
            f"The response of an item ({_class_name(item)}) is not known, since an errback has"
            " yielded it or another spider middleware has replaced it. Such items are kept, and"
            " compared only by a text of their own (DEDUP_TEXT_FIELD).",
        )

    def _fail(self, error: Exception, response: Response | None) -> None:
        """Count and log an error of dedup itself, and close the crawl where that is wanted."""
        self._report.failed(error)
        if isinstance(error, NotStartedError):
            self._report.error_once(str(error))
            self._close_crawl()
            return
        logger.error(
            "Dedup failed%s, the item is kept: %s",
            f" for {safe_url(response.url)[:500]}" if response else "",
            _line(error),
            extra={"spider": self._crawler.spider},
        )
        if self._settings.on_error == "close":
            self._close_crawl()

    def _close_crawl(self) -> None:
        engine = self._crawler.engine
        if self._closing is None and engine is not None and engine.spider is not None:
            # Not awaited: the crawl waits for this very item before it closes.
            self._closing = asyncio.create_task(engine.close_spider_async(reason=CLOSE_REASON))


def _class_name(item: Any) -> str:
    return f"{type(item).__module__}.{type(item).__qualname__}"


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"
