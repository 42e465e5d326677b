"""Which of its candidates a page is a duplicate of: by measures, and by titles.

On one site, another title is strong evidence for another document: two pages of a reference
manual differ in little else. Only a long text says more than its title, which may be an edited
headline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from shingling.rules.methods import METHODS
from shingling.similarity import (
    distance as simhash_distance,
    equal_supershingles,
    nearest,
    standard_error,
)
from shingling.store.model import is_template
from shingling.store.templates import LIKELY_COPY, LONG_TEXT
from shingling.text import differ_in_numbers_only, has_same_headline, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shingling.rules.rules import Rules
    from shingling.similarity import Overlap
    from shingling.store.decide.batch import Batch
    from shingling.store.index.keys import Signed
    from shingling.store.schema.rows import Row

_S = TypeVar("_S", bound="Signed")

MAX_CANDIDATES_MEASURED = 32  # the most alike first

_STANDARD_ERRORS = 3.0  # below the threshold at which a candidate is still measured
_MIN_ESTIMATE_FRACTION = 0.5  # of the threshold: templates may bring copies down to it
_SAME_PAGE = 0.8  # resemblance of whole texts at which pages of a site with one title are one


class Ranking(NamedTuple):
    """Which candidates are measured, by the estimates from all minima.

    Args:
        least: resemblance that is asked for.
        worth: estimate from which on a candidate is measured.
        margin: by how much a measure may lie above its estimate.
    """

    least: float
    worth: float
    margin: float

    @classmethod
    def of(cls, rules: Rules) -> Ranking:
        """Ranking of candidates under rules."""
        return cls(_least(rules), least_estimate(rules), _margin(rules))

    def order(self, estimates: NDArray[np.float64]) -> Iterator[int]:
        """Yield the places of those that are measured: the most alike first, then the oldest."""
        for place in np.argsort(-estimates, kind="stable")[:MAX_CANDIDATES_MEASURED].tolist():
            if estimates[place] < self.worth:
                return
            yield place

    def is_beaten(self, estimate: float, best: float) -> bool:
        """Whether a candidate, and those behind it, lie below one that was measured."""
        return estimate + self.margin < best


class Choice(NamedTuple):
    """The original of a page with the measures; whether another was passed over for its title."""

    best: tuple[Row, float, float] | None = None
    other_title: bool = False


class Contained(NamedTuple):
    """The original that a page is a piece of, or the URL of one that it contains.

    And whether another original was passed over for its title.
    """

    piece: tuple[Row, Overlap] | None = None
    contains: str | None = None
    other_title: bool = False


def choose_exact(
    row: Row, pairs: Sequence[tuple[Row, Row]], only_template: bool, batch: Batch
) -> Choice:
    """Choose the original of the first page with the same text that is the same document.

    Less than one shingle says nothing of a page, and a short text or a template nothing without
    its title.

    Args:
        row: the page.
        pairs: pages with its text, each with its original.
        only_template: whether too little is left of the page without its site's template.
        batch: where they are.
    """
    other_title = False
    if row.words < batch.scheme.min_comparable_words:
        return Choice()
    for twin, head in pairs:
        if only_template and not are_one(row, twin, batch):
            continue
        if twin.site != row.site and _is_template(twin, batch):
            continue
        if row.words < batch.rules.min_words and not _have_one_title(row, twin, batch):
            continue
        same = head.text_hash == row.text_hash
        resemblance = 1.0 if same else twin.resemblance or 0.0
        containment = 1.0 if same else twin.containment or 0.0
        if are_two(row, twin, 1.0, batch) or are_two(row, head, resemblance, batch):
            other_title = True
            continue
        return Choice((head, resemblance, containment), other_title)
    return Choice(None, other_title)


def choose(row: Row, candidates: Sequence[Row], batch: Batch) -> Choice:
    """Choose the most alike of the candidates that the method accepts, but for other documents.

    The estimate from all minima picks whom to measure; among equals the oldest wins.
    """
    accepted = _accepted(row, candidates, batch.rules)
    ranking = Ranking.of(batch.rules)
    best: tuple[Row, float, float] | None = None
    other_title = False
    minima = [other.minima for other in accepted]
    for at, estimate in nearest(row.minima, minima, ranking.worth, MAX_CANDIDATES_MEASURED):
        if best is not None and ranking.is_beaten(estimate, best[1]):
            break
        other = accepted[at]
        resemblance, containment = _measure(row, other, ranking.least, batch)
        if resemblance < ranking.least or (not resemblance and _is_template(other, batch)):
            continue
        if are_two(row, other, resemblance, batch):
            other_title = True
            continue
        if best is None or (resemblance, -other.id) > (best[1], -best[0].id):
            best = other, resemblance, containment
    return Choice(best, other_title)


def contained(row: Row, others: Sequence[Row], least: float, batch: Batch) -> Contained:
    """Find the original that the row is a piece of, and the URL of one that it contains.

    Others come with the likeliest first; among equals it wins. A piece has no more shingles
    than its whole.
    """
    piece: tuple[Row, Overlap] | None = None
    contains: tuple[float, str] | None = None
    other_title = False
    for other in others[:MAX_CANDIDATES_MEASURED]:
        both = batch.texts.overlap(row, other)
        if both is None or both.containment < least:
            continue
        if both.a <= both.b and are_two(row, other, both.containment, batch):
            other_title = True
        elif both.a <= both.b and (piece is None or both.containment > piece[1].containment):
            piece = other, both
        if both.a > both.b and (contains is None or both.containment > contains[0]):
            contains = both.containment, other.url
    return Contained(piece, contains[1] if contains and piece is None else None, other_title)


def are_two(row: Row, other: Row, alike: float, batch: Batch) -> bool:
    """Whether two pages are two documents by their titles, however alike they are.

    On one site, pages with other titles are one only if both are long, without the site's
    template, and their texts are the same; or nearly so, and neither the texts nor the titles
    differ in numbers and symbols alone.

    Args:
        row: one of them.
        other: the other one.
        alike: the resemblance of their texts, or their containment.
        batch: where they are.
    """
    if row.site != other.site or _have_one_title(row, other, batch) is not False:
        return False
    if min(_words_left(row, batch), _words_left(other, batch)) < LONG_TEXT:
        return True
    if row.text_hash == other.text_hash:
        return False
    if alike < LIKELY_COPY or differ_in_numbers_only(row.title or "", other.title or ""):
        return True
    first, second = batch.texts.of(row), batch.texts.of(other)
    if first is None or second is None:
        return False
    return differ_in_numbers_only(first.text, second.text)


def _have_one_title(a: Row, b: Row, batch: Batch) -> bool | None:
    """Whether two pages of a site have one title or headline; None where one has no title."""
    keys = title_key(a.title or ""), title_key(b.title or "")
    if not all(keys):
        return None
    if keys[0] == keys[1]:
        return True
    if batch.templates is None:
        return has_same_headline(title_parts(a.title or ""), title_parts(b.title or ""))
    site = batch.templates.site(a.site)
    return has_same_headline(site.title_parts(a.title or ""), site.title_parts(b.title or ""))


def are_one(a: Row, b: Row, batch: Batch) -> bool:
    """Whether two pages are of one site and have one title."""
    return a.site == b.site and _have_one_title(a, b, batch) is True


def _is_template(row: Row, batch: Batch) -> bool:
    """Whether too little is left of a page without its site's template."""
    split = batch.texts.split(row)
    return split is not None and is_template(
        split, row.words, batch.rules.min_words, batch.scheme.canonical
    )


