"""Decide what becomes of an item: it is dropped, or goes on with the verdict on its document."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from itemadapter import ItemAdapter
from scrapy import signals

from shingling.errors import message_line, printable
from shingling.plugin.items.checking import Checker, Outcome
from shingling.plugin.items.documents import (
    Document,
    Kind,
    choose_document,
)
from shingling.plugin.middleware import close_spider
from shingling.plugin.report import DuplicatePage, UnchangedPage
from shingling.plugin.waiting import ends_within
from shingling.rules.reasons import Reason
from shingling.store.model import Verdict
from shingling.store.urls import safe_url
from shingling.text import without_marks

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.extraction.pages import Extraction
    from shingling.extraction.processes import Worker
    from shingling.plugin.middleware import ItemSource
    from shingling.plugin.report import Report
    from shingling.plugin.settings import DedupSettings

logger = logging.getLogger(__name__)

_MAX_LOST = 5  # items in a row that say the same, and that a later pipeline drops
_NEVER_LOGGED = 1  # level
_MAX_LOST_URLS = 1000


@dataclass
class Delivery:
    """An item on its way from its verdict through the later pipelines.

    Args:
        url: of its document.
        is_known: whether its document stays in the store if it is lost: an item of it has come out
            of an earlier crawl, or its page has others.
        is_one_of_many: whether its page has several items, for which nothing waits.
        has_come_out: whether what it says comes out of this one.
        is_kept: whether it goes on to the later pipelines; until then, it may wait for another one.
    """

    url: str
    is_known: bool
    is_one_of_many: bool
    has_come_out: asyncio.Future[bool]
    is_kept: bool = False


_current: ContextVar[Delivery | None] = ContextVar("current", default=None)
"""The item that the pipelines work on."""


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
        self._deliveries = Deliveries(crawler, self.checker)
        # URLs that documents of a response have brought.
        self._urls: WeakKeyDictionary[Response, set[str]] = WeakKeyDictionary()
        # Of these, those whose URL is made of their text, and what the first of each repeats.
        self._parts: WeakKeyDictionary[Response, dict[str, str | None]] = WeakKeyDictionary()
        self._closing: asyncio.Task[None] | None = None

    async def decide(self, item: Any, source: ItemSource | None) -> Any:
        """Drop an item whose document is a duplicate, or let it go on with its result.

        Args:
            item: of any class that itemadapter knows; any other object is kept.
            source: where it came from; None if that is not known.

        Raises:
            DuplicatePage: the item is dropped.
        """
        self._deliveries.forget_last()
        response = None if source is None else source.response
        try:
            document = self._document_of(item, source)
            outcome = await self._outcome_of(document, response)
        except Exception as error:  # an item is never lost because this plugin failed
            self._fail(error, response)
            verdict = Verdict("skipped", reason=Reason.ERROR)
            self._tag(item, {**verdict.as_dict(), "error": _line(error)})
            return item
        log_level = "DEBUG" if self._settings.debug else _NEVER_LOGGED
        is_unchanged = self._drops_unchanged(document, outcome.verdict)
        self._deliveries.settle(is_kept=not (is_unchanged or outcome.verdict.is_duplicate))
        if self._drops(document, outcome.verdict):
            self._report.dropped(outcome.verdict, outcome.url)
            raise DuplicatePage(outcome.verdict, log_level)
        if is_unchanged:
            self._report.dropped_unchanged(outcome.verdict, outcome.url)
            raise UnchangedPage(f"unchanged: {outcome.url}", log_level=log_level)  # type: ignore[arg-type]  # a name will do
        return await self._keep(item, document, outcome, response)

    def _document_of(self, item: Any, source: ItemSource | None) -> Document | Reason:
        if not ItemAdapter.is_item(item):
            return Reason.NO_ITEM
        urls: set[str] = set()
        if source is not None and source.response is not None:
            urls = self._urls.setdefault(source.response, urls)
        document = choose_document(item, source, self._settings, urls, self._report.began)
        self._report.named_fields.look_at(ItemAdapter(item).field_names())
        if source is None and isinstance(document, Reason):
            self._report.log_once(
                "unknown response",
                f"The response of an item ({_class_name(item)}) is not known, because an errback"
                " has yielded it or another spider middleware has replaced it. Such items are kept,"
                " and compared only by a text of their own (DEDUP_TEXT_FIELD).",
            )
        return document

    async def _outcome_of(self, document: Document | Reason, response: Response | None) -> Outcome:
        """Decide a document; decide it again if the item that says the same has been lost."""
        if isinstance(document, Reason):
            verdict = Verdict("skipped", reason=document)
            self._report.decided(verdict, None)
            return Outcome(verdict, "" if response is None else safe_url(response.url))
        outcome = await self.checker.check(document, response)
        may_repeat = True
        if document.url is None and response is not None:
            # Parts of one response that say the same are two of a thing: both come out, or none.
            parts = self._parts.setdefault(response, {})
            may_repeat = outcome.url not in parts
            repeats = parts.setdefault(outcome.url, outcome.verdict.repeats)
            outcome = outcome.with_verdict(repeats=repeats)
        before = self._deliveries.last(outcome.url)
        if outcome.verdict.page_id is not None:
            self._deliveries.begin(outcome, is_one_of_many=_is_list(document))
        for _ in range(_MAX_LOST):
            verdict = outcome.verdict
            if self._drops(document, verdict):
                original = self._deliveries.last(verdict.original or "")
                if original is None or original.is_known or await self._comes_out(original):
                    return outcome
            elif may_repeat and verdict.repeats == "crawl" and not verdict.is_duplicate:
                if before is None or await self._comes_out(before):
                    return outcome.with_verdict(original=outcome.url, reason=Reason.REPEATED)
            else:
                return outcome
            outcome = await self.checker.check(document, response, again=True)
            if outcome.verdict.status == "unchanged":
                before = self._deliveries.last(outcome.url)
                is_out_or_kept = before is None or before.is_kept
                if _is_list(document) or not is_out_or_kept:  # it was stored by its own verdict
                    status = verdict.status if verdict.status == "unchanged" else "new"
                    outcome = outcome.with_verdict(status=status, repeats=None)
        return outcome.with_verdict(original=None, repeats=None)

    async def _comes_out(self, delivery: Delivery) -> bool:
        """Wait for the end of a delivery; one that takes too long counts as one that comes out."""
        has_come_out = delivery.has_come_out
        return not await ends_within(has_come_out, self._settings.timeout) or has_come_out.result()

    def _drops(self, document: Document | Reason, verdict: Verdict) -> bool:
        """Whether the item of a document is dropped because the verdict calls it a duplicate."""
        return self._action == "drop" and verdict.is_duplicate and self._may_drop(document)

    def _drops_unchanged(self, document: Document | Reason, verdict: Verdict) -> bool:
        """Whether the item of a document is dropped because it says nothing new of its URL."""
        is_wanted = self._settings.drop_unchanged and self._action != "observe"
        return is_wanted and verdict.repeats is not None and self._may_drop(document)

    def _may_drop(self, document: Document | Reason) -> bool:
        return not _is_list(document) or self._settings.multi_item_pages == "drop"

    async def _keep(
        self,
        item: Any,
        document: Document | Reason,
        outcome: Outcome,
        response: Response | None,
    ) -> Any:
        """Let an item go on to the later pipelines, filled and tagged as the settings say."""
        verdict, result = outcome.verdict, outcome.verdict.as_dict()
        if _is_list(document):
            self._explain_lists(outcome.url)
            result["reason"] = result["reason"] or Reason.LIST.value
            result["duplicate"] &= self._settings.multi_item_pages == "drop"
        elif isinstance(document, Document):
            await self._fill(item, document, outcome.extraction, response)
        is_tagged = self._action == "tag" and result["duplicate"]
        self._report.kept(verdict, outcome.url, is_tagged=is_tagged)
        self._tag(item, result)
        return item

    async def _fill(
        self, item: Any, document: Document, extraction: Extraction, response: Response | None
    ) -> None:
        """Put what was extracted into empty fields; only here is the main text asked for."""
        adapter = ItemAdapter(item)
        for name in self._settings.fill_fields:
            if name not in adapter.field_names() or adapter.get(name):
                continue
            if name in ("text", "markdown"):
                extractor, _ = await self.checker.opened()
                value = await extractor.main_text(name, document, response, extraction)
            elif name == "compared_text":
                value = extraction.text
            else:
                value = getattr(extraction, name)
            self._put(item, name, value and without_marks(value))

    def _tag(self, item: Any, result: dict[str, Any]) -> None:
        """Put the result into the item: always with `tag`, if declared with `drop`.

        An item may have fields for single values instead, such as `dedup_status`.
        """
        if self._action == "observe" or not ItemAdapter.is_item(item):
            return
        field, names = self._settings.result_field, ItemAdapter(item).field_names()
        values = {f"{field}_{key}": value for key, value in result.items()}
        plain = [name for name in values if name in names]
        for name in plain:
            self._put(item, name, values[name])
        if field in names or (self._action == "tag" and not plain):
            self._put(item, field, result)

    def _put(self, item: Any, field: str, value: Any) -> None:
        """Set a field; an item that does not take it is kept, with one warning for its class."""
        try:
            ItemAdapter(item)[field] = value
        except Exception as error:  # undeclared, frozen, or refused by the class's own checks
            name = _class_name(item)
            self._crawler.stats.inc_value("dedup/errors/result_field")
            self._report.log_once(
                f"{name} {field}",
                f"{name} does not take the field {field!r} ({_line(error)}): declare it, or set"
                " DEDUP_RESULT_FIELD. Its items are kept without it.",
            )

    def _explain_lists(self, url: str) -> None:
        if self._action == "drop" and self._settings.multi_item_pages == "keep":
            self._report.log_once(
                "lists",
                f"A response ({url[:500]}) has several items without a text of their own. Such"
                " items are kept, even if their page is a duplicate: give them a text"
                " (DEDUP_TEXT_FIELD) to compare each by itself, or set DEDUP_MULTI_ITEM_PAGES ="
                ' "drop" to drop all items of a page that is a duplicate.',
            )

    def _fail(self, error: Exception, response: Response | None) -> None:
        """Count and log an error of dedup itself, and close the crawl if that is wanted."""
        added = self._report.failed(error)
        logger.log(
            logging.DEBUG if added is None else logging.ERROR,
            "Dedup failed%s, the item is kept: %s%s",
            f" for {safe_url(response.url)[:500]}" if response else "",
            _line(error),
            added or "",
            extra={"spider": self._crawler.spider},
        )
        if self._settings.on_error == "close" and self._closing is None:
            # Not awaited: the crawl waits for this very item before it closes.
            self._closing = asyncio.create_task(close_spider(self._crawler))


class Deliveries:
    """Whether what items say comes out of the pipelines behind this one.

    A later pipeline may drop the item of an original, because a field is missing for instance. A
    copy of it that is complete must not be lost with it: such an original is withdrawn from the
    store, and a duplicate waits until it is known whether the item of its original has come out.
    If an item of the original has come out of an earlier crawl, only the same page waits so.

    An item has a delivery from the moment of its verdict on, before it waits itself: whatever is
    decided later finds it.

    Args:
        crawler: whose items they are.
        checker: is told what has not come out, and withdraws the document of a URL.
    """

    def __init__(self, crawler: Crawler, checker: Checker) -> None:
        self._checker = checker
        self._under_way: dict[str, Delivery] = {}  # the last one of each URL
        self._lost: dict[str, Delivery] = {}  # the last ones, for verdicts that are older
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(self._item_ended, signal=signal)

    def last(self, url: str) -> Delivery | None:
        """Last delivery of an item of a URL; None if there was none, or it has come out."""
        return self._under_way.get(url) or self._lost.get(url)

    def begin(self, outcome: Outcome, *, is_one_of_many: bool) -> None:
        """Begin the delivery of the item that the pipelines work on."""
        is_known = is_one_of_many or outcome.verdict.repeats == "store"
        future = asyncio.get_running_loop().create_future()
        delivery = Delivery(outcome.url, is_known, is_one_of_many, future)
        if not is_one_of_many:
            self._under_way[outcome.url] = delivery
            self._lost.pop(outcome.url, None)
        _current.set(delivery)

    def forget_last(self) -> None:
        """Note that an item without such a document comes: signals are not about the last one."""
        _current.set(None)

    def settle(self, *, is_kept: bool) -> None:
        """Let the item go on, or end its delivery if what it says comes out with another one."""
        delivery = _current.get()
        if delivery is not None and is_kept:
            delivery.is_kept = True
        elif delivery is not None:
            self._end(delivery, came_out=True)

    async def _item_ended(self, signal: object) -> None:
        """Note what has become of an item, and withdraw the document of one that was lost."""
        delivery = _current.get()
        if delivery is None or delivery.has_come_out.done():
            return
        came_out = signal is signals.item_scraped
        try:
            if not came_out:
                checker = self._checker
                await (checker.take_back if delivery.is_known else checker.withdraw)(delivery.url)
        finally:
            self._end(delivery, came_out=came_out)

    def _end(self, delivery: Delivery, *, came_out: bool) -> None:
        delivery.has_come_out.set_result(came_out)
        if delivery.is_one_of_many:
            return
        self._lost.pop(delivery.url, None)  # this one has taken its place
        if not came_out:
            self._lost[delivery.url] = delivery
            if len(self._lost) > _MAX_LOST_URLS:
                del self._lost[next(iter(self._lost))]
        if self._under_way.get(delivery.url) is delivery:
            del self._under_way[delivery.url]


def _is_list(document: Document | Reason) -> bool:
    return isinstance(document, Document) and document.kind is Kind.LIST


def _class_name(item: Any) -> str:
    return printable(f"{type(item).__module__}.{type(item).__qualname__}")


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {message_line(lines[0])[:300] if lines else ''}"
