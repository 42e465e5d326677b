"""Which of its candidates a page is a duplicate of: by measures, and by titles.

Resemblance finds them; on one site it does not decide alone. A page that says something of its own
there, in few words, is kept. Another title is strong evidence for another document: two pages of a
reference manual differ in little else. On any site, a text in which the titles do not stand is not
what these pages are about: it is a notice, a consent text or a list of other pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from shingling.rules import METHODS
from shingling.rules.reasons import Reason
from shingling.similarity import nearest, own_lines, own_passage
from shingling.similarity.match_rule import MAX_CANDIDATES_MEASURED, MatchRule
from shingling.store.urls import end_alike, folders_of
from shingling.text import (
    has_same_headline,
    scripts,
    split_numbering,
    title_key,
    title_parts,
    title_share,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.rules.rules import Rules
    from shingling.similarity import OwnPassage
    from shingling.store.decide.texts import Alike, Texts
    from shingling.store.index import Signed
    from shingling.store.model import Status
    from shingling.store.schema.rows import Row
    from shingling.text import PreparedText

_S = TypeVar("_S", bound="Signed")

LONG_TEXT = 200  # words from which on a text says more than its title
LIKELY_COPY = 0.9  # resemblance from which on long texts may be copies under two headlines
_LONG_PATH = 10  # characters of a URL that are no number or word by chance
_MAX_READ = 4  # originals of a page whose texts are searched for what it says besides

_LEAST_TITLE = 0.5  # share of a title, of which more stands in a text on what it names
_LEAST_SHARE = 0.25  # of a page on another site that its piece makes up: it claims four at most
_NUMBER = re.compile(r"\d+|[^\W\d_]+")

_NEARLY_ALL = 0.7  # resemblance from which on what two texts do not share tells little
_SAME_PAGE = 0.8  # resemblance of whole texts at which pages of a site with one title are one


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: as measured: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original, or the page that it was compared with.
        compared_with: the page that decided, if that is not the original.
        fields: names of the fields in which its item says something else.
        passage: that its text has of its own, whether it counts or not; None: not looked for.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: Status
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    compared_with: Row | None = None
    fields: Sequence[str] = ()
    passage: OwnPassage | None = None
    reason: Reason | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None


@dataclass
class Choice:
    """The choice of an original for a page, and why others that it could follow are rejected.

    Args:
        row: the page.
        texts: of the batch.
        rules: how pages are decided.
        reason: why one was rejected for its title.
        kept: how the page would follow one but for what its item or its text says, with the reason.
    """

    row: Row
    texts: Texts
    rules: Rules
    reason: Reason | None = None
    kept: Decision | None = None
    _read: int = 0  # originals whose texts were searched

    def same_text(
        self, pairs: Sequence[tuple[Row, Row]], *, only_template: bool
    ) -> Decision | None:
        """Follow the original of the first page with the same text that is the same document.

        Less than one shingle says nothing of a page, and a short text or a template nothing without
        its title. Where only the same text counts, short ones without titles are the same, too.

        Args:
            pairs: pages with its text, each with its original.
            only_template: whether too little is left of the page without its site's template.
        """
        row, texts, min_words = self.row, self.texts, self.rules.min_words
        only_exact = not self.rules.finds_near
        if row.words < texts.scheme.min_comparable_words and not only_exact:
            return None
        for twin, original in pairs:
            if only_template and not are_same_document(row, twin, texts):
                continue
            if twin.site != row.site and is_only_template(twin, texts, min_words):
                continue
            is_untitled = only_exact and not (row.title or twin.title)
            is_short = row.words < min_words and not is_untitled
            if is_short and not _have_one_title(row, twin, texts):
                continue
            alike = 1.0 if twin is original else twin.resemblance or 0.0
            if reason := apart(row, twin, 1.0, texts) or apart(row, original, alike, texts):
                self.reason = reason
                continue
            found = Decision("exact", original, 1.0, 1.0, None if twin is original else twin)
            if decision := self.if_all_is_said(found):
                return decision
        return None

    def nearest(self, candidates: Sequence[Row]) -> Decision | None:
        """Follow the most alike of the candidates that the method accepts, but for other documents.

        It is looked for among those whose items say what that of the page says, and whose texts
        say what its text says. Of the others, one tells what the page would be without its fields.
        """
        same: list[Row] = []
        others: list[Row] = []
        for candidate in _accepted(self.row, candidates, self.rules):
            differs = self.row.differing_fields(candidate, self.rules)
            (others if differs else same).append(candidate)
        decision = self._most_alike(same)
        if decision is None and others and self.kept is None:
            without = self._most_alike(others, any_of_them=True)
            if without is not None:
                self.if_all_is_said(without)
        return decision

    def _most_alike(self, accepted: Sequence[Row], *, any_of_them: bool = False) -> Decision | None:
        """Follow the most alike of some originals that say all of it, or one that is alike enough.

        The estimate from all minima picks whom to measure; among equals the oldest wins.
        """
        if not accepted:
            return None
        row, texts, rule = self.row, self.texts, MatchRule.by(self.rules)
        passages: dict[int, OwnPassage | None] = {}

        def measure(at: int) -> Alike | None:
            other = accepted[at]
            alike = _measure(row, other, rule.min_resemblance, texts)
            if alike.resemblance < rule.min_resemblance:
                return None
            if not alike.resemblance and is_only_template(other, texts, self.rules.min_words):
                return None
            if rule.contains(texts.overlap(row, other)):
                return None
            if reason := apart(row, other, alike.resemblance, texts):
                self.reason = reason
                return None
            if not rule.min_resemblance and texts.are_forged(row, other):
                return None
            if not any_of_them:
                decision = self.if_text_is_said(Decision("near", other, *alike))
                if decision is None:
                    return None
                passages[at] = decision.passage
            return alike

        minima = [other.minima for other in accepted]
        ranked = nearest(row.minima, minima, rule.min_estimate, MAX_CANDIDATES_MEASURED)
        texts.load(accepted[at].id for at, _ in ranked)
        ages = [other.id for other in accepted]
        best = rule.best(ranked, ages, measure, any_of_them=any_of_them)
        if best is None:
            return None
        return Decision("near", accepted[best[0]], *best[1], passage=passages.get(best[0]))

    def whole(self, others: Sequence[Row]) -> tuple[Decision | None, str | None]:
        """Follow the original that the page is a piece of; find the URL of one that it contains.

        Others come with the likeliest first; among equals it wins. A piece has no more shingles
        than its whole, and on another site at least a quarter of them: a page that collects the
        articles of a site must not take them all.
        """
        row, least = self.row, self.rules.containment
        if least is None:
            return None, None
        piece: Decision | None = None
        most = 0.0
        contains: tuple[float, str | None] = 0.0, None
        for other in others[:MAX_CANDIDATES_MEASURED]:
            both = self.texts.overlap(row, other)
            if both is None or both.containment < least:
                continue
            if row.site != other.site and both.a < _LEAST_SHARE * both.b:
                continue
            if both.a > both.b:
                contains = max(contains, (both.containment, other.url), key=itemgetter(0))
            elif reason := apart(row, other, both.containment, self.texts):
                self.reason = reason
            elif both.containment > most:
                found = Decision("near", other, both.resemblance, both.containment)
                if decision := self.if_all_is_said(found):
                    piece, most = decision, both.containment
        return piece, contains[1] if piece is None else None

    def if_all_is_said(self, decision: Decision) -> Decision | None:
        """Take a decision if the original says all that the item and its text say."""
        assert decision.original is not None
        fields = self.row.differing_fields(decision.original, self.rules)
        if not fields:
            return self.if_text_is_said(decision)
        self._keep(decision._replace(fields=fields, reason=Reason.OTHER_FIELDS))
        return None

    def if_text_is_said(self, decision: Decision) -> Decision | None:
        """Take a decision if the original says all that the text says; with what differs."""
        other, mode = decision.original, self.rules.own_text
        assert other is not None
        if self.row.site != other.site or mode == "ignore":
            return decision
        self._read += 1
        passage = None
        if self._read <= _MAX_READ:
            passage = self._own_passage(other, strict=mode == "strict")
            if passage is None or not passage.counts:
                return decision._replace(passage=passage)
        self._keep(decision._replace(passage=passage, reason=Reason.OWN_TEXT))
        return None

    def _own_passage(self, other: Row, *, strict: bool) -> OwnPassage | None:
        """Find what the text says that another one of its site does not.

        Under another title, any line counts; if titles count as the same, so do headlines.
        """
        row, texts, min_words = self.row, self.texts, self.rules.min_words
        both = texts.lines(row, other, min_words)
        if both is None:
            return None
        lines, others = both
        path = row.url.split("/", 3)[-1]
        if len(path) >= _LONG_PATH:  # pages that are missing repeat it
            lines = [line.replace(path, "") for line in lines]
        if (row.title or "") == (other.title or ""):
            return own_passage(lines, others, min_words, strict=strict)
        if _have_one_title(row, other, texts) is False and not _are_renamed(row, other, texts):
            return own_passage(lines, others, min_words, strict=True)
        headlines = {title_key(row.title or ""), *title_parts(row.title or "")}
        lines = [line for line in lines if title_key(line) not in headlines]
        return own_passage(lines, others, min_words, strict=strict)

    def as_original(self) -> Decision:
        """Decision by which the page follows no other one."""
        if self.kept is None:
            return Decision("new", reason=self.reason)
        compared = self.kept.compared_with or self.kept.original
        return self.kept._replace(original=None, compared_with=compared)

    def _keep(self, decision: Decision) -> None:
        """Note how the page would be decided but for what it says; the most alike one counts."""
        if self.kept is None or (decision.resemblance or 0) > (self.kept.resemblance or 0):
            self.kept = decision


def apart(row: Row, other: Row, alike: float, texts: Texts) -> Reason | None:
    """Why two pages are two documents by their titles, however alike they are; None if one.

    On one site, pages with other titles are one if they may be copies under two headlines: both
    are long, without the site's template, and nearly the same; or if the other one says all that
    this one does, its headline included. On any site, the titles must stand in the texts. Titles
    that differ in numbering only are one if the texts are nearly the same, however short they are.

    Args:
        row: one of them.
        other: the other one.
        alike: the resemblance of their texts, or their containment.
        texts: of the batch.

    Returns:
        The reason of a verdict.
    """
    if _have_one_title(row, other, texts) is not False:
        return None
    first, second = texts.of(row), texts.of(other)
    titles = row.title or "", other.title or ""
    if row.site == other.site:
        if alike >= _SAME_PAGE and _are_renamed(row, other, texts):
            return None
        is_long = min(_words_left(row, texts), _words_left(other, texts)) >= LONG_TEXT
        if not (is_long and alike >= LIKELY_COPY) and not _is_all_said(row, other, texts):
            return Reason.OTHER_TITLE
    if first is None or second is None:
        return None
    shown = first.text, second.text
    if alike < _NEARLY_ALL:
        shown = _in_common(first, second), _in_common(second, first)
    if _is_about(titles[0], shown[1]) and _is_about(titles[1], shown[0]):
        return None
    return Reason.TITLE_NOT_IN_TEXT


def _is_all_said(row: Row, other: Row, texts: Texts) -> bool:
    """Whether another page has every line of a page, and its headline as a line."""
    both = texts.lines(row, other, 0)
    if both is None:
        return False
    headline = next(iter(title_parts(row.title or "")), 0)
    return headline in map(title_key, both[1]) and not own_lines(*both)


def _is_about(title: str, text: str) -> bool:
    """Whether more than half of a title stands in a text."""
    return title_share(title, text) > _LEAST_TITLE


def _in_common(text: PreparedText, other: PreparedText) -> str:
    """Lines of a text that another one has too, if they are most of it; else all of it."""
    is_shared = np.isin(text.keys, other.keys)
    if 2 * text.characters[is_shared].sum() < text.characters.sum():
        return text.text
    return "\n".join(compress(text.lines, is_shared.tolist()))


def is_version(row: Row, other: Row, texts: Texts) -> bool:
    """Whether two pages of one site are versions of one page, by titles and whole texts."""
    is_titled = _have_one_title(row, other, texts)
    if is_titled is not False:
        return bool(is_titled)
    alike = texts.measure(row, other, whole=True).resemblance
    return alike >= _SAME_PAGE and apart(row, other, alike, texts) is None


def _have_one_title(a: Row, b: Row, texts: Texts) -> bool | None:
    """Whether two pages have one title or headline; None if one has no title."""
    keys = title_key(a.title or ""), title_key(b.title or "")
    if not all(keys):
        return None
    if keys[0] == keys[1]:
        return True
    parts = texts.title_parts(a.site)
    return has_same_headline(parts(a.title or ""), parts(b.title or ""))


def are_same_document(a: Row, b: Row, texts: Texts) -> bool:
    """Whether two pages are of one site and have one title, apart from numbering."""
    return a.site == b.site and (_have_one_title(a, b, texts) is True or _are_renamed(a, b, texts))


def _are_renamed(a: Row, b: Row, texts: Texts) -> bool:
    """Whether the titles of two pages of a site differ in numbering or script only.

    Their URLs end alike.
    A number that the URL has as well says which page it is: `/lesson-1/quiz` and `/lesson-2/quiz`.
    """
    if not end_alike(a.url, b.url):
        return False
    (first, title), (second, other) = split_numbering(a.title or ""), split_numbering(b.title or "")
    if _is_in_folders(first, a) and _is_in_folders(second, b):
        return False
    parts = texts.title_parts(a.site)
    return scripts(title) != scripts(other) or has_same_headline(parts(title), parts(other))


def _is_in_folders(number: str, row: Row) -> bool:
    found = _NUMBER.findall(folders_of(row.url).casefold())
    return number.casefold() in (part.lstrip("0") for part in found)


def is_only_template(row: Row, texts: Texts, min_words: int) -> bool:
    """Whether too little is left of a page without its site's template."""
    split = texts.split(row)
    return split is not None and split.is_only_template(
        row.words, min_words, texts.scheme.canonical
    )


