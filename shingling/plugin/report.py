"""The log and stats of a crawl: a line at its start, one at its end, warnings, counts, drops."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals
from scrapy.exceptions import DropItem

from shingling.errors import PageError, StoreError, printable, shortened
from shingling.kernel import COMPILED
from shingling.plugin.named_fields import NamedFields
from shingling.rules import (
    DEFAULT_SIMHASH_DISTANCE,
    DEFAULT_THRESHOLD,
    METHODS,
    MIN_WORDS_FOR_SIMHASH,
)
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
_TAKING_PLACES = (Reason.ORIGINAL_MISSING, Reason.PREFERRED_SITE)


class EndLine(NamedTuple):
    """A line of the log's end.

    Args:
        when: name under which `Report` counts it.
        sentence: what has happened, with the names that `Report._filled` fills in.
        setting: what can be done about it, with a setting and its value. It is left out if it is
            about a field, and no setting may name the fields that were counted.
        least: number from which on the line is logged.
        level: of the log.
    """

    when: str
    sentence: str
    setting: str = ""
    least: int = 1
    level: int = logging.INFO


_IGNORE = "If {most} nothing: DEDUP_IGNORE_FIELDS = {ignored}"
LINES = (
    EndLine(
        Reason.OTHER_FIELDS,
        "Dedup: {number} item{s} kept because the fields differ: {fields}",
        _IGNORE,
    ),
    EndLine(
        Reason.OWN_TEXT,
        "Dedup: {number} item{s} kept because the text says something of its own, such"
        " as {examples}",
        'To let such pages go: DEDUP_OWN_TEXT = "ignore"',
    ),
    EndLine(
        Reason.OTHER_TITLE,
        "Dedup: {number} item{s} kept because a page that is alike has another title",
        "If another field has the title of the page, name that one in DEDUP_TITLE_FIELD. If titles"
        ' tell nothing, such as headlines that change with each update: DEDUP_TITLES = "ignore"',
    ),
    EndLine(
        "series",
        "Dedup: {number} items dropped as near-duplicates of {examples}",
        'If they are a series and no copies: DEDUP_OWN_TEXT = "strict"',
        least=5,
    ),
    EndLine("fields changed", "Dedup: items have changed in their fields alone: {fields}", _IGNORE),
    EndLine(
        "lines moved, changed",
        "Dedup: {number} page{s} came out again, although only lines have changed that move from"
        " crawl to crawl: {examples}",
        'If such lines say nothing: DEDUP_MOVING_LINES = "ignore"',
    ),
    EndLine(
        "lines moved, unchanged",
        "Dedup: {number} page{s} did not count as changed, because only lines have changed that"
        " move from crawl to crawl: {examples}",
        'If such a line is what a page is about: DEDUP_MOVING_LINES = "count"',
    ),
    EndLine(
        "fields across sites",
        "Dedup: items were dropped as duplicates of items on other sites, although these fields"
        " differ: {fields}",
        "To keep items that differ in {field}: DEDUP_FIELDS = {named}",
    ),
    EndLine(
        Reason.ORIGINAL_MISSING,
        "Dedup: {number} known duplicate{s} kept because the original was not seen in this crawl or"
        " the last one",
    ),
    EndLine(
        "many dropped",
        "Dedup dropped {number} {examples}",
        'If some of them are no copies, keep them with DEDUP_ACTION = "tag", or name the fields'
        " that tell them apart in DEDUP_FIELDS. The first drops of the crawl:{drops}",
        level=logging.WARNING,
    ),
)
"""What the log's end says, in this order."""


