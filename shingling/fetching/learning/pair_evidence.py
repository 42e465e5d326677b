"""What a pair of compared pages says about the changes that make their URLs equal.

Two pages that are the same speak for each of these changes. Of two that differ, one change is to
blame, and often nobody knows which one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import DROP_PAIR, ONE_PAGE, Change, value_dropped
from shingling.fetching.learning.evidence import is_of_content, is_of_mirrors

if TYPE_CHECKING:
    from collections.abc import Collection

    from shingling.fetching.learning.comparing import Pair
    from shingling.fetching.learning.rules import SiteRules
    from shingling.fetching.learning.site_pages import SitePages
    from shingling.fetching.learning.snapshots import VolatileSentences
    from shingling.fetching.learning.together import ParametersTogether

_BLAMED_ALONE = 10  # times as risky as every other change is the one that bears all blame
_MAX_SUSPECT_SETS = 256


class PairEvidence:
    """Counts pairs of pages of one site for or against changes of its URLs.

    Args:
        rules: of the site, which hold the counts.
        pages: of the site.
        volatile: sentences that change with each fetch.
        together: parameters of the site that always come together.
    """

    def __init__(
        self,
        rules: SiteRules,
        pages: SitePages,
        volatile: VolatileSentences,
        together: ParametersTogether,
    ) -> None:
        self._rules = rules
        self._pages = pages
        self._volatile = volatile
        self._together = together
        # Sets of changes by which two pages differed when none of the set was trusted: any of them
        # may be to blame, so this did not count. As long as none is trusted, pages that are the
        # same by the set do not count either, or only those would that speak for it. Sets are only
        # added.
        self._suspect_sets = set[frozenset[Change]]()

    def count_same(
        self, pair: Pair, counted: Collection[Change] = (), *, is_only_content: bool = False
    ) -> set[Change]:
        """Count the later page of a pair, which is the same as the earlier one, for their changes.

        Args:
            pair: both pages.
            counted: changes for which the later page was counted before, with another pair.
            is_only_content: the path of its URL has shown no other page, so that URLs count.

        Returns:
            The changes for which it is counted now.
        """
        if self._not_trusted(self._risks(pair)) in self._suspect_sets:
            return set()
        earlier = self._pages.parts(pair.number)
        content = self._volatile.content(pair.snapshot)
        has_id = any(map(is_of_content, pair.changes))  # /thread?id=5 and /post?id=51
        counted_now = set[Change]()
        for change in (*pair.changes, *self._together.around(pair.changes)):
            if change in counted or (has_id and is_of_mirrors(change)):
                continue
            if change.kind == DROP_PAIR and len(earlier.segments) == len(pair.parts.segments):
                continue  # both have the pair: /en/1.0/a and /en/1.1/a are mirrors
            counted_now.add(change)
            count_urls = is_only_content or change.kind == ONE_PAGE
            self._rules.agree(change, pair.nodes, content, count_urls)
            tree = self._rules.trees.get(change)
            if is_of_content(change) or (tree and tree.root.contradicted):
                value = value_dropped(earlier, pair.parts, change)
                if value and value not in counted:
                    counted_now.add(value)
                    self._rules.agree(value, pair.nodes, content)
        return counted_now

    def count_other(self, pair: Pair, counted: Collection[Change] = ()) -> None:
        """Count the later page of a pair, which is another one, against the changes to blame.

        It does not count if several changes are not trusted, or say that there are mirrors: then
        nobody knows which one is to blame.

        Args:
            pair: both pages.
            counted: changes for which the later page was counted, with another pair.
        """
        risks = self._risks(pair)
        doubtful = [
            change
            for change, risk in risks.items()
            if is_of_mirrors(change) or risk > self._rules.max_risk
        ]
        if len(doubtful) > 1:
            suspects = self._not_trusted(risks)
            if len(suspects) > 1 and len(self._suspect_sets) < _MAX_SUSPECT_SETS:
                self._suspect_sets.add(suspects)
            return
        blame = _split_blame(risks)
        if len(blame) == 1:
            [change] = blame
            value = value_dropped(self._pages.parts(pair.number), pair.parts, change)
            if value and value in self._rules.trees:
                blame[value] = 1.0
        self._contradict(pair, blame, counted)

    def count_wrong_skip(self, pair: Pair) -> None:
        """Count the later page of a pair, which was or would have been lost by a skip."""
        self._contradict(pair, _split_blame(self._risks(pair)))

    def _risks(self, pair: Pair) -> dict[Change, float]:
        """Risk of each change of a pair; if that is smaller, of all that come together with it."""
        return {
            change: min(
                self._rules.risk(suspect, pair.nodes)
                for suspect in (change, *self._together.around([change]))
            )
            for change in pair.changes
        }

    def _not_trusted(self, risks: dict[Change, float]) -> frozenset[Change]:
        """Find the changes whose risk is too large; one for all parameters that come together."""
        return frozenset(
            next(self._together.around([change]), change)
            for change, risk in risks.items()
            if risk > self._rules.max_risk
        )

    def _contradict(
        self, pair: Pair, blame: dict[Change, float], counted: Collection[Change] = ()
    ) -> None:
        """Count the later page of a pair against each change, by its share of the blame."""
        content = self._volatile.content(pair.snapshot)
        for change, share in blame.items():
            is_unknown = change.kind == ONE_PAGE and change not in self._rules.trees
            if change in counted or is_unknown:
                continue
            self._rules.contradict(change, pair.nodes, content, share)


def _split_blame(risks: dict[Change, float]) -> dict[Change, float]:
    """Split the blame for a lost page among the riskiest changes; mirrors bear it alone.

    Args:
        risks: of the changes that may have lost it.

    Returns:
        The probability of each change that it has lost the page.
    """
    riskiest = max(risks, key=lambda change: (is_of_mirrors(change), risks[change]))
    if is_of_mirrors(riskiest):
        return {riskiest: 1.0}
    least = risks[riskiest] / _BLAMED_ALONE
    suspects = {change: risk for change, risk in risks.items() if risk >= least}
    total = sum(suspects.values()) or 1.0
    return {change: risk / total for change, risk in suspects.items()}
