"""What a pipeline raises for an item that is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from shingling.store import Verdict


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
    if verdict.resemblance is None:
        return f"duplicate of {verdict.original}"
    return f"duplicate of {verdict.original} (resemblance {verdict.resemblance:.2f})"
