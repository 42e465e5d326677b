"""What a pair of compared pages says about the changes that make their URLs equal.

Two pages that are the same speak for each of these changes. Of two that differ, one change is to
blame, and often nobody knows which one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import DROP_PAIR, ONE_PAGE, UrlChange, value_dropped
from shingling.fetching.learning.evidence import is_of_content, is_of_mirrors

if TYPE_CHECKING:
    from collections.abc import Collection

    from shingling.fetching.learning.looking import ComparedPage
    from shingling.fetching.learning.site_pages import SitePages

_BLAMED_ALONE = 10  # times as risky as every other change is the one that bears all blame
_MAX_SUSPECT_SETS = 256


class PairEvidence:
    """Counts pairs of pages of one site for or against changes of its URLs.

    Args:
        pages: of the site, whose rules hold the counts.
    """

    def __init__(self, pages: SitePages) -> None:
        self._rules = pages.rules
        self._pages = pages
        # Sets of suspects by which two pages differed: any of them may be to blame, so this did not
        # count. As long as they are the suspects, pages that are the same do not count either, or
        # only those would that speak for them. Sets are only added.
        self._suspect_sets = set[frozenset[UrlChange]]()

    def count_same(
        self,
        pair: ComparedPage,
        counted: Collection[UrlChange] = (),
        *,
        is_only_content: bool = False,
    ) -> set[UrlChange]:
        """Count the later page of a pair, which is the same as the earlier one, for their changes.

        Args:
            pair: both pages.
            counted: changes for which the later page was counted before, with another pair.
            is_only_content: the path of its URL has shown no other page, so that URLs count.

        Returns:
            The changes for which it is counted now.
        """
        if self._suspects(self._risks(pair)) in self._suspect_sets:
            return set()
        earlier = self._pages.parts(pair.number)
        is_new = bool(self._pages.new[pair.number])
        has_id = any(map(is_of_content, pair.changes))  # /thread?id=5 and /post?id=51
        counted_now = set[UrlChange]()
        for change in pair.changes:
            if change in counted or (has_id and is_of_mirrors(change)):
                continue
            if change.kind == DROP_PAIR and len(earlier.segments) == len(pair.page.parts.segments):
                continue  # both have the pair: /en/1.0/a and /en/1.1/a are mirrors
            counted_now.add(change)
            count_urls = is_only_content or change.kind == ONE_PAGE
            self._rules.agree(change, pair.nodes, pair.page.content, is_new, count_urls)
            tree = self._rules.trees.get(change)
            if is_of_content(change) or (tree and tree.root.contradicted):
                value = value_dropped(earlier, pair.page.parts, change)
                if value and value not in counted:
                    counted_now.add(value)
                    self._rules.agree(value, pair.nodes, pair.page.content, is_new)
        return counted_now

    def count_other(self, pair: ComparedPage, counted: Collection[UrlChange] = ()) -> None:
        """Count the later page of a pair, which is another one, against the changes to blame.

        It does not count if there are several suspects: then nobody knows which one is to blame.

        Args:
            pair: both pages.
            counted: changes for which the later page was counted, with another pair.
        """
        risks = self._risks(pair)
        suspects = self._suspects(risks)
        if len(suspects) > 1:
            if len(self._suspect_sets) < _MAX_SUSPECT_SETS:
                self._suspect_sets.add(suspects)
            return
        blame = _split_blame(risks)
        if len(blame) == 1:
            [change] = blame
            value = value_dropped(self._pages.parts(pair.number), pair.page.parts, change)
            if value and value in self._rules.trees:
                blame[value] = 1.0
        self._contradict(pair, blame, counted)

    def count_wrong_skip(self, pair: ComparedPage) -> None:
        """Count the later page of a pair, which was or would have been lost by a skip."""
        self._contradict(pair, _split_blame(self._risks(pair)))

    def _risks(self, pair: ComparedPage) -> dict[UrlChange, float]:
        """Risk of each change of a pair."""
        return {change: self._rules.risk(change, pair.nodes) for change in pair.changes}

    def _suspects(self, risks: dict[UrlChange, float]) -> frozenset[UrlChange]:
        """Find the changes that are not trusted, and beside them those that say there are mirrors.

        If all changes are trusted, none is suspect: one of them is wrong in any case.
        """
        if max(risks.values()) <= self._rules.max_risk:
            return frozenset()
        return frozenset(
            change
            for change, risk in risks.items()
            if risk > self._rules.max_risk or is_of_mirrors(change)
        )

    def _contradict(
        self, pair: ComparedPage, blame: dict[UrlChange, float], counted: Collection[UrlChange] = ()
    ) -> None:
        """Count the later page of a pair against each change, by its share of the blame."""
        for change, share in blame.items():
            is_unknown = change.kind == ONE_PAGE and change not in self._rules.trees
            if change in counted or is_unknown:
                continue
            self._rules.contradict(change, pair.nodes, pair.page.content, share)


def _split_blame(risks: dict[UrlChange, float]) -> dict[UrlChange, float]:
    """Split the blame for a lost page among the riskiest changes; if there are, among mirrors.

    Args:
        risks: of the changes that may have lost it.

    Returns:
        The probability of each change that it has lost the page.
    """
    risks = {change: risk for change, risk in risks.items() if is_of_mirrors(change)} or risks
    least = max(risks.values()) / _BLAMED_ALONE
    suspects = {change: risk for change, risk in risks.items() if risk >= least}
    total = sum(suspects.values())
    return {change: risk / total for change, risk in suspects.items()}
