"""The log and stats of a crawl: a line at its start, one at its end, warnings, counts, drops."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from shingling.errors import PageError, StoreError, printable
from shingling.kernel import COMPILED
from shingling.rules import METHODS, MIN_WORDS_FOR_SIMHASH
from shingling.rules.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Verdict

logger = logging.getLogger(__name__)

_MAX_NAMES = 10  # of fields, in one line
_KEPT_STATUSES = ("new", "unchanged", "changed")
_WARN_ABOVE_FRACTION = 0.5  # of the items of a crawl, skipped for the same reason

_LEAST_ITEMS = 20  # of a crawl, so that the share of those dropped says something
_MUCH = 0.5  # of the items of a crawl
_MANY = 20  # items of one site that are dropped for one original
_MAX_ORIGINALS = 10_000  # that are counted
_MAX_EXAMPLES = 3
_MAX_URL = 500  # characters shown


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


def describe_duplicate(verdict: Verdict) -> str:
    """Say of what a document is a duplicate: never what is in it."""
    what = "piece" if verdict.reason == Reason.PIECE else "duplicate"
    if verdict.resemblance is None:
        return f"{what} of {verdict.original}"
    measured = f"resemblance {verdict.resemblance:.2f}"
    if what == "piece":
        measured = f"containment {verdict.containment or 0.0:.2f}, {measured}"
    return f"{what} of {verdict.original} ({measured})"


class Report:
    """Counts what becomes of items and documents, and logs it.

    Args:
        crawler: whose stats and log.
        settings: of the crawl.

    Attributes:
        began: when the crawl began, seconds since 1970.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self.began = time.time()
        self._crawler = crawler
        self._settings = settings
        self._items: Counter[str] = Counter()  # by status, "dropped" and "error"
        self._skipped: Counter[str] = Counter()  # items by reason
        self._dropped: Counter[str] = Counter()  # items by status
        self._originals_missing = 0  # known duplicates that were kept because of that
        self._fields: Counter[str] = Counter()  # items by the names of fields that kept them
        # Dropped items by the names of fields in which originals on other sites say something else.
        self._fields_across: Counter[str] = Counter()
        self._drops = Drops()
        self._logged: set[str] = set()
        self._store_error = ""  # of the last page, unless one has been decided since

    def _log(self, level: int, message: str) -> None:
        logger.log(level, "%s", message, extra={"spider": self._crawler.spider})

    def start(self) -> None:
        """Say how the crawl is deduplicated."""
        settings = self._settings
        rules = settings.rules
        decided = f"method {rules.method}"
        if METHODS[rules.method].threshold:
            decided += f", threshold {rules.threshold:g}"
        workers = f"{settings.workers} worker processes at most" if settings.workers else "a thread"
        self._log(
            logging.INFO,
            f"Dedup: store {settings.store_url_without_password}, action {settings.action},"
            f" {decided}, pages extracted in {workers},"
            f" {'compiled' if COMPILED else 'NumPy'} signing",
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
        if verdict.reason == Reason.ORIGINAL_MISSING or _says_more(verdict):
            stats.inc_value(f"dedup/{verdict.reason}")
        stats.inc_value("dedup/candidates", verdict.candidates)
        if (
            words is not None
            and words < MIN_WORDS_FOR_SIMHASH
            and METHODS[self._settings.rules.method].distance
        ):
            stats.inc_value("dedup/short_for_simhash")
            self.warn_once(
                "short_for_simhash",
                f"DEDUP_METHOD = {self._settings.rules.method!r} misses many near-duplicates among"
                f" texts of fewer than {MIN_WORDS_FOR_SIMHASH} words, such as one of {words} here;"
                " dedup/short_for_simhash counts them",
            )

    def kept(self, verdict: Verdict) -> None:
        """Count an item that goes on."""
        self._originals_missing += verdict.reason == Reason.ORIGINAL_MISSING
        if _says_more(verdict):
            self._items["kept"] += 1
            self._fields.update(verdict.fields)
            return
        self._items[verdict.status] += 1
        if verdict.status == "skipped":
            self._skipped[str(verdict.reason)] += 1

    def dropped(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped, and log the first one.

        Args:
            verdict: on its document.
            url: of the document.
        """
        if not self._dropped and not self._settings.debug:
            self._log(
                logging.INFO,
                f"Dropped the item of {url[:500]}: {describe_duplicate(verdict)} (no more drops"
                " are logged; DEDUP_DEBUG = True logs all)",
            )
        self._items["dropped"] += 1
        self._dropped[verdict.status] += 1
        self._drops.add(verdict, url)
        if verdict.fields and _is_across_sites(verdict, url):
            self._fields_across.update(verdict.fields)
        self._crawler.stats.inc_value("dedup/dropped")

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

    def warn_once(self, about: str, message: str) -> None:
        """Log a warning, the first time that it is about this."""
        self._log_once(logging.WARNING, about, message)

    def error_once(self, message: str) -> None:
        """Log an error, the first time that it is this one."""
        self._log_once(logging.ERROR, message, message)

    def _log_once(self, level: int, about: str, message: str) -> None:
        if about not in self._logged:
            self._logged.add(about)
            self._log(level, message)

    @property
    def skipped(self) -> dict[str, int]:
        """Items that were not compared, by names for the counts of the run."""
        return {f"skipped_{reason}": number for reason, number in self._skipped.items()}

    def end(self) -> None:
        """Log what became of the items, and warn if dedup had hardly anything to compare."""
        total = self._items.total()
        parts = [f"{self._items['dropped']} dropped{_listed(self._dropped)}"]
        parts += [f"{self._items[status]} {status}" for status in _KEPT_STATUSES]
        duplicates = self._items["exact"] + self._items["near"]
        if duplicates:
            parts.append(f"{duplicates} duplicates kept")
        if self._items["kept"]:
            parts.append(f"{self._items['kept']} kept because their fields differ")
        parts.append(f"{self._items['skipped']} skipped{_listed(self._skipped)}")
        parts.append(f"{self._items['error']} errors")
        self._log(logging.INFO, f"Dedup: {total} items: {', '.join(parts)}")
        if kept := self._items["kept"]:
            self._log(
                logging.INFO,
                f"Dedup: {kept} near-duplicates were kept because their fields differ:"
                f" {_names(self._fields)}. If {_first(self._fields)} says nothing:"
                " DEDUP_IGNORE_FIELDS ="
                f" {_with_first(self._settings.rules.ignore_fields, self._fields)}",
            )
        if self._fields_across:
            self._log(
                logging.INFO,
                "Dedup: items were dropped as duplicates of items on other sites, although these"
                f" fields differ: {_names(self._fields_across)}. To keep items that differ in"
                f" {_first(self._fields_across)}: DEDUP_FIELDS ="
                f" {_with_first((), self._fields_across)}",
            )
        if self._originals_missing:
            self._log(
                logging.INFO,
                f"Dedup: {self._originals_missing} known duplicates were kept because their"
                " originals were not seen in this crawl or the last one",
            )
        if warning := self._drops.warning(self._items["dropped"], total):
            self._log(logging.WARNING, warning)
        for reason, number in self._skipped.most_common(1):
            advice = next((one.advice for one in Reason if one == reason), "")
            if number > _WARN_ABOVE_FRACTION * total and advice:
                self.warn_once(
                    f"most {reason}",
                    f"Dedup did not compare {number} of {total} items ({reason}): {advice}",
                )


def _says_more(verdict: Verdict) -> bool:
    """Whether a page is kept for its item's own fields, which were not known before."""
    return verdict.reason == Reason.OTHER_FIELDS and verdict.status != "unchanged"


def _first(counter: Counter[str]) -> str:
    """Name of the field that is counted most often."""
    return printable(counter.most_common(1)[0][0])


def _with_first(names: Iterable[str], counter: Counter[str]) -> str:
    """Value of a setting that names this field as well."""
    return json.dumps([*map(printable, names), _first(counter)], ensure_ascii=False)


def _is_across_sites(verdict: Verdict, url: str) -> bool:
    """Whether a page and its original are of two sites."""
    from shingling.store.urls import site_of  # it takes long, and a crawl may have no items

    return site_of(url) != site_of(verdict.original or "")


def _names(counter: Counter[str]) -> str:
    shown = [f"{printable(name)} ({number})" for name, number in counter.most_common(_MAX_NAMES)]
    return ", ".join(shown) + (", …" if len(counter) > _MAX_NAMES else "")


def _listed(counter: Counter[str]) -> str:
    if not counter:
        return ""
    return f" ({', '.join(f'{number} {name}' for name, number in counter.most_common())})"


class Drops:
    """Counts the items that are dropped, and keeps the first ones as examples."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str]] = Counter()  # by original, and site of the item
        self._examples: list[str] = []

    def add(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped by a verdict on its document."""
        from shingling.store.urls import site_of  # it takes long, and a crawl may have no items

        key = str(verdict.original), site_of(url)
        if key in self._taken or len(self._taken) < _MAX_ORIGINALS:
            self._taken[key] += 1
        if len(self._examples) < _MAX_EXAMPLES:
            self._examples.append(_example(verdict, url))

    def warning(self, dropped: int, items: int) -> str | None:
        """Warning about what was dropped of so many items; None if there is no need for it."""
        ((original, site), most), *_ = self._taken.most_common(1) or [(("", ""), 0)]
        if most > _MANY:
            what = f"{most} items of {site} as duplicates of one page, {original[:_MAX_URL]}"
        elif items >= _LEAST_ITEMS and dropped > _MUCH * items:
            what = f"{dropped} of {items} items"
        else:
            return None
        advice = (
            f"Dedup dropped {what}. If some of them are no copies, keep them with DEDUP_ACTION ="
            ' "tag", or name the fields that tell them apart in DEDUP_FIELDS. The first drops of'
            " the crawl:"
        )
        return "\n  ".join([advice, *self._examples])


def _example(verdict: Verdict, url: str) -> str:
    fields = ", ".join(map(printable, verdict.fields[:10])) or "none"
    return f"{url[:_MAX_URL]}: {describe_duplicate(verdict)}; fields that differ: {fields}"
