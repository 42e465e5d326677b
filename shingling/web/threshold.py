"""Page that shows what thresholds do: by what is stored, by a dry run, and by reviews."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.admin.rebuild import Compared, compare_rules
from shingling.console.options import share
from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.rules import METHODS
from shingling.store.store import Store
from shingling.tuning.advice import Advice, advise
from shingling.tuning.evaluation import THRESHOLDS, quality
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.requests import needed_field, part_of, read_field
from shingling.web.store_threads import CountingError
from shingling.web.walks import WalkPage

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.rules.rules import Rules
    from shingling.store.indexing import Steps
    from shingling.store.session import Session
    from shingling.tuning.report import TuningReport
    from shingling.web.requests import Fields, Values
    from shingling.web.store_threads import Kept, StoreThreads

_THRESHOLDS_SHOWN = THRESHOLDS[29::10]  # 0.3, 0.4, ... 1


class ThresholdPage(WalkPage[Compared]):
    """The page of one store: another threshold is tried after another.

    Args:
        stores: whose threads decide pages in dry runs.
        count: counts what the overview shows.
        kept: what is read until something is reviewed.
    """

    name = "threshold"
    shown = ("threshold", "advised", "tried", "compared", "rows", "next")

    def __init__(self, stores: StoreThreads, count: Callable[[], Values], kept: Kept) -> None:
        super().__init__(stores)
        self._count = count
        self._kept = kept

    def rows(self, pairs: Compared) -> list[Values]:
        """Make a row of each page that would change."""
        return [
            {**example._asdict(), "other": example.other, "change": example.kind}
            for example in pairs.changes.examples
        ]

    def start(self, form: Fields) -> None:
        """Begin a dry run at a threshold, unless one is under way.

        Raises:
            RequestError: it is no threshold.
        """
        needed_field(form, "threshold")
        threshold = read_field(form, "threshold", share)
        assert threshold is not None
        self.begin(partial(_compare, threshold=threshold), threshold)

    def show(self, session: Session, query: Fields) -> Values:
        """Show the page, and some of the pages that would change."""
        counted = self._count()
        try:
            report, missing = self._kept.get("advice", _advise)
        except CountingError:
            report, missing = None, "it is being computed, look again in a moment"
        rules, last = session.fitting_rules, self.last
        threshold = rules.threshold if report is None else report.recommended.threshold
        tried, advised = threshold, Advice(None, "")
        compared, problem = (None, "") if last is None else last.found()
        walk, rows = self.walk(session), []
        if last is not None and walk is not None:
            tried, kind = last.requested, query.get("change")
            advised = advise_by(rules.threshold, tried, walk.rows)
            rows = [row for row in walk.rows if kind in (None, row["change"])]
        return {
            "chart": counted["charts"][-1],
            "status": counted["status"],
            "rules": rules,
            "asks_for_threshold": METHODS[rules.method].threshold,
            "dry_run": last,
            "problem": problem,
            "tried": tried,
            "compared": compared,
            "walk": walk,
            **part_of(rows, query),
            "advised": advised,
            "report": report,
            "missing": missing,
            "qualities": [] if report is None else _qualities(report),
            "threshold": advised.threshold or threshold,
            "index": _index_problem(session, rules, tried),
        }


def _advise(session: Session) -> tuple[TuningReport | None, str]:
    """Ask `tune` for a threshold under the present scheme, or say why there is none."""
    store = Store(session)
    try:
        return tune_on(reviewed_pairs(store), store.scheme, session.fitting_rules, sizes=()), ""
    except (SchemeError, TuningError) as error:
        return None, str(error)


def _compare(session: Session, show: Steps, threshold: float) -> Compared:
    rules = session.fitting_rules
    return compare_rules(session, rules, replace(rules, threshold=threshold), show)


def advise_by(present: float, other: float, rows: list[Values]) -> Advice:
    """Say which of two thresholds to take.

    Args:
        present: threshold.
        other: threshold.
        rows: pages that they decide differently, with what is said of them.
    """
    counted = [row for row in rows if row["change"] != "moves"]
    judged = [
        row["same"] == (row["change"] == "joins") for row in counted if row["same"] is not None
    ]
    return advise(present, other, sum(judged), len(judged), len(counted))


def _qualities(report: TuningReport) -> list[tuple[float, Any]]:
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
