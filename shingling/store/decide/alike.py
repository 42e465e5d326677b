"""Which of its candidates a page is a duplicate of: by measures, and by titles.

On one site, another title is strong evidence for another document: two pages of a reference
manual differ in little else. Only a long text says more than its title, which may be an edited
headline.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from shingling.rules import METHODS
from shingling.similarity import nearest
from shingling.similarity.following import MAX_CANDIDATES_MEASURED, Following
from shingling.store.decide.batch import Decision
from shingling.store.decide.fields import differing_fields
from shingling.store.model import is_template
from shingling.store.templates import LIKELY_COPY, LONG_TEXT, are_renamed
from shingling.text import differ_in_numbers_only, has_same_headline, title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.rules.rules import Rules
    from shingling.store.decide.batch import Batch
    from shingling.store.decide.texts import Alike
    from shingling.store.index import Signed
    from shingling.store.schema.rows import Row

_S = TypeVar("_S", bound="Signed")

_LEAST_SHARE = 0.25  # of a page on another site that its piece makes up: it claims four at most
_SAME_PAGE = 0.8  # resemblance of whole texts at which pages of a site with one title are one


@dataclass
class Passed:
    """Originals that a page could follow, and does not: whether one was passed over.

    Args:
        other_title: for its title.
        other_fields: since the item of the page says something else; how it would be followed, and
            what says something else.
    """

    other_title: bool = False
    other_fields: Decision | None = None

    def for_fields(self, decision: Decision, fields: Sequence[str]) -> None:
        """Note that fields are in the way of a decision."""
        if self.other_fields is None:
            self.other_fields = decision._replace(fields=fields)


def choose_exact(
    row: Row, pairs: Sequence[tuple[Row, Row]], only_template: bool, batch: Batch, passed: Passed
) -> Decision | None:
    """Follow the original of the first page with the same text that is the same document.

    Less than one shingle says nothing of a page, and a short text or a template nothing without
    its title.

    Args:
        row: the page.
        pairs: pages with its text, each with its original.
        only_template: whether too little is left of the page without its site's template.
        batch: where they are.
        passed: notes what is passed over.
    """
    if row.words < batch.scheme.min_comparable_words:
        return None
    for twin, head in pairs:
        if only_template and not are_one(row, twin, batch):
            continue
        if twin.site != row.site and is_only_template(twin, batch):
            continue
        if row.words < batch.rules.min_words and not _have_one_title(row, twin, batch):
            continue
        alike = 1.0 if twin is head else twin.resemblance or 0.0
        if are_two(row, twin, 1.0, batch) or are_two(row, head, alike, batch):
            passed.other_title = True
            continue
        decision = Decision("exact", head, 1.0, 1.0, None if twin is head else twin)
        fields = differing_fields(row, head, batch.rules)
        if not fields:
            return decision
        passed.for_fields(decision, fields)
    return None


def choose(row: Row, candidates: Sequence[Row], batch: Batch, passed: Passed) -> Decision | None:
    """Follow the most alike of the candidates that the method accepts, but for other documents.

    It is looked for among those whose items say what that of the page says. Of the others, one
    tells what the page would be without its fields.
    """
    accepted = _accepted(row, candidates, batch.rules)
    fields = [differing_fields(row, other, batch.rules) for other in accepted]
    equal = [other for other, differing in zip(accepted, fields, strict=True) if not differing]
    decision = _most_alike(row, equal, batch, passed)
    apart = [other for other, differing in zip(accepted, fields, strict=True) if differing]
    if decision is None and apart:
        without = _most_alike(row, apart, batch, passed, any_of_them=True)
        if without is not None and without.original is not None:
            passed.for_fields(without, differing_fields(row, without.original, batch.rules))
    return decision


def _most_alike(
    row: Row,
    accepted: Sequence[Row],
    batch: Batch,
    passed: Passed,
    *,
    any_of_them: bool = False,
) -> Decision | None:
    """Follow the most alike of some originals, or one that is alike enough.

    The estimate from all minima picks whom to measure; among equals the oldest wins.
    """
    following = Following.by(batch.rules)

    def measure(at: int) -> Alike | None:
        other = accepted[at]
        alike = _measure(row, other, following.least, batch)
        if alike.resemblance < following.least:
            return None
        if not alike.resemblance and is_only_template(other, batch):
            return None
        if are_two(row, other, alike.resemblance, batch):
            passed.other_title = True
            return None
        return None if not following.least and batch.texts.are_forged(row, other) else alike

    minima = [other.minima for other in accepted]
    ranked = nearest(row.minima, minima, following.worth, MAX_CANDIDATES_MEASURED)
    batch.texts.load(accepted[at].id for at, _ in ranked)
    ages = [other.id for other in accepted]
    best = following.best(ranked, ages, measure, any_of_them=any_of_them)
    return None if best is None else Decision("near", accepted[best[0]], *best[1])


def contained(
    row: Row, others: Sequence[Row], least: float, batch: Batch, passed: Passed
) -> tuple[Decision | None, str | None]:
    """Follow the original that the row is a piece of, and find the URL of one that it contains.

    Others come with the likeliest first; among equals it wins. A piece has no more shingles
    than its whole, and on another site at least a quarter of them: a page that collects the
    articles of a site must not take them all.
    """
    piece: Decision | None = None
    most = 0.0
    contains: tuple[float, str | None] = 0.0, None
    for other in others[:MAX_CANDIDATES_MEASURED]:
        both = batch.texts.overlap(row, other)
        if both is None or both.containment < least:
            continue
        if row.site != other.site and both.a < _LEAST_SHARE * both.b:
            continue
        if both.a > both.b:
            contains = max(contains, (both.containment, other.url), key=itemgetter(0))
        elif are_two(row, other, both.containment, batch):
            passed.other_title = True
        else:
            decision = Decision("near", other, both.resemblance, both.containment)
            if fields := differing_fields(row, other, batch.rules):
                passed.for_fields(decision, fields)
            elif both.containment > most:
                piece, most = decision, both.containment
    return piece, contains[1] if piece is None else None


def are_two(row: Row, other: Row, alike: float, batch: Batch) -> bool:
    """Whether two pages are two documents by their titles, however alike they are.

    On one site, pages with other titles are one only if both are long, without the site's
    template, and their texts are the same; or nearly so, and neither the texts nor the titles
    differ in numbers and symbols alone. Titles that differ in numbering and spelling only are one
    where the texts are nearly the same, however short they are.

    Args:
        row: one of them.
        other: the other one.
        alike: the resemblance of their texts, or their containment.
        batch: where they are.
    """
    if row.site != other.site or _have_one_title(row, other, batch) is not False:
        return False
    if alike >= _SAME_PAGE and _are_renamed(row, other, batch):
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
    """Whether two pages are of one site and have one title, apart from numbering and spelling."""
    return a.site == b.site and (_have_one_title(a, b, batch) is True or _are_renamed(a, b, batch))


def _are_renamed(a: Row, b: Row, batch: Batch) -> bool:
    """Whether the titles of two pages of a site differ in numbering and spelling only."""
    templates = batch.templates
    return are_renamed(
        a, b, title_parts if templates is None else templates.site(a.site).title_parts
    )


def is_only_template(row: Row, batch: Batch) -> bool:
    """Whether too little is left of a page without its site's template."""
    split = batch.texts.split(row)
    return split is not None and is_template(
        split, row.words, batch.rules.min_words, batch.scheme.canonical
    )


