"""What is known of a page while it is decided, and what is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shingling.store.schema.rows import Row


class Arrival(NamedTuple):
    """A page that was entered into a batch.

    Args:
        row: of its URL.
        is_unchanged: whether it was stored with the same text.
        former: the row as it was before the text changed.
    """

    row: Row
    is_unchanged: bool = False
    former: Row | None = None


class Met(NamedTuple):
    """What a page, which is in no group, meets in the store.

    Args:
        reviewed: originals that a review puts it with, oldest first.
        excluded: ids of originals whose groups hold a page that is different by a review.
        same_text: pages with the same text, each with its original, oldest first.
        candidates: originals that may be like it, oldest first.
    """

    reviewed: Sequence[Row]
    excluded: Collection[int]
    same_text: Sequence[tuple[Row, Row]]
    candidates: Sequence[Row]


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: that it stands with: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: str
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    reason: str | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None
