"""Page that shows what thresholds do: by what is stored, by a dry run, and by reviews."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.rules import METHODS
from shingling.store import Store
from shingling.tuning.advice import Advice
from shingling.tuning.evaluation import THRESHOLDS, quality
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.dry_run import DryRun, Walk
from shingling.web.lists import next_rows, rows_asked
from shingling.web.overview import count_resemblances
from shingling.web.requests import needed, read, share, whole_number
from shingling.web.store_threads import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class ThresholdPage:
    """The page of one store; what takes long to find is kept.

    Args:
        stores: whose threads decide pages in dry runs, one run after another.
    """

    def __init__(self, stores: StoreThreads) -> None:
        self._stores = stores
        self._counted = Kept(_count)
        self._dry_run: DryRun | None = None
        self._starting = threading.Lock()
        self._advised: tuple[list[Review], Report | str] | None = None

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
                self._dry_run = DryRun(threshold)
                self._stores.begin(self._dry_run.run)

    def show(self, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
        """Show the page, and some of the pages that would change."""
        # As it is now: it may end while the page is made.
        dry_run = None if self._dry_run is None else replace(self._dry_run)
        rules = session.fitting_rules
        advice = self._advice(session, rules)
        report = None if isinstance(advice, str) else advice
        threshold = rules.threshold if report is None else report.recommended.threshold
        tried, advised = threshold, Advice(None, "")
        walk = self._walk(session)
        if walk is not None and dry_run is not None:
            tried, advised = walk.threshold, walk.advice(dry_run.present)
        rows = [] if walk is None else walk.rows(read(query, "change", str))
        begin = read(query, "after", whole_number) or 0
        end = begin + rows_asked(query, CHANGES_SHOWN)
        return {
            **self._counted.get(session),
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
        if dry_run is None or dry_run.threshold != threshold:
            return None
        return self._walk(session)

    def _walk(self, session: Session) -> Walk | None:
        return None if self._dry_run is None else Walk.of(session, self._dry_run)

    def _advice(self, session: Session, rules: Rules) -> Report | str:
        """Ask `tune` for a threshold under the present scheme, or say why there is none."""
        store = Store(session)
        reviews = store.admin.reviews()
        if self._advised is None or self._advised[0] != reviews:
            try:
                labelled = reviewed_pairs(store)
                advice: Report | str = tune_on(labelled, store.scheme, rules, sizes=())
            except (SchemeError, TuningError) as error:
                advice = str(error)
            self._advised = reviews, advice
        return self._advised[1]


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
