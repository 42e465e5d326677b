"""Groups of an original and its duplicates: how pages join and leave them.

A group that loses its original is decided anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shingling.rules.reasons import Reason
from shingling.similarity.match_rule import MatchRule
from shingling.sketch import FUNCTIONS
from shingling.store.decide.alike import Choice, Decision, apart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from shingling.arrays import Minima
    from shingling.rules.rules import Rules
    from shingling.store.decide.page_cache import PageCache
    from shingling.store.decide.reviews import Reviews
    from shingling.store.decide.texts import Texts
    from shingling.store.index import Lookup
    from shingling.store.schema.rows import Row


class Groups:
    """The groups of the pages of a batch, changed in memory.

    Args:
        pages: that were read.
        reviews: of them.
        texts: of them.
        lookup: finds the originals.
        rules: how pages are decided.

    Attributes:
        changed: rows to be written, by id.
        placed: ids of pages whose place was decided.
    """

    def __init__(
        self, pages: PageCache, reviews: Reviews, texts: Texts, lookup: Lookup, rules: Rules
    ) -> None:
        self.changed: dict[int, Row] = {}
        self.placed: set[int] = set()
        self._pages, self._reviews = pages, reviews
        self._texts, self._lookup, self._rules = texts, lookup, rules

    def note(self, rows: Iterable[Row]) -> None:
        """Note that rows have changed."""
        for row in rows:
            self.changed[row.id] = row

    def original(self, row: Row) -> Row:
        """Original of the row's group."""
        if row.original_id is None:
            return row
        self._pages.load([row.original_id])
        if row.original_id in self._pages.rows:
            return self._pages.rows[row.original_id]
        self.place(row, Decision("new"))  # its original cannot be read
        return row

    def excluded_originals(self, row: Row) -> set[int]:
        """Ids of the originals whose groups hold a page that is different by a review."""
        return {self.original(other).id for other in self._reviews.pages(row, same=False)}

    def place(self, row: Row, decision: Decision) -> None:
        """Attach a page to its original, or make it one, which later pages of the batch find."""
        original = decision.original
        is_kept = original is None and decision.status != "skipped"
        row.status = "new" if is_kept else decision.status
        row.original_id = None if original is None else original.id
        row.resemblance, row.containment = decision.resemblance, decision.containment
        row.reason = decision.reason
        row.compared_id = None if decision.compared_with is None else decision.compared_with.id
        self.note([row])
        self.placed.add(row.id)
        if original is not None:
            self._pages.add(row)
            self._lookup.drop(row.id)
        elif row.words >= self._texts.scheme.min_comparable_words:
            self._lookup.place(row.id, row, self.sample(row))

    def sample(self, row: Row) -> list[int]:
        """Keys by which pieces of the row are found; none of a short text."""
        if not self._lookup.index.sampled or row.status == "skipped":
            return []
        return self._texts.sample(row.scope, self._texts.of(row))

    def detach(
        self, row: Row, former: Row | None = None, originals: Sequence[Row] = ()
    ) -> Sequence[Row]:
        """Take a page out of its group; it is in none then.

        Args:
            row: the page.
            former: the row before its text changed, if it has.
            originals: that its duplicates may follow besides.

        Returns:
            The duplicates that it had.
        """
        members = self._pages.members(row) if row.is_original else []
        self.promote_copy(former or row, {row.id})
        self.place(row, Decision("new"))
        self.regroup(members, {row.id}, originals)
        return members

    def make_original(self, row: Row, decision: Decision, reason: Reason | None = None) -> Decision:
        """Make a page the original of one that it would follow.

        That one was its duplicate before it changed: it was dropped, and perhaps never came out. If
        both change, one after the other, both would be dropped. Or that one is gone from the web.

        Args:
            row: the page.
            decision: by which it would follow the other one.
            reason: why it is the original.
        """
        other = decision.original
        assert other is not None
        members = [other, *self._pages.members(other)]
        made = Decision("new", reason=reason, candidates=decision.candidates)
        self.place(row, made)
        self.regroup([one for one in members if one is not row], (), [row])
        return made._replace(template=decision.template)

    def join(self, row: Row, original: Row) -> None:
        """Make a page a duplicate of an original because of a review."""
        self.detach(row, originals=[original])
        self.place(row, self.by_review(row, original))

    def by_review(self, row: Row, original: Row) -> Decision:
        """Decision that a page is a duplicate of an original, however alike they are."""
        same = row.text_hash == original.text_hash
        measured = self._texts.measure(row, original)
        return Decision("exact" if same else "near", original, *measured, reason=Reason.REVIEW)

    def promote_copy(self, row: Row, leaving: Collection[int]) -> None:
        """Have the oldest exact copy of a near-duplicate that leaves its group take over.

        Only one page of a text is looked up by it: the near-duplicate.
        """
        if row.status != "near":
            return
        original = self.original(row)
        self._pages.members(original)  # they are read
        copies = [
            other
            for other in self._pages.of_text(row.text_hash)
            if other.is_member_of(original) and other.id not in leaving and other is not row
        ]
        if copies and all(other.status == "exact" for other in copies):
            successor = copies[0]
            successor.status, successor.reason, successor.compared_id = "near", row.reason, None
            successor.resemblance, successor.containment = row.resemblance, row.containment
            for other in copies[1:]:
                other.compared_id = successor.id
            self.note(copies)

    def regroup(
        self, members: Sequence[Row], leaving: Collection[int], originals: Sequence[Row] = ()
    ) -> None:
        """Make groups of duplicates whose original is gone.

        The oldest takes its place. Each of the others, in order of age, follows the most alike of
        the new originals, or becomes one if none is alike enough.

        Args:
            members: the duplicates, oldest first.
            leaving: ids of pages that none of them may follow.
            originals: that they may follow besides.
        """
        originals = [*originals]
        minima = np.empty((len(originals) + len(members), FUNCTIONS), dtype=np.uint32)
        for at, original in enumerate(originals):
            minima[at] = original.minima
        undecided = {row.id for row in members}
        for row in members:
            undecided.discard(row.id)
            decision = self._choose(row, originals, minima, leaving, undecided)
            self.place(row, decision)
            if decision.original is None:
                minima[len(originals)] = row.minima
                originals.append(row)

    def _choose(
        self,
        row: Row,
        originals: Sequence[Row],
        minima: Minima,
        leaving: Collection[int],
        undecided: Collection[int],
    ) -> Decision:
        """Decide which of new originals, given with their minima, a row follows; or none."""
        excluded = self.excluded_originals(row)
        excluded |= {original.id for original in originals if original.is_of_page_of(row)}
        reviewed = [
            self.original(other)
            for other in self._reviews.pages(row, same=True)
            if other.id not in undecided and other.id not in leaving
        ]
        excluded |= {original.id for original in reviewed if original.id in leaving}
        choice = Choice(row, self._texts, self._rules)
        for original in reviewed:
            if original is not row and original.id not in excluded:
                return self.by_review(row, original)
        for original in originals:
            is_other = original.text_hash != row.text_hash or original.id in excluded
            if is_other or apart(row, original, 1.0, self._texts):
                continue
            if decision := choice.if_all_is_said(Decision("exact", original, 1.0, 1.0)):
                return decision
        decision = self._nearest(choice, originals, minima, excluded)
        if decision is None and row.words < self._rules.min_words:
            return Decision("skipped")
        return decision or choice.as_original()

    def _nearest(
        self,
        choice: Choice,
        originals: Sequence[Row],
        minima: Minima,
        excluded: Collection[int],
    ) -> Decision | None:
        row, rules = choice.row, self._rules
        if not rules.finds_near:
            return None
        eligible = [
            at
            for at, original in enumerate(originals)
            if original.id not in excluded and original.words >= rules.min_words
        ]
        estimates = (minima[eligible] == row.minima).mean(axis=1)
        enough = MatchRule.by(rules).min_estimate
        likely = [
            originals[at] for at, one in zip(eligible, estimates, strict=True) if one >= enough
        ]
        decision = choice.nearest(likely)
        if decision is None and rules.containment is not None:
            wholes = sorted((originals[at] for at in eligible), key=lambda one: -one.words)
            decision, _ = choice.whole(wholes)
        return decision
