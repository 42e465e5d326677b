"""Whether two pages are two documents by their titles, however alike their texts are.

Another title is strong evidence of another document, because two pages of a reference manual may
differ in little else. On any site, if a text does not have the words of the titles, it is not what
these pages are about: it is a notice, a consent text or a list of other pages.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from shingling.rules.reasons import Reason
from shingling.store.decide.pair import SAME_PAGE
from shingling.text import headline_keys, title_key, title_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.store.decide.pair import Pair
    from shingling.text import PreparedText

LONG_TEXT = 200  # words from which on a text says more than its title
LIKELY_COPY = 0.9  # resemblance from which on long texts may be copies under two headlines

_LEAST_TITLE = 0.5  # share of a title, of which more stands in a text on what it names
_LEAST_LETTERS = 10  # of a headline; of each word, five at most count
_NEARLY_ALL = 0.7  # resemblance from which on what two texts do not share tells little


def different_document_reason(pair: Pair, resemblance: float) -> Reason | None:
    """Why two pages are two documents by their titles; None if they are one.

    Titles that differ in numbering only are one if the texts are nearly the same, however short
    they are.

    Args:
        pair: the pages.
        resemblance: of their texts, 1 if they are the same; of a piece, its containment.
    """
    if not pair.have_other_titles:
        return None
    if pair.is_on_one_site and resemblance >= SAME_PAGE and pair.are_renamed:
        return None
    return next(filter(None, (test(pair, resemblance) for test in _TESTS)), None)


def are_versions(pair: Pair) -> bool:
    """Whether two pages of one site are versions of one page, by titles and whole texts."""
    if not pair.have_other_titles:
        return bool(pair.have_one_title)
    resemblance = pair.texts.measure(pair.row, pair.other, whole=True).resemblance
    return resemblance >= SAME_PAGE and different_document_reason(pair, resemblance) is None


def _other_title(pair: Pair, resemblance: float) -> Reason | None:
    """Tell pages of one site apart, unless they may be copies under two headlines.

    Then both are long, without the site's template, and nearly the same; or the other one says all
    that the page does, its headline included.
    """
    if not pair.is_on_one_site:
        return None
    words = min(map(pair.texts.words_left, (pair.row, pair.other)))
    may_be_copies = words >= LONG_TEXT and resemblance >= LIKELY_COPY
    return None if may_be_copies or pair.is_all_said else Reason.OTHER_TITLE


def _title_not_in_text(pair: Pair, resemblance: float) -> Reason | None:
    """Tell pages apart if the title of one is not what the text of the other is about."""
    text, other = pair.texts.of(pair.row), pair.texts.of(pair.other)
    if text is None or other is None:
        return None
    shown = text.text, other.text
    if resemblance < _NEARLY_ALL:
        shown = _in_common(text, other), _in_common(other, text)
    titles = pair.other.title or "", pair.row.title or ""
    are_about = (title_share(*both) > _LEAST_TITLE for both in zip(titles, shown, strict=True))
    if all(are_about) or (not pair.is_on_one_site and _are_under_one_headline(pair, shown)):
        return None
    return Reason.TITLE_NOT_IN_TEXT


def _are_under_one_headline(pair: Pair, shown: Sequence[str]) -> bool:
    """Whether two pages have one headline, however long the names of their sites are.

    It is a line of both texts. Its words, two long ones at least, stand elsewhere in both as well,
    unless the texts are the same: "News" above a consent text tells nothing.

    Args:
        pair: the pages.
        shown: what is looked at of their texts.
    """
    row, other = pair.row, pair.other
    keys = headline_keys(row.title or "") & headline_keys(other.title or "")
    are_same = row.text_hash == other.text_hash
    return all(
        any(
            are_same or title_share(line, text.replace(line, "", 1), _LEAST_LETTERS) > _LEAST_TITLE
            for line in text.split("\n")
            if title_key(line) in keys
        )
        for text in shown
    )


_TESTS = _other_title, _title_not_in_text
"""Each gives its reason why pages with other titles are two documents, or None."""


def _in_common(text: PreparedText, other: PreparedText) -> str:
    """Lines of a text that another one has too, if they are most of it; else all of it."""
    is_shared = np.isin(text.keys, other.keys)
    if 2 * text.characters[is_shared].sum() < text.characters.sum():
        return text.text
    return "\n".join(compress(text.lines, is_shared.tolist()))
