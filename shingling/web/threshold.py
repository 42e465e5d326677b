"""Page that shows what thresholds do: by what is stored, by a dry run, and by reviews."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.admin.rebuild import compare_rules
from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.rules import METHODS
from shingling.store import Store
from shingling.tuning.advice import Advice, advise
from shingling.tuning.evaluation import THRESHOLDS, quality
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.lists import next_rows, rows_asked
from shingling.web.overview import count_resemblances
from shingling.web.requests import needed, read, share, whole_number
from shingling.web.store_threads import PATIENCE, Kept, LongRead
from shingling.web.walks import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from shingling.admin.rebuild import Compared
    from shingling.rules.rules import Rules
    from shingling.store import Review
    from shingling.store.session import Session
    from shingling.tuning.report import Report
    from shingling.web.overview import BarChart
    from shingling.web.store_threads import StoreThreads

SHOWN = ("threshold", "advised", "tried", "compared", "rows", "next")
"""Names of the values that are data."""

CHANGES_SHOWN = 50
_LOWEST = 0.01
_THRESHOLDS_SHOWN = THRESHOLDS[29::10]  # 0.3, 0.4, ... 1
_read_threshold = partial(share, lowest=_LOWEST)


@dataclass
class DryRun(LongRead):
    """What another threshold would change.

    Args:
        threshold: that all pages are decided by.
        present: threshold that it is compared with, by which they are decided again as well.
        compared: what changes, at the end; None before, and if it failed.
    """

    threshold: float = 0.0
    present: float = 0.0
    compared: Compared | None = None

    def read(self, session: Session, show: Callable[[int, int], None]) -> None:
        """Decide all pages twice, and keep what would change."""
        rules = session.fitting_rules
        self.present = rules.threshold
        other = replace(rules, threshold=self.threshold)
        self.compared = compare_rules(session, rules, other, show)

    def advice(self, said: Mapping[int, bool]) -> Advice:
        """Say which threshold to take by what is said of changes, by their place."""
        changes = () if self.compared is None else self.compared.changes.examples
        judged = {n: same for n, same in said.items() if changes[n].kind != "moves"}
        right = sum(same == (changes[n].kind == "joins") for n, same in judged.items())
        total = sum(one.kind != "moves" for one in changes)
        return advise(self.present, self.threshold, right, len(judged), total)


class ThresholdPage:
    """The page of one store; what takes long to find is kept.

    Args:
        stores: whose threads decide pages in dry runs, one run after another.
    """

    def __init__(self, stores: StoreThreads) -> None:
        self._stores = stores
        self._counted = Kept(stores, _count)
        self._dry_run: DryRun | None = None
        self._starting = threading.Lock()
        self._advised: tuple[list[Review], Future[Report | str]] | None = None

    def begin(self, form: Mapping[str, str]) -> None:
        """Begin a dry run at a threshold, unless one is under way.

        Raises:
            RequestError: it is no threshold.
        """
        needed(form, "threshold")
        threshold = read(form, "threshold", _read_threshold)
        assert threshold is not None
        with self._starting:
            if self._dry_run is None or not self._dry_run.is_running:
                self._dry_run = DryRun(threshold=threshold)
                self._stores.begin(self._dry_run.run)

    def show(self, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
        """Show the page, and some of the pages that would change."""
        # As it is now: it may end while the page is made.
        dry_run = None if self._dry_run is None else replace(self._dry_run)
        rules, counted = session.fitting_rules, self._counted.get()
        advice = self._advice(session)
        report = None if isinstance(advice, str) else advice
        threshold = rules.threshold if report is None else report.recommended.threshold
        tried, advised = threshold, Advice(None, "")
        walk, rows, kind = self.walk(session), [], read(query, "change", str)
        if walk is not None and dry_run is not None and dry_run.compared is not None:
            tried, advised = dry_run.threshold, dry_run.advice(walk.said)
            kinds = (one.kind for one in dry_run.compared.changes.examples)
            shown = zip(walk.rows, kinds, strict=True)
            rows = [{**row, "change": one} for row, one in shown if kind in (None, one)]
        begin = read(query, "after", whole_number) or 0
        end = begin + rows_asked(query, CHANGES_SHOWN)
        return {
            **counted,
            "rules": rules,
            "asks_for_threshold": METHODS[rules.method].threshold,
            "dry_run": dry_run,
            "tried": tried,
            "compared": dry_run and dry_run.compared,
            "walk": walk,
            "rows": rows[begin:end],
            "next": next_rows("/threshold", query, end if end < len(rows) else None),
            "advised": advised,
            "report": report,
            "missing": advice,
            "qualities": [] if report is None else _qualities(report),
            "threshold": advised.threshold or threshold,
            "index": _index_problem(session, rules, tried),
        }

    def asked_walk(self, session: Session, fields: Mapping[str, str]) -> Walk | None:
        """Pairs that a query goes through, if they are of the last dry run."""
        threshold, dry_run = read(fields, "threshold", _read_threshold), self._dry_run
        return self.walk(session) if dry_run and dry_run.threshold == threshold else None

    def walk(self, session: Session) -> Walk | None:
        """Pages that the last dry run would change; None if it has not come to its end."""
        dry_run = self._dry_run
        if dry_run is None or dry_run.compared is None:
            return None
        changes, asked = dry_run.compared.changes.examples, ("threshold", dry_run.threshold)
        return Walk.of(session, "/threshold", asked, changes, dry_run.begun)

    def _advice(self, session: Session) -> Report | str:
        """Ask `tune` for a threshold under the present scheme, or say why there is none."""
        reviews = Store(session).admin.reviews()
        if self._advised is None or self._advised[0] != reviews:
            self._advised = reviews, self._stores.count(_advise)
        try:
            return self._advised[1].result(PATIENCE)
        except TimeoutError:
            return "it is being computed, look again in a moment"


def _advise(session: Session) -> Report | str:
    store = Store(session)
    try:
        return tune_on(reviewed_pairs(store), store.scheme, session.fitting_rules, sizes=())
    except (SchemeError, TuningError) as error:
        return str(error)


def _count(session: Session) -> dict[str, Any]:
    with session.reading() as connection:
        chart: BarChart = count_resemblances(connection)
    return {"chart": chart, "status": Store(session).status()}


def _qualities(report: Report) -> list[tuple[float, Any]]:
    """Precision and recall of some thresholds, by the reviewed pairs."""
    resemblances = report.present.resemblances
    return [(at, quality(resemblances >= at, report.same)) for at in _THRESHOLDS_SHOWN.tolist()]


def _index_problem(session: Session, rules: Rules, threshold: float) -> str | None:
    """Why the store cannot be used with a threshold yet, and what to run."""
    try:
        session.index.require(replace(rules, threshold=threshold))
    except ShinglingError as error:
        return str(error)
    return None
