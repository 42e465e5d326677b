"""The log and stats of a crawl: a line at its start, one at its end, warnings, counts, drops."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import DropItem

from shingling.errors import PageError, StoreError, printable, shortened
from shingling.kernel import COMPILED
from shingling.plugin.named_fields import NamedFields
from shingling.rules import METHODS, MIN_WORDS_FOR_SIMHASH
from shingling.rules.reasons import KEEPING, REJECTING, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from shingling.plugin.settings import DedupSettings
    from shingling.store.model import Verdict

logger = logging.getLogger(__name__)

_MAX_NAMES = 10  # of fields, in one line
_KEPT_STATUSES = ("new", "unchanged", "changed")
_MUCH = 0.5  # of the items of a crawl: dropped, or skipped for the same reason
_LEAST_ITEMS = 20  # of a crawl, so that the share of those dropped says something
_MANY = 20  # items of one site that are dropped for one original
_MAX_ORIGINALS = 10_000  # that are counted
_MAX_EXAMPLES = 3
_MAX_URL, _MAX_LINE = 500, 100  # characters shown
_MAX_LINES = 5  # that move, in one line of the log
_SERIES = 5  # near-duplicates of one original whose words are others in the same line
_MOVING_LINES = (
    ("did not count as changed, because", "If such a line is what a page is about", "count"),
    ("came out again, although", "If such lines say nothing", "ignore"),
)
_TAKING_PLACES = (Reason.ORIGINAL_MISSING, Reason.PREFERRED_SITE)


class DuplicatePage(DropItem):
    """An item was dropped because its document is a duplicate.

    Scrapy counts it as `item_dropped_reasons_count/DuplicatePage`.

    Args:
        verdict: on the document.
        log_level: at which Scrapy logs it, with the item.
    """

    def __init__(self, verdict: Verdict, log_level: str | int = "DEBUG") -> None:
        super().__init__(describe_duplicate(verdict), log_level=log_level)  # type: ignore[arg-type]  # a name will do
        self.verdict = verdict


class UnchangedPage(DropItem):
    """An item was dropped because its page, with the same data, is in the store already.

    Scrapy counts it as `item_dropped_reasons_count/UnchangedPage`.
    """


def describe_duplicate(verdict: Verdict) -> str:
    """Say of what a document is a duplicate: never what is in it."""
    if verdict.reason == Reason.REPEATED:
        return "it was met before in this crawl, with the same text and data"
    kind = "piece" if verdict.reason == Reason.PIECE else "duplicate"
    if verdict.resemblance is None:
        return f"{kind} of {verdict.original}"
    measured = f"resemblance {verdict.resemblance:.2f}"
    if kind == "piece":
        measured = f"containment {verdict.containment or 0.0:.2f}, {measured}"
    return f"{kind} of {verdict.original} ({measured})"


class Report:
    """Counts what becomes of items and documents, and logs it.

    Args:
        crawler: whose stats and log.
        settings: of the crawl.

    Attributes:
        began: when the crawl began, seconds since 1970.
        named_fields: looks for the fields of items that settings name.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.began = time.time()
        self._crawler = crawler
        self._settings = settings
        # Items that came out, were tagged or dropped, by names for the counts of the run.
        self._counts = Counter[str]()
        crawler.signals.connect(self._note_came_out, signals.item_scraped)
        self._items = Counter[str]()  # by status, "dropped", "kept for a reason" and "error"
        self._kept = Counter[Reason]()  # items that say more than an original, by reason
        self._known_duplicates = 0  # unchanged items that go on
        self._skipped = Counter[Reason]()  # items by reason
        self._dropped = Counter[str]()  # items by status, or "repeated"
        self._originals_missing = 0  # known duplicates that were kept because of that
        self._fields = Counter[str]()  # items by the names of fields that kept them
        # Dropped items by the names of fields in which originals on other sites say something else.
        self._fields_across = Counter[str]()
        self._changed = Counter[str]()  # items with the text of before, by fields that have changed
        self._dropped_for = Counter[tuple[str, str]]()  # by original, and site of the item
        self._first_drops: list[str] = []
        self._first_kept = ""  # for its own text, with what it says
        self._same_line = Counter[tuple[str, str]]()  # dropped: by original, and its line
        self._says_there: dict[tuple[str, str], str] = {}  # the last one of these
        self._moving = Counter[str]()  # items of pages that changed in lines that move, by status
        self._moving_lines: dict[str, str] = {}  # the first one of each kind
        self._logged: set[str] = set()
        self._store_error = ""  # of the last page, unless one has been decided since
        self.named_fields = NamedFields(settings, self.log_once)

    def _log(self, message: str, level: int = logging.INFO) -> None:
        logger.log(level, "%s", message, extra={"spider": self._crawler.spider})

    def start(self) -> None:
        """Say how the crawl is deduplicated."""
        settings = self._settings
        rules = settings.rules
        decided = f"method {rules.method}"
        if METHODS[rules.method].threshold:
            decided += f", threshold {rules.threshold:g}"
        self._log(
            f"Dedup: store {settings.store_url_without_password}, action {settings.action},"
            f" {decided}",
        )
        workers = f"{settings.workers} worker processes at most" if settings.workers else "a thread"
        self._log(
            f"Dedup: pages extracted in {workers}, {'compiled' if COMPILED else 'NumPy'} signing",
            logging.DEBUG,
        )
        if not rules.store_text and rules.own_text != "ignore":
            self._log(
                "Dedup: texts are not kept (DEDUP_STORE_TEXT = False), so what pages say of their"
                " own is not known (DEDUP_OWN_TEXT): resemblance decides",
            )
        if rules.moving_lines == "ignore" and not (rules.store_text and rules.templates):
            self._log(
                'Dedup: DEDUP_MOVING_LINES = "ignore" has no effect without DEDUP_STORE_TEXT and'
                " DEDUP_TEMPLATES: which lines of a site move is not known",
            )

    def decided(self, verdict: Verdict, words: int | None) -> None:
        """Count a document in the stats.

        Args:
            verdict: on it.
            words: of its text; None if it has none.
        """
        stats = self._crawler.stats
        stats.inc_value("dedup/checked")
        if verdict.status == "skipped":
            stats.inc_value(f"dedup/skipped/{verdict.reason}")
        else:
            stats.inc_value(f"dedup/{verdict.status}")
            self._store_error = ""
        if verdict.reason == Reason.PIECE:
            stats.inc_value("dedup/pieces")
        if verdict.contains is not None:
            stats.inc_value("dedup/contains")
        if verdict.reason in _TAKING_PLACES or _kept_for(verdict):
            stats.inc_value(f"dedup/{verdict.reason}")
        if verdict.moving_lines:
            stats.inc_value("dedup/moving_lines")
        stats.inc_value("dedup/candidates", verdict.candidates)
        if (
            words is not None
            and words < MIN_WORDS_FOR_SIMHASH
            and METHODS[self._settings.rules.method].distance
        ):
            stats.inc_value("dedup/short_for_simhash")
            self.log_once(
                "short_for_simhash",
                f"DEDUP_METHOD = {self._settings.rules.method!r} misses many near-duplicates among"
                f" texts of fewer than {MIN_WORDS_FOR_SIMHASH} words, such as one of {words} here;"
                " dedup/short_for_simhash counts them",
            )

    def _note_came_out(self) -> None:
        self._counts["came_out"] += 1

    def kept(self, verdict: Verdict, url: str, *, is_tagged: bool = False) -> None:
        """Count an item that goes on.

        Args:
            verdict: on its document.
            url: of the document.
            is_tagged: whether its result says that it is a duplicate.
        """
        self._note_moving(verdict)
        self._counts["duplicate_items"] += is_tagged
        self._originals_missing += verdict.reason == Reason.ORIGINAL_MISSING
        if reason := _kept_for(verdict):
            self._items["kept for a reason"] += 1
            self._kept[reason] += 1
            if reason == Reason.OTHER_FIELDS:
                self._fields.update(verdict.fields)
            elif verdict.own_text and not self._first_kept:
                difference = _said(verdict.own_text, verdict.original or "")
                self._first_kept = f", such as {url[:_MAX_URL]}: {difference}"
            return
        self._items[verdict.status] += 1
        if verdict.status == "changed" and verdict.previous is None:
            self._changed.update(verdict.fields)
        self._known_duplicates += verdict.status == "unchanged" and verdict.is_duplicate
        if verdict.status == "skipped" and verdict.reason is not None:
            self._skipped[verdict.reason] += 1

    def dropped(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped, and log the first one.

        Args:
            verdict: on its document.
            url: of the document.
        """
        from shingling.store.urls import site_of  # it takes long, and a crawl may have no items

        described = describe_duplicate(verdict)
        is_repeated = verdict.reason == Reason.REPEATED
        self._counts["dropped_repeated" if is_repeated else "duplicate_items"] += 1
        self._drop(url, described, str(verdict.reason if is_repeated else verdict.status))
        original, site = verdict.original or "", site_of(url)
        if (original, site) in self._dropped_for or len(self._dropped_for) < _MAX_ORIGINALS:
            self._dropped_for[original, site] += 1
        line, there = verdict.own_text or ("", "")
        if there and len(self._same_line) < _MAX_ORIGINALS:
            self._same_line[original, there] += 1
            self._says_there[original, there] = line
        if len(self._first_drops) < _MAX_EXAMPLES:
            fields = ", ".join(map(printable, verdict.fields[:_MAX_NAMES])) or "none"
            self._first_drops.append(f"{url[:_MAX_URL]}: {described}; fields that differ: {fields}")
        for preferred in self._settings.rules.prefer_sites:
            if site.endswith(f".{preferred}"):
                self.log_once(
                    f"sub-domain {site}",
                    f"DEDUP_PREFER_SITES names {preferred}, not its sub-domain {site}, whose items"
                    " are dropped as duplicates",
                )
        if verdict.fields and site != site_of(original):
            self._fields_across.update(verdict.fields)

    def dropped_unchanged(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped by `DEDUP_DROP_UNCHANGED`, and log the first one.

        Args:
            verdict: on its document.
            url: of the document.
        """
        self._note_moving(verdict)
        self._counts["dropped_unchanged"] += 1
        self._drop(url, "unchanged", "unchanged")

    def _note_moving(self, verdict: Verdict) -> None:
        """Count an item whose page has changed in lines that move alone."""
        if not verdict.moving_lines:
            return
        from shingling.text.prepared import mask_numbers  # few crawls need it

        self._moving[verdict.status] += 1
        for line in verdict.moving_lines:
            if len(self._moving_lines) < _MAX_LINES:
                self._moving_lines.setdefault(mask_numbers(line), shortened(line, _MAX_LINE))

    def _drop(self, url: str, described: str, counted: str) -> None:
        if not self._dropped and not self._settings.debug:
            self._log(
                f"Dropped the item of {url[:_MAX_URL]}: {described} (no more drops"
                " are logged; DEDUP_DEBUG = True logs all)",
            )
        self._items["dropped"] += 1
        self._dropped[counted] += 1
        self._crawler.stats.inc_value("dedup/dropped")
        self._crawler.stats.inc_value(f"dedup/dropped/{counted}")

    def failed(self, error: Exception) -> str | None:
        """Count an item that is kept because dedup failed on it.

        Returns:
            What the log is to add to the error; None if it has this error of the store already.
        """
        self._items["error"] += 1
        counted = f"dedup/errors/{type(error).__name__}"
        self._crawler.stats.inc_value(counted)
        if not isinstance(error, StoreError) or isinstance(error, PageError):
            return ""
        before, self._store_error = self._store_error, str(error)
        if before == self._store_error:
            return None
        return f" (until a page is decided again, others are logged at DEBUG: {counted})"

    def log_once(self, about: str, message: str) -> None:
        """Warn of something, the first time."""
        if about not in self._logged:
            self._logged.add(about)
            self._log(message, logging.WARNING)

    @property
    def counts(self) -> dict[str, int]:
        """What became of the items, by names for the counts of the run."""
        return {
            "items": self._items.total(),
            **self._counts,
            **{f"kept_{reason}": number for reason, number in self._kept.items()},
            **{f"skipped_{reason}": number for reason, number in self._skipped.items()},
        }

    def end(self) -> None:
        """Log what became of the items, and warn if dedup had hardly anything to compare."""
        total = self._items.total()
        parts = [f"{self._items['dropped']} dropped{_listed(self._dropped)}"]
        parts += [f"{self._items[status]} {status}" for status in _KEPT_STATUSES]
        if self._known_duplicates:
            parts[2] += f" (of these, {_counted(self._known_duplicates, 'duplicate')})"
        if duplicates := self._items["exact"] + self._items["near"]:
            parts.append(f"{_counted(duplicates, 'duplicate')} kept")
        if self._kept:
            parts.append(f"{self._kept.total()} kept for a reason{_listed(self._kept)}")
        parts.append(f"{self._items['skipped']} skipped{_listed(self._skipped)}")
        parts.append(_counted(self._items["error"], "error"))
        self._log(f"Dedup: {_counted(self._counts['came_out'], 'item')} came out")
        self._log(f"Dedup: {_counted(total, 'item')}: {', '.join(parts)}")
        if kept := self._kept[Reason.OTHER_FIELDS]:
            self._log(
                f"Dedup: {_counted(kept, 'near-duplicate')} kept because the fields differ:"
                f" {self._fields_said(self._fields)}",
            )
        if kept := self._kept[Reason.OWN_TEXT]:
            self._log(
                f"Dedup: {_counted(kept, 'near-duplicate')} kept because the text says something"
                f" of its own{self._first_kept}. To let such pages go:"
                ' DEDUP_OWN_TEXT = "ignore"',
            )
        if kept := sum(self._kept[reason] for reason in REJECTING):
            self._log(
                f"Dedup: {_counted(kept, 'near-duplicate')} kept because the titles tell other"
                " pages. If the title of the page is in another field, such as headline:"
                ' DEDUP_TITLE_FIELD = "headline". If titles tell nothing here, such as headlines'
                ' that change with each update: DEDUP_TITLES = "ignore"',
            )
        for (original, there), number in self._same_line.most_common(1):
            if number >= _SERIES:
                difference = _said((self._says_there[original, there], there), "it")
                self._log(
                    f"Dedup: {number} items dropped as near-duplicates of {original[:_MAX_URL]}"
                    f" differ from it by words in the same line: {difference}. If they are a"
                    ' series and no copies: DEDUP_OWN_TEXT = "strict"',
                )
        if self._changed:
            fields = self._fields_said(self._changed)
            self._log(f"Dedup: items have changed in their fields alone: {fields}")
        for status, number in self._moving.items():
            became, when, value = _MOVING_LINES[status == "changed"]
            lines = ", ".join(f'"{printable(line)}"' for line in self._moving_lines.values())
            self._log(
                f"Dedup: {_counted(number, 'page')} {became} only lines have changed that move from"
                f' crawl to crawl: {lines}. {when}: DEDUP_MOVING_LINES = "{value}"',
            )
        if self._fields_across:
            self._log(
                "Dedup: items were dropped as duplicates of items on other sites, although these"
                f" fields differ: {_names(self._fields_across)}. To keep items that differ in"
                f" {_first(self._fields_across)}: DEDUP_FIELDS ="
                f" {_with_first((), self._fields_across)}",
            )
        if self._originals_missing:
            self._log(
                f"Dedup: {_counted(self._originals_missing, 'known duplicate')} kept because the"
                " original was not seen in this crawl or the last one",
            )
        if what := self._dropped_too_many(total):
            advice = (
                f"Dedup dropped {what}. If some of them are no copies, keep them with"
                ' DEDUP_ACTION = "tag", or name the fields that tell them apart in DEDUP_FIELDS.'
                " The first drops of the crawl:"
            )
            self._log("\n  ".join([advice, *self._first_drops]), logging.WARNING)
        for reason, number in self._skipped.most_common(1):
            if number > _MUCH * total and reason.advice:
                advice = (
                    f"Dedup did not compare {number} of {total} items ({reason}): {reason.advice}"
                )
                self._log(advice, logging.WARNING)
        self.named_fields.tell()

    def _fields_said(self, counter: Counter[str]) -> str:
        """Name fields that have kept items, with the setting by which the first says nothing."""
        ignored = _with_first(self._settings.rules.ignore_fields, counter)
        return (
            f"{_names(counter)}. If {_first(counter)} says nothing: DEDUP_IGNORE_FIELDS = {ignored}"
        )

    def _dropped_too_many(self, items: int) -> str:
        """Say which drops are so many that some may be wrong; "" if none are."""
        for (original, site), most in self._dropped_for.most_common(1):
            if most > _MANY:
                return f"{most} items of {site} as duplicates of one page, {original[:_MAX_URL]}"
        dropped = self._items["dropped"] - self._counts["dropped_unchanged"]
        is_much = items >= _LEAST_ITEMS and dropped > _MUCH * items
        return f"{dropped} of {items} items" if is_much else ""


def _kept_for(verdict: Verdict) -> Reason | None:
    """Why a page is kept that resembles an original, if that was not known before."""
    is_kept = verdict.reason in KEEPING + REJECTING and verdict.status != "unchanged"
    return verdict.reason if is_kept else None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _said(own_text: tuple[str, str], original: str) -> str:
    from shingling.store.decided import text_said  # hardly ever does a crawl need it

    return printable(text_said(own_text, original[:_MAX_URL]))


def _first(counter: Counter[str]) -> str:
    """Name of the field that is counted most often."""
    return printable(counter.most_common(1)[0][0])


def _with_first(names: Iterable[str], counter: Counter[str]) -> str:
    """Value of a setting that names this field as well."""
    return json.dumps([*map(printable, names), _first(counter)], ensure_ascii=False)


def _names(counter: Counter[str]) -> str:
    shown = [f"{printable(name)} ({number})" for name, number in counter.most_common(_MAX_NAMES)]
    return ", ".join(shown) + (", …" if len(counter) > _MAX_NAMES else "")


def _listed(counter: Counter[str] | Counter[Reason]) -> str:
    if not counter:
        return ""
    return f" ({', '.join(f'{number} {name}' for name, number in counter.most_common())})"