def is_measured(page: Signed, others: Sequence[Signed], rules: Rules) -> bool:
    """Whether one of the candidates of a page is alike enough to be measured."""
    rule = MatchRule.by(rules)
    minima = [other.minima for other in _accepted(page, others, rules)]
    return bool(nearest(page.minima, minima, rule.min_estimate, MAX_CANDIDATES_MEASURED))


def _accepted(row: Signed, candidates: Sequence[_S], rules: Rules) -> Sequence[_S]:
    """Candidates that a method accepts by their signatures alone."""
    method = METHODS[rules.method]
    if not candidates or not (method.supershingles or method.distance):
        return candidates
    accepted = MatchRule.by(rules).accepts(
        np.stack([other.minima for other in candidates]) == row.minima,
        np.array([row.simhash], np.uint64),
        np.array([other.simhash for other in candidates], np.uint64),
    )
    return [other for other, taken in zip(candidates, accepted, strict=True) if taken]


def _measure(row: Row, other: Row, least: float, texts: Texts) -> Alike:
    """Measure two pages without the templates of their sites.

    Pages of one site can only look more alike by its template: whole, they must be alike as well.
    With one title they are one page, if they are nearly the same as a whole.
    """
    left = texts.measure(row, other)
    if row.site != other.site:
        return left
    whole = texts.measure(row, other, whole=True)
    if whole.resemblance >= max(least, _SAME_PAGE) and are_same_document(row, other, texts):
        return whole
    return min(left, whole)


def _words_left(row: Row, texts: Texts) -> int:
    """Words of a page without its site's template."""
    split = texts.split(row)
    return row.words if split is None else split.words_left(row.words, texts.scheme.canonical)
