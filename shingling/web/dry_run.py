"""What another threshold would change: a dry run, the pages, their reviews, and what to take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from shingling.admin.rebuild import compare_rules
from shingling.errors import ShinglingError
from shingling.store import Store
from shingling.tuning.advice import advise
from shingling.web.shown import link

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from shingling.admin.rebuild import Change, Compared
    from shingling.store.session import Session
    from shingling.tuning.advice import Advice


@dataclass
class DryRun:
    """What another threshold would change, as far as it is known.

    Args:
        threshold: that all pages are decided by.
        present: threshold that it is compared with, by which they are decided again as well.
        is_running: whether it has not ended.
        done: number of decisions so far.
        total: number of all decisions, two for each page.
        compared: what changes, at the end; None before, and if it failed.
        ended: when it did.
        problem: why it failed.
    """

    threshold: float
    present: float = 0.0
    is_running: bool = True
    done: int = 0
    total: int = 0
    compared: Compared | None = None
    ended: datetime | None = None
    problem: str = "the dry run failed"

    def run(self, opened: Callable[[], Session], stopped: threading.Event) -> None:
        """Decide all pages, and keep what would change; end early if it is to stop."""

        def progress(done: int, total: int) -> None:
            self.done, self.total = done, total
            if stopped.is_set():
                raise ShinglingError("the dry run was stopped")

        try:
            session = opened()
            present = session.fitting_rules
            self.present = present.threshold
            other = replace(present, threshold=self.threshold)
            self.compared = compare_rules(session, present, other, progress)
        except ShinglingError as error:
            self.problem = str(error)
        finally:
            self.ended, self.is_running = datetime.now(UTC), False


@dataclass(frozen=True)
class Walk:
    """Pages that a dry run would change, to be reviewed one after another.

    Args:
        threshold: of the dry run.
        changes: in their order.
        said: of those whose pair is reviewed, by their place: whether the two are the same.
    """

    threshold: float
    changes: Sequence[Change]
    said: dict[int, bool]

    @classmethod
    def of(cls, session: Session, dry_run: DryRun) -> Walk | None:
        """Look up what is said of the pairs; None if the dry run has not come to its end."""
        if dry_run.compared is None:
            return None
        changes = dry_run.compared.changes.examples
        said = {frozenset((one.a, one.b)): one.same for one in Store(session).admin.reviews()}
        pairs = (frozenset((one.url, one.other)) for one in changes)
        places = {place: said[pair] for place, pair in enumerate(pairs) if pair in said}
        return cls(dry_run.threshold, changes, places)

    def rows(self, kind: str | None) -> list[dict[str, Any]]:
        """Rows of a list: of a kind of change, or of all."""
        return [
            {**one._asdict(), "change": one.kind, "same": self.said.get(place)}
            for place, one in enumerate(self.changes)
            if kind in (None, one.kind)
        ]

    @property
    def first(self) -> str | None:
        """Address of the first pair that is not reviewed; None if all are."""
        return self._from(0)

    def after(self, a: str, b: str) -> str:
        """Address of the next pair that is not reviewed, or of the page Threshold."""
        pairs = [{one.url, one.other} for one in self.changes]
        return self._from(pairs.index({a, b}) + 1 if {a, b} in pairs else 0) or "/threshold"

    def address(self, a: str | None, b: str) -> str:
        """Address of an original and a page that would get or leave it."""
        return link("/pair", [("a", a), ("b", b), ("threshold", self.threshold)])

    def _from(self, start: int) -> str | None:
        for place, one in enumerate(self.changes[start:], start):
            if place not in self.said:
                return self.address(one.other, one.url)
        return None

    def advice(self, present: float) -> Advice:
        """Say which threshold to take by the changes that are reviewed."""
        judged = {n: same for n, same in self.said.items() if self.changes[n].kind != "moves"}
        right = sum(same == (self.changes[n].kind == "joins") for n, same in judged.items())
        total = sum(one.kind != "moves" for one in self.changes)
        return advise(present, self.threshold, right, len(judged), total)
