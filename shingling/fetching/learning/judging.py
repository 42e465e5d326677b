"""Whether two pages are the same, judged by what was seen of both."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from shingling.fetching.learning.snapshots import MIN_KEPT, changed_sentences

if TYPE_CHECKING:
    from shingling.fetching.learning.looking import SeenPage
    from shingling.fetching.learning.snapshots import PageSnapshot, VolatileSentences


class Likeness(Enum):
    """How two pages are alike."""

    SAME = "same"
    OTHER = "other"
    DOUBTFUL = "doubtful"
    """Most is the same: what differs may change with each fetch, which a second one would tell."""
    NEW_LINKS = "new links"
    """All is the same, but its links lead to pages that are not known yet."""


def judge(page: SeenPage, earlier: PageSnapshot | int, volatile: VolatileSentences) -> Likeness:
    """Judge a page and an earlier one of its site by their texts.

    Args:
        page: the later one.
        earlier: the earlier one, or only its content if more was forgotten.
        volatile: what changes with each fetch.
    """
    if isinstance(earlier, int):
        if earlier == page.content:
            return Likeness.SAME
        return Likeness.DOUBTFUL if volatile.kinds else Likeness.OTHER
    later = page.snapshot
    # The page that one says more than is not known, but it is none whose item stands for the
    # same page. An earlier crawl may have met both the other way round.
    if (earlier.says_more or later.says_more) and earlier.shows != later.shows:
        return Likeness.OTHER
    if earlier.content == later.content:
        return Likeness.SAME
    kept, changed = changed_sentences(earlier, later)
    if kept < MIN_KEPT:
        return Likeness.OTHER
    return Likeness.SAME if all(map(volatile.has, changed)) else Likeness.DOUBTFUL