@dataclass
class Told:
    """What a line of the log's end tells of: a number of items, their fields, and examples."""

    number: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)  # one of each kind

    def add(self, verdict: Verdict, examples: Iterable[tuple[str, str]] = ()) -> None:
        """Count an item, by its verdict; each example has a kind, of which the first is kept."""
        self.number += 1
        self.fields.update(map(printable, verdict.fields))
        for kind, example in examples:
            if len(self.examples) < _MAX_LINES:
                self.examples.setdefault(kind, example)


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
        counts: what became of the items, by names for the counts of the run.
        named_fields: looks for the fields of items that settings name.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.began = time.time()
        self._crawler = crawler
        self._settings = settings
        self.counts = Counter[str](items=0)
        crawler.signals.connect(self._note_came_out, signals.item_scraped)
        self._statuses = Counter[str]()  # items that went on, and were not kept for a reason
        self._dropped = Counter[str]()  # items by status, or "repeated"
        self._known_duplicates = 0  # unchanged items that go on
        self._told = defaultdict[str, Told](Told)  # by what the lines of the log's end count
        self._originals = Counter[tuple[str, ...]]()  # of dropped items, by what a line counts
        self._first_drops: list[str] = []
        self._logged: set[str] = set()
        self._store_error = ""  # of the last page, unless one has been decided since
        self.named_fields = NamedFields(settings, self.log_once)

    def _log(self, message: str, level: int = logging.INFO) -> None:
        logger.log(level, "%s", message, extra={"spider": self._crawler.spider})

    def start(self) -> None:
        """Say how the crawl is deduplicated."""
        settings = self._settings
        rules, method = settings.rules, METHODS[settings.rules.method]
        decided = f"method {rules.method}"
        if method.threshold:
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
        for name, value, default, counts in (
            ("DEDUP_THRESHOLD", rules.threshold, DEFAULT_THRESHOLD, method.threshold),
            (
                "DEDUP_SIMHASH_DISTANCE",
                rules.simhash_distance,
                DEFAULT_SIMHASH_DISTANCE,
                method.distance,
            ),
        ):
            if value != default and not counts:
                self._log(f"Dedup: {name} has no effect with DEDUP_METHOD = {rules.method!r}")
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
        self.counts["came_out"] += 1

    def kept(self, verdict: Verdict, url: str, *, is_tagged: bool = False) -> None:
        """Count an item that goes on.

        Args:
            verdict: on its document.
            url: of the document.
            is_tagged: whether its result says that it is a duplicate.
        """
        self._note_moving(verdict)
        self.counts["items"] += 1
        self.counts["duplicate_items"] += is_tagged
        if verdict.reason == Reason.ORIGINAL_MISSING:
            self._told[verdict.reason].add(verdict)
        if reason := _kept_for(verdict):
            self.counts[f"kept_{reason}"] += 1
            examples = []
            if reason == Reason.OWN_TEXT:
                difference = _said(verdict, verdict.original or "")
                examples = [("", f"{url[:_MAX_URL]}: {difference}")]
            when = Reason.OTHER_TITLE if reason in REJECTING else reason
            self._told[when].add(verdict, examples)
            return
        self._statuses[verdict.status] += 1
        if verdict.status == "skipped":
            self.counts[f"skipped_{verdict.reason}"] += 1
        if verdict.status == "changed" and verdict.previous is None and verdict.fields:
            self._told["fields changed"].add(verdict)
        self._known_duplicates += verdict.status == "unchanged" and verdict.is_duplicate

    def dropped(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped, and log the first one.

        Args:
            verdict: on its document.
            url: of the document.
        """
        from shingling.store.urls import site_of  # it takes long, and a crawl may have no items

        described = describe_duplicate(verdict)
        is_repeated = verdict.reason == Reason.REPEATED
        self.counts["dropped_repeated" if is_repeated else "duplicate_items"] += 1
        self._drop(url, described, str(verdict.reason if is_repeated else verdict.status))
        original, site = verdict.original or "", site_of(url)
        shown = original[:_MAX_URL]
        self._note_most(
            ("many dropped", original, site), f"items of {site} as duplicates of one page, {shown}"
        )
        _, there = verdict.own_text or ("", "")
        if there:
            difference = f"differ from it by words in the same line: {_said(verdict, 'it')}"
            self._note_most(("series", original, there), f"{shown} {difference}")
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
            self._told["fields across sites"].add(verdict)

    def _note_most(self, alike: tuple[str, ...], example: str) -> None:
        """Count a dropped item for a line that tells of the most items that are alike.

        Args:
            alike: what the line counts, and what the items have in common.
            example: what the line says of them.
        """
        if alike in self._originals or len(self._originals) < _MAX_ORIGINALS:
            self._originals[alike] += 1
            if self._originals[alike] >= self._told[alike[0]].number:
                self._told[alike[0]] = Told(self._originals[alike], examples={"": example})

    def dropped_unchanged(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped by `DEDUP_DROP_UNCHANGED`, and log the first one.

        Args:
            verdict: on its document.
            url: of the document.
        """
        self._note_moving(verdict)
        self.counts["dropped_unchanged"] += 1
        self._drop(url, "unchanged", "unchanged")

    def _note_moving(self, verdict: Verdict) -> None:
        """Count an item whose page has changed in lines that move alone."""
        if verdict.moving_lines:
            from shingling.text.prepared import mask_numbers  # few crawls need it

            lines = [
                (mask_numbers(line), f'"{printable(shortened(line, _MAX_LINE))}"')
                for line in verdict.moving_lines
            ]
            self._told[f"lines moved, {verdict.status}"].add(verdict, lines)

    def _drop(self, url: str, described: str, counted: str) -> None:
        if not self._dropped and not self._settings.debug:
            self._log(
                f"Dropped the item of {url[:_MAX_URL]}: {described} (no more drops"
                " are logged; DEDUP_DEBUG = True logs all)",
            )
        self.counts["items"] += 1
        self._dropped[counted] += 1
        self._crawler.stats.inc_value("dedup/dropped")
        self._crawler.stats.inc_value(f"dedup/dropped/{counted}")

    def failed(self, error: Exception) -> str | None:
        """Count an item that is kept because dedup failed on it.

        Returns:
            What the log is to add to the error; None if it has this error of the store already.
        """
        self.counts["items"] += 1
        self._statuses["error"] += 1
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

    def end(self) -> None:
        """Log what became of the items, and warn if dedup had hardly anything to compare."""
        items = self.counts["items"]
        kept, skipped = self._by_reason("kept"), self._by_reason("skipped")
        parts = [f"{self._dropped.total()} dropped{_listed(self._dropped)}"]
        parts += [f"{self._statuses[status]} {status}" for status in _KEPT_STATUSES]
        if self._known_duplicates:
            parts[2] += f" (of these, {_counted(self._known_duplicates, 'duplicate')})"
        if duplicates := self._statuses["exact"] + self._statuses["near"]:
            parts.append(f"{_counted(duplicates, 'duplicate')} kept")
        if kept:
            parts.append(f"{kept.total()} kept for a reason{_listed(kept)}")
        parts.append(f"{skipped.total()} skipped{_listed(skipped)}")
        parts.append(_counted(self._statuses["error"], "error"))
        came_out = self.counts["came_out"]
        later = self.counts["dropped_later"] = items - self._dropped.total() - came_out
        lost = f"; later pipelines dropped {later}" if later else ""
        self._log(f"Dedup: {_counted(came_out, 'item')} came out{lost}")
        self._log(f"Dedup: {_counted(items, 'item')}: {', '.join(parts)}")
        if self._told["many dropped"].number <= _MANY:
            dropped = self._dropped.total() - self.counts["dropped_unchanged"]
            is_much = items >= _LEAST_ITEMS and dropped > _MUCH * items
            self._told["many dropped"] = Told(is_much * dropped, examples={"": f"of {items} items"})
        for line in LINES:
            told = self._told[line.when]
            if told.number >= line.least:
                self._log(self._filled(line, told), line.level)
        for reason, number in skipped.most_common(1):
            if number > _MUCH * items and (advice := Reason(reason).advice):
                self._log(
                    f"Dedup did not compare {number} of {items} items ({reason}): {advice}",
                    logging.WARNING,
                )
        self.named_fields.tell()

    def _by_reason(self, what: str) -> Counter[str]:
        """Items that were kept or skipped, by reason."""
        named = {name.partition("_")[::2]: number for name, number in self.counts.items()}
        return Counter({reason: number for (kind, reason), number in named.items() if kind == what})

    def _filled(self, line: EndLine, told: Told) -> str:
        """Fill in a line of the log's end."""
        fields = self._settings.nameable(name for name, _ in told.fields.most_common())
        may_advise = line.setting and (fields or "_FIELDS = {" not in line.setting)
        sentence = f"{line.sentence}. {line.setting}" if may_advise else line.sentence
        # Fields that have told as many items apart as the first one: without it, they still would.
        shown = fields[:_MAX_NAMES]
        most = [name for name in shown if told.fields[name] == told.fields[shown[0]]]
        ignored = [*map(printable, self._settings.rules.ignore_fields), *most]
        return sentence.format(
            number=told.number,
            s="" if told.number == 1 else "s",
            fields=_names(told.fields),
            field="".join(fields[:1]),
            most=", ".join(most) + (" say" if len(most) > 1 else " says"),
            ignored=json.dumps(ignored, ensure_ascii=False),
            named=json.dumps(fields[:1], ensure_ascii=False),
            examples=", ".join(told.examples.values()),
            drops="".join(f"\n  {drop}" for drop in self._first_drops),
        )


def _kept_for(verdict: Verdict) -> Reason | None:
    """Why a page is kept that resembles an original, if that was not known before."""
    is_kept = verdict.reason in KEEPING + REJECTING and verdict.status != "unchanged"
    return verdict.reason if is_kept else None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _said(verdict: Verdict, other: str) -> str:
    from shingling.store.decided import text_said  # hardly ever does a crawl need it

    return printable(text_said(verdict.own_text, other[:_MAX_URL]))


def _names(counter: Counter[str]) -> str:
    shown = [f"{name} ({number})" for name, number in counter.most_common(_MAX_NAMES)]
    return ", ".join(shown) + (", …" if len(counter) > _MAX_NAMES else "")


def _listed(counter: Counter[str]) -> str:
    if not counter:
        return ""
    return f" ({', '.join(f'{number} {name}' for name, number in counter.most_common())})"
