"""Page of the duplicates that are wrong if any are, and of what an audit of them has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.admin.audit import Drops, riskiest_drops
from shingling.proportions import most_wrong, number_needed
from shingling.web.requests import part_of
from shingling.web.store_threads import PATIENCE
from shingling.web.walks import WalkPage

if TYPE_CHECKING:
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

FIRST, SHARE = 20, 0.01
"""Duplicates that are looked at first, and the share of wrong ones that one may aim at."""

SHOWN = ("duplicates", "looked_at", "wrong", "at_most", "needed", "rows", "next")
"""Names of the values that are data."""


class AuditPage(WalkPage[Drops]):
    """The page of one store; its list stays until another one is asked for."""

    name = "audit"

    def rows(self, pairs: Drops) -> list[Values]:
        """Make a row of each of the riskiest duplicates."""
        return [drop._asdict() for drop in pairs.riskiest]

    def start(self, _: Fields) -> None:
        """List all duplicates anew, unless they are being listed."""
        self.begin(riskiest_drops, "yes")

    def show(self, session: Session, query: Fields) -> Values:
        """Show how far the audit is, and some of the duplicates."""
        audit = self.last or self.begin(riskiest_drops, "yes")
        drops, problem = audit.found(PATIENCE)
        walk = self.walk(session)
        answers = [] if walk is None else walk.answers
        looked_at, wrong = len(answers), answers.count(False)
        number = 0 if drops is None else drops.number
        return {
            "audit": audit,
            "problem": problem,
            "walk": walk,
            "duplicates": number,
            "looked_at": looked_at,
            "wrong": wrong,
            "at_most": most_wrong(wrong, looked_at) if looked_at else None,
            # Of more, nobody asks whether it is less than one in a hundred.
            "needed": number_needed(wrong, SHARE) if wrong <= 100 else None,
            "first": min(FIRST, number),
            "most_wrong": most_wrong,
            **part_of([] if walk is None else walk.rows, query),
        }
