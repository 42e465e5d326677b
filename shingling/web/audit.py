"""Page of the duplicates that are wrong if any are, and of what an audit of them has found."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shingling.admin.audit import Drops, riskiest_drops
from shingling.proportions import most_wrong, number_needed
from shingling.web.lists import next_rows, rows_asked
from shingling.web.requests import read, whole_number
from shingling.web.store_threads import PATIENCE, LongRead
from shingling.web.walks import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shingling.store.session import Session
    from shingling.web.store_threads import StoreThreads

DROPS_SHOWN = 50
FIRST, SHARE = 20, 0.01
"""Duplicates that are looked at first, and the share of wrong ones that one may aim at."""

SHOWN = ("duplicates", "looked_at", "wrong", "at_most", "needed", "rows", "next")
"""Names of the values that are data."""

_MAX_WRONG = 100  # of more, nobody asks whether it is less than one in a hundred


@dataclass
class Audit(LongRead):
    """The riskiest duplicates, as they were when they were listed."""

    drops: Drops | None = None

    def read(self, session: Session, show: Callable[[int, int], None]) -> None:
        """Look at all duplicates."""
        self.drops = riskiest_drops(session, show)


class AuditPage:
    """The page of one store; its list stays until another one is asked for.

    Args:
        stores: whose threads look at all duplicates.
    """

    def __init__(self, stores: StoreThreads) -> None:
        self._stores = stores
        self._starting = threading.Lock()
        self._audit: Audit | None = None

    def begin(self, *, anew: bool = True) -> Audit:
        """Begin an audit, unless one is being listed."""
        with self._starting:
            if self._audit is None or (anew and not self._audit.is_running):
                self._audit = Audit()
                self._stores.begin(self._audit.run)
            return self._audit

    def show(self, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
        """Show how far the audit is, and some of the duplicates."""
        audit = self.begin(anew=False)
        audit.over.wait(PATIENCE)
        walk = self.walk(session)
        rows = [] if walk is None else walk.rows
        begin = read(query, "after", whole_number) or 0
        end = begin + rows_asked(query, DROPS_SHOWN)
        looked_at, wrong = (
            (0, 0) if walk is None else (len(walk.said), [*walk.said.values()].count(False))
        )
        number = 0 if audit.drops is None else audit.drops.number
        return {
            "audit": audit,
            "walk": walk,
            "duplicates": number,
            "looked_at": looked_at,
            "wrong": wrong,
            "at_most": most_wrong(wrong, looked_at) if looked_at else None,
            "needed": number_needed(wrong, SHARE) if wrong <= _MAX_WRONG else None,
            "first": min(FIRST, number),
            "hoped": most_wrong(0, min(FIRST, number)) if number else None,
            "rows": rows[begin:end],
            "next": next_rows("/audit", query, end if end < len(rows) else None),
        }

    def walk(self, session: Session) -> Walk | None:
        """Duplicates that are looked at; None while they are being listed."""
        audit = self._audit
        if audit is None or audit.drops is None:
            return None
        return Walk.of(session, "/audit", ("audit", "yes"), audit.drops.riskiest, audit.begun)
