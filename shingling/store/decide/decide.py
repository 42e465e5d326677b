"""How a page is decided, by what was read for it.

Nothing is changed here, and only the texts that are measured are read from the database.
Resemblance finds the originals that a page may follow. On one site it does not decide alone: a page
that says something of its own in few words is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from shingling.rules import METHODS
from shingling.rules.reasons import Reason
from shingling.similarity.match_rule import MAX_CANDIDATES_MEASURED, MatchRule
from shingling.similarity.measures import distance as simhash_distance
from shingling.sketch import FUNCTIONS
from shingling.store.decide.pair import Pair
from shingling.store.decide.read import Ignored
from shingling.store.decide.texts import Similarity
from shingling.store.decide.titles import different_document_reason

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from shingling.rules.rules import Rules
    from shingling.similarity.own_text import OwnPassage
    from shingling.store.decide.read import Candidate, PageState
    from shingling.store.decide.texts import Texts
    from shingling.store.index import Signed
    from shingling.store.model import Status
    from shingling.store.schema.rows import Row

_S = TypeVar("_S", bound="Signed")

_MAX_READ = 4  # originals of a page whose texts are searched for what it says besides
_LEAST_SHARE = 0.25  # of a page on another site that its piece makes up: it claims four at most


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: as measured: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original, or the page that it was compared with.
        compared_with: the page that decided, if that is not the original.
        replaces: the original whose place the page takes, which is no longer met.
        fields: names of the fields in which its item says something else.
        passage: that its text has of its own, whether it counts or not; None: not looked for.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: Status
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    compared_with: Row | None = None
    replaces: Row | None = None
    fields: Sequence[str] = ()
    passage: OwnPassage | None = None
    reason: Reason | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None


def decide(page: PageState, texts: Texts, rules: Rules) -> Decision:
    """Decide a page.

    Args:
        page: what was read of it.
        texts: of the batch.
        rules: how pages are decided.
    """
    if page.cause is None:
        decision = _stored_decision(page, rules)
    else:
        decision = _Steps(page, texts, rules).decision()
        if decision.original is None and rules.rank(page.row.site) < len(rules.prefer_sites):
            counted = {None, Ignored.LESS_PREFERRED}
            follower = _Steps(page, texts, rules, counted).decision()
            decision = decision if follower.original is None else follower
    original = decision.original
    if original is None:
        return decision
    if original.id in page.missing:
        reason = Reason.ORIGINAL_MISSING
    elif rules.rank(page.row.site) < rules.rank(original.site):
        reason = Reason.PREFERRED_SITE
    else:
        return decision
    return Decision(
        "new",
        replaces=original,
        reason=reason,
        candidates=decision.candidates,
        template=decision.template,
    )


def decide_by_review(row: Row, original: Row, texts: Texts) -> Decision:
    """Decide that a page is a duplicate of an original, however alike they are."""
    same = row.text_hash == original.text_hash
    measured = texts.measure(row, original)
    return Decision("exact" if same else "near", original, *measured, reason=Reason.REVIEW)


def _stored_decision(page: PageState, rules: Rules) -> Decision:
    """Decision by which a page stands as it does, unless its item says what it did not say."""
    row, original = page.row, page.original
    if original is row:
        if page.compared is None:
            return Decision("new")
        fields = row.differing_fields(page.compared, rules)
        return Decision("new", reason=row.reason, fields=fields)
    stored = Decision(row.status, original, row.resemblance, row.containment, reason=row.reason)
    fields = () if row.reason == Reason.REVIEW else row.differing_fields(original, rules)
    return stored._replace(reason=Reason.OTHER_FIELDS, fields=fields) if fields else stored


class _Near(NamedTuple):
    """A decision that a page follows an original which is alike, with the resemblance of both."""

    resemblance: float
    decision: Decision


@dataclass
class _Steps:
    """The steps by which a page is decided, and what is found out on the way.

    Args:
        page: what was read of it.
        texts: of the batch.
        rules: how pages are decided.
        counted: candidates that count, by the reason to ignore them.

    Attributes:
        rejected: that the page is new, compared with the most alike one that its title tells it
            apart from, with the reason.
        kept: how the page would follow one but for what its item or its text says, with the reason.
        looked_at: ids of originals that it was compared with.
        contains: URL of an original that is a piece of the page.
    """

    page: PageState
    texts: Texts
    rules: Rules
    counted: Collection[Ignored | None] = (None,)
    rejected: Decision | None = None
    kept: Decision | None = None
    looked_at: set[int] = field(default_factory=set)
    contains: str | None = None
    _texts_searched: int = 0
    _rejected_rank: tuple[float, int] = (-1.0, 0)

    def __post_init__(self) -> None:
        self.row, self._rule = self.page.row, MatchRule.by(self.rules)
        # What other pages of its site show too says nothing of a page, except that it is the same
        # as one with its title.
        self.is_template = self.texts.is_only_template(self.row, self.rules.min_words)

    def decision(self) -> Decision:
        """Take the steps, numbered as in docs/explanation/deciding.md: the first decision holds.

        That too little text is left is found out by step 2 after step 3: only its title can tell
        that such a page is a copy.
        """
        decision = (
            self._by_review()
            or self._same_text()
            or self._nothing_to_measure()
            or self._nearest()
            or self._nothing_but_template()
            or self._piece()
            or self._new()
        )
        split = self.texts.split(self.row)
        return decision if split is None else decision._replace(template=split.template_share)

    def _by_review(self) -> Decision | None:
        """Follow the original that a review names: it goes before every measure."""
        if not self.page.reviewed:
            return None
        return decide_by_review(self.row, self.page.reviewed[0], self.texts)

    def _same_text(self) -> Decision | None:
        """3. Follow the original of the first page with the same text that is the same document.

        Less than one shingle says nothing of a page, and a short text or a template nothing without
        its title. Where only the same text counts, short ones without titles are the same, too.
        """
        row, min_words = self.row, self.rules.min_words
        only_exact = not self.rules.finds_near
        if row.words < self.texts.scheme.min_comparable_words and not only_exact:
            return None
        for twin, (original, ignored) in self.page.same_text:
            pair = Pair(row, twin, self.texts)
            if ignored not in self.counted or (self.is_template and not pair.are_one_document):
                continue
            if not pair.is_on_one_site and self.texts.is_only_template(twin, min_words):
                continue
            is_untitled = only_exact and not (row.title or twin.title)
            if row.words < min_words and not is_untitled and not pair.have_one_title:
                continue
            if self._has_other_title(pair, Similarity(1.0, 1.0)):
                continue
            of_twin = Similarity(twin.resemblance or 0.0, twin.containment or 0.0)
            if twin is not original and self._has_other_title(
                Pair(row, original, self.texts), of_twin
            ):
                continue
            equal = Decision("exact", original, 1.0, 1.0, None if twin is original else twin)
            if decision := self._unless_item_differs(equal):
                return decision
        return None

    def _nothing_to_measure(self) -> Decision | None:
        """2. Skip a short text: only a page with the same text is its original."""
        is_short = self.row.words < self.rules.min_words
        if is_short or (self.is_template and not self.rules.finds_near):
            return Decision("skipped", reason=Reason.TEMPLATE if self.is_template else Reason.SHORT)
        return None

    def _nearest(self) -> Decision | None:
        """4. Follow the most alike of the originals that the method accepts.

        It is looked for among those whose items say what that of the page says, and whose texts
        say what its text says. Of the others, one tells what the page would be without its fields.
        """
        row, rules = self.row, self.rules
        originals = self._to_measure(self.page.similar)
        if self.is_template:
            originals = [
                other for other in originals if Pair(row, other, self.texts).are_one_document
            ]
        self.looked_at.update(original.id for original in originals)
        same_fields: list[tuple[Row, float]] = []
        other_fields: list[tuple[Row, float]] = []
        for original, estimate in worth_measuring(row, originals, rules):
            differ = row.differing_fields(original, rules)
            (other_fields if differ else same_fields).append((original, estimate))
        decision = self._most_alike(same_fields)
        if decision is None and self.kept is None:
            for original, _ in self._likeliest(other_fields):
                self._near(original)
                if self.kept is not None:
                    break
        return decision and decision._replace(candidates=len(self.looked_at))

    def _likeliest(self, candidates: Sequence[tuple[Row, float]]) -> list[tuple[Row, float]]:
        """Those originals, given with their estimates from all minima, that are measured.

        The oldest come first among equals.
        """
        ranked = sorted(candidates, key=itemgetter(1), reverse=True)[:MAX_CANDIDATES_MEASURED]
        self.texts.load(original.id for original, _ in ranked)
        return ranked

    def _most_alike(self, candidates: Sequence[tuple[Row, float]]) -> Decision | None:
        """Follow the most alike of some originals, given with their estimates."""
        ranked = self._likeliest(candidates)
        originals = [original for original, _ in ranked]
        best = self._rule.best(
            enumerate(estimate for _, estimate in ranked),
            [original.id for original in originals],
            lambda at: self._near(originals[at]),
        )
        if best is None:
            return None
        at, near = best
        if not METHODS[self.rules.method].distance:
            return near.decision
        distance = simhash_distance(self.row.simhash, originals[at].simhash)
        return near.decision._replace(distance=distance)

    def _near(self, original: Row) -> _Near | None:
        """Follow an original that is alike, unless a title, a field or the text is against it."""
        pair = Pair(self.row, original, self.texts)
        similarity = pair.similarity(self._rule.min_resemblance)
        if not self._is_alike(original, similarity) or self._has_other_title(pair, similarity):
            return None
        decision = self._unless_item_differs(Decision("near", original, *similarity))
        return None if decision is None else _Near(similarity.resemblance, decision)

    def _is_alike(self, original: Row, similarity: Similarity) -> bool:
        """Whether the method accepts an original as it was measured.

        A page that contains it says more. Where no resemblance is asked for, what shares nothing
        but equal minima is forged.
        """
        row, texts, least = self.row, self.texts, self._rule.min_resemblance
        if similarity.resemblance < least or self._rule.contains(texts.overlap(row, original)):
            return False
        if not similarity.resemblance and texts.is_only_template(original, self.rules.min_words):
            return False
        return bool(least) or not texts.are_forged(row, original)

    def _nothing_but_template(self) -> Decision | None:
        """2. Skip a page that only shows its site's template, and is no copy of another one."""
        if not self.is_template or self.kept is not None:
            return None
        return Decision("skipped", reason=Reason.TEMPLATE, candidates=len(self.looked_at))

    def _piece(self) -> Decision | None:
        """Follow the original that the page is a piece of; find one that it contains.

        The originals come with the likeliest first; among equals it wins. A piece has no more
        shingles than its whole, and on another site at least a quarter of them: a page that
        collects the articles of a site must not take them all.
        """
        row, least = self.row, self.rules.containment
        if least is None:
            return None
        piece: Decision | None = None
        most, most_contained = 0.0, (0.0, "")
        originals = self._to_measure(self.page.wholes)
        self.looked_at.update(original.id for original in originals)
        for other in originals[:MAX_CANDIDATES_MEASURED]:
            both = self.texts.overlap(row, other)
            if both is None or both.containment < least:
                continue
            if row.site != other.site and both.a < _LEAST_SHARE * both.b:
                continue
            pair = Pair(row, other, self.texts)
            if both.a > both.b:
                contained = both.containment, other.url
                most_contained = max(most_contained, contained, key=itemgetter(0))
                continue
            similarity = Similarity(both.resemblance, both.containment)
            if self._has_other_title(pair, similarity, is_piece=True):
                continue
            if both.containment > most:
                decision = Decision("near", other, *similarity, reason=Reason.PIECE)
                if said := self._unless_item_differs(decision):
                    piece, most = said, both.containment
        self.contains = most_contained[1] or None
        return None if piece is None else piece._replace(candidates=len(self.looked_at))

    def _new(self) -> Decision:
        """5. It is like no other page, or says more than that: an original."""
        made = self.rejected or Decision("new")
        if self.kept is not None:
            compared = self.kept.compared_with or self.kept.original
            made = self.kept._replace(original=None, compared_with=compared)
        return made._replace(candidates=len(self.looked_at), contains=self.contains)

    def _to_measure(self, candidates: Iterable[Candidate]) -> list[Row]:
        """Originals that count and are long enough to be measured."""
        fewest = self.rules.min_words
        counted = [candidate.row for candidate in candidates if candidate.ignored in self.counted]
        return [row for row in counted if row.words >= fewest]

    def _has_other_title(
        self, pair: Pair, similarity: Similarity, *, is_piece: bool = False
    ) -> bool:
        """Whether the page and another one are two documents by their titles, if these count.

        The most alike one is noted.

        Args:
            pair: both.
            similarity: of their texts.
            is_piece: whether one is a piece of the other one: then containment tells how alike
                they are.
        """
        if self.rules.titles == "ignore":
            return False
        resemblance, containment = similarity
        reason = different_document_reason(pair, containment if is_piece else resemblance)
        if reason is None:
            return False
        rank = resemblance, -pair.other.id
        if rank > self._rejected_rank:
            self._rejected_rank = rank
            self.rejected = Decision("new", None, *similarity, pair.other, reason=reason)
        return True

    def _unless_item_differs(self, decision: Decision) -> Decision | None:
        """Take a decision unless the item or its text says more than the original."""
        assert decision.original is not None
        fields = self.row.differing_fields(decision.original, self.rules)
        if not fields:
            return self._unless_text_differs(decision)
        self._note_kept(decision._replace(fields=fields, reason=Reason.OTHER_FIELDS))
        return None

    def _unless_text_differs(self, decision: Decision) -> Decision | None:
        """Take a decision, with what differs, unless the text says more than the original."""
        other, mode = decision.original, self.rules.own_text
        assert other is not None
        if self.row.site != other.site or mode == "ignore":
            return decision
        self._texts_searched += 1
        passage = None
        if self._texts_searched <= _MAX_READ:
            pair = Pair(self.row, other, self.texts)
            passage = pair.own_passage(self.rules)
            if passage is None or not passage.counts:
                return decision._replace(passage=passage)
        self._note_kept(decision._replace(passage=passage, reason=Reason.OWN_TEXT))
        return None

    def _note_kept(self, decision: Decision) -> None:
        """Note how the page would be decided but for what it says; the most alike one counts."""
        if self.kept is None or (decision.resemblance or 0) > (self.kept.resemblance or 0):
            self.kept = decision


def worth_measuring(page: Signed, candidates: Sequence[_S], rules: Rules) -> list[tuple[_S, float]]:
    """Candidates that are accepted and look alike enough by their signatures, with estimates."""
    if not candidates:
        return []
    is_enough, equal = MatchRule.by(rules).worth_measuring(
        np.stack([other.minima for other in candidates]) == page.minima,
        np.array([page.simhash], np.uint64),
        np.array([other.simhash for other in candidates], np.uint64),
    )
    estimates = (equal / FUNCTIONS).tolist()
    return [*compress(zip(candidates, estimates, strict=True), is_enough.tolist())]
