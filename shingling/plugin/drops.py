"""What is raised for an item that is dropped, and what a crawl has dropped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

from shingling.errors import printable

if TYPE_CHECKING:
    from shingling.store import Verdict

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
        super().__init__(describe_duplicate(verdict), log_level=log_level)  # type: ignore[arg-type]
        self.verdict = verdict


def describe_duplicate(verdict: Verdict) -> str:
    """Say of what a document is a duplicate: never what is in it."""
    what = "piece" if verdict.reason == "piece" else "duplicate"
    if verdict.resemblance is None:
        return f"{what} of {verdict.original}"
    measured = f"resemblance {verdict.resemblance:.2f}"
    if what == "piece":
        measured = f"containment {verdict.containment or 0.0:.2f}, {measured}"
    return f"{what} of {verdict.original} ({measured})"


class Drops:
    """Counts the items that are dropped, and keeps some examples."""

    def __init__(self) -> None:
        self._taken: Counter[tuple[str, str]] = Counter()  # by original, and site of the item
        self._examples: list[str] = []
        # Of originals that take many items: their last ones before they are too many.
        self._examples_of: dict[tuple[str, str], list[str]] = {}

    def add(self, verdict: Verdict, url: str) -> None:
        """Count an item that is dropped by a verdict on its document."""
        from shingling.store.urls import site_of  # it takes long, and a crawl may have no items

        key = str(verdict.original), site_of(url)
        if key in self._taken or len(self._taken) < _MAX_ORIGINALS:
            self._taken[key] += 1
        if len(self._examples) < _MAX_EXAMPLES:
            self._examples.append(_example(verdict, url))
        if _MANY - _MAX_EXAMPLES < self._taken[key] <= _MANY:
            self._examples_of.setdefault(key, []).append(_example(verdict, url))

    def warning(self, dropped: int, items: int) -> str | None:
        """Warning about what was dropped of so many items; None where there is no need for it."""
        (key, most), *_ = self._taken.most_common(1) or [(("", ""), 0)]
        if most > _MANY:
            what = f"{most} items of {key[1]} as duplicates of one page, {key[0][:_MAX_URL]}"
            examples = self._examples_of[key]
        elif items >= _LEAST_ITEMS and dropped > _MUCH * items:
            what, examples = f"{dropped} of {items} items", self._examples
        else:
            return None
        advice = (
            f"Dedup dropped {what}. If some of them are no copies, keep them with DEDUP_ACTION ="
            ' "tag", or name the fields that tell them apart in DEDUP_FIELDS. Examples:'
        )
        return "\n  ".join([advice, *examples])


def _example(verdict: Verdict, url: str) -> str:
    fields = ", ".join(map(printable, verdict.fields[:10])) or "none"
    return f"{url[:_MAX_URL]}: {describe_duplicate(verdict)}; fields that differ: {fields}"