def is_measured(page: Signed, others: Sequence[Signed], rules: Rules) -> bool:
    """Whether one of the candidates of a page is alike enough to be measured."""
    minima = [other.minima for other in _accepted(page, others, rules)]
    worth = least_estimate(rules)
    return any(True for _ in nearest(page.minima, minima, worth, MAX_CANDIDATES_MEASURED))


def least_estimate(rules: Rules) -> float:
    """Estimate, from whole texts, from which on two pages are worth measuring.

    What surrounds an article on another site makes it look less alike than it is.
    """
    worth = _least(rules) - _margin(rules)
    return min(worth, _MIN_ESTIMATE_FRACTION * _least(rules)) if rules.templates else worth


def _least(rules: Rules) -> float:
    """Resemblance that a method asks for."""
    return rules.threshold if METHODS[rules.method].threshold else 0.0


def _margin(rules: Rules) -> float:
    """How far below it an estimate may lie."""
    return _STANDARD_ERRORS * standard_error(_least(rules) or 0.5)


def _accepted(row: Signed, candidates: Sequence[_S], rules: Rules) -> Sequence[_S]:
    """Candidates that a method accepts by their signatures alone."""
    method = METHODS[rules.method]
    accepted = candidates
    if method.supershingles:
        accepted = [
            other
            for other in accepted
            if equal_supershingles(row.minima, other.minima) >= method.supershingles
        ]
    if method.distance:
        accepted = [
            other
            for other in accepted
            if simhash_distance(row.simhash, other.simhash) <= rules.simhash_distance
        ]
    return accepted


def _measure(row: Row, other: Row, least: float, batch: Batch) -> tuple[float, float]:
    """Resemblance and containment of two pages without the templates of their sites.

    Pages of one site can only look more alike by its template: whole, they must be alike as well.
    With one title they are one page, if they are nearly the same as a whole.
    """
    left = batch.texts.measure(row, other)
    if row.site != other.site:
        return left
    whole = batch.texts.measure(row, other, whole=True)
    if whole[0] >= max(least, _SAME_PAGE) and are_one(row, other, batch):
        return whole
    return min(left, whole)


def _words_left(row: Row, batch: Batch) -> int:
    """Words of a page without its site's template."""
    split = batch.texts.split(row)
    return row.words if split is None else split.words_left(row.words, batch.scheme.canonical)