def is_measured(page: Signed, others: Sequence[Signed], rules: Rules) -> bool:
    """Whether one of the candidates of a page is alike enough to be measured."""
    following = Following.by(rules)
    minima = [other.minima for other in _accepted(page, others, rules)]
    return bool(nearest(page.minima, minima, following.worth, MAX_CANDIDATES_MEASURED))


def _accepted(row: Signed, candidates: Sequence[_S], rules: Rules) -> Sequence[_S]:
    """Candidates that a method accepts by their signatures alone."""
    method = METHODS[rules.method]
    if not candidates or not (method.supershingles or method.distance):
        return candidates
    accepted = Following.by(rules).accepts(
        np.stack([other.minima for other in candidates]) == row.minima,
        np.array([row.simhash], np.uint64),
        np.array([other.simhash for other in candidates], np.uint64),
    )
    return [other for other, taken in zip(candidates, accepted, strict=True) if taken]


def _measure(row: Row, other: Row, least: float, batch: Batch) -> Alike:
    """Measure two pages without the templates of their sites.

    Pages of one site can only look more alike by its template: whole, they must be alike as well.
    With one title they are one page, if they are nearly the same as a whole.
    """
    left = batch.texts.measure(row, other)
    if row.site != other.site:
        return left
    whole = batch.texts.measure(row, other, whole=True)
    if whole.resemblance >= max(least, _SAME_PAGE) and are_one(row, other, batch):
        return whole
    return min(left, whole)


def _words_left(row: Row, batch: Batch) -> int:
    """Words of a page without its site's template."""
    split = batch.texts.split(row)
    return row.words if split is None else split.words_left(row.words, batch.scheme.canonical)
