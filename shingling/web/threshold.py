"""Page that shows what thresholds do: by what is stored, by a dry run, and by reviews."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.admin.reviews import reviews_of
from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.rules import METHODS
from shingling.store import Store
from shingling.tuning.evaluation import THRESHOLDS, quality
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.overview import count_resemblances
from shingling.web.requests import needed, read, share
from shingling.web.shown import link
from shingling.web.store_threads import Kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shingling.admin.rebuild import Changes
    from shingling.rules.rules import Rules
    from shingling.store import Review
    from shingling.store.session import Session
    from shingling.tuning.report import Report
    from shingling.web.overview import BarChart
    from shingling.web.store_threads import StoreThreads

_LOWEST = 0.01
_THRESHOLDS_SHOWN = THRESHOLDS[29::10]  # 0.3, 0.4, ... 1
_read_threshold = partial(share, lowest=_LOWEST)


@dataclass
class DryRun:
    """What another threshold would change, as far as it is known.

    Args:
        threshold: that all pages are decided by.
        is_running: whether it has not ended.
        done: number of pages that are decided.
        total: number of all pages.
        changes: at the end; None before, and if it failed.
        ended: when it did.
        problem: why it failed.
    """

    threshold: float
    is_running: bool = True
    done: int = 0
    total: int = 0
    changes: Changes | None = None
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
            rules = replace(session.fitting_rules, threshold=self.threshold)
            self.changes = Store(session).admin.redecide(rules, dry_run=True, progress=progress)
        except ShinglingError as error:
            self.problem = str(error)
        finally:
            self.ended, self.is_running = datetime.now(UTC), False


class Walk(NamedTuple):
    """Pairs of pages that a dry run would change, to be reviewed one after another.

    Args:
        threshold: of the dry run.
        pairs: URLs, in this order.
        reviews: of the pairs.
    """

    threshold: float
    pairs: Sequence[tuple[str, str]]
    reviews: Sequence[Review | None]

    @property
    def reviewed(self) -> int:
        """Number of pairs that are reviewed."""
        return sum(review is not None for review in self.reviews)

    @property
    def first(self) -> str | None:
        """Address of the first pair that is not reviewed; None if all are."""
        return self._from(0)

    def after(self, a: str, b: str) -> str:
        """Address of the next pair that is not reviewed, or of the page Threshold."""
        places = [place for place, pair in enumerate(self.pairs, 1) if {*pair} == {a, b}]
        return self._from(places[0] if places else 0) or "/threshold"

    def address(self, pair: tuple[str, str]) -> str:
        """Address of a pair."""
        return link("/pair", [*zip("ab", pair, strict=True), ("threshold", self.threshold)])

    def _from(self, start: int) -> str | None:
        for pair, review in [*zip(self.pairs, self.reviews, strict=True)][start:]:
            if review is None:
                return self.address(pair)
        return None


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

    def show(self, session: Session, _: Mapping[str, str]) -> dict[str, Any]:
        """Show the page."""
        # As it is now: it may end while the page is made.
        dry_run = None if self._dry_run is None else replace(self._dry_run)
        rules = session.fitting_rules
        advice = self._advice(session, rules)
        report = None if isinstance(advice, str) else advice
        threshold = rules.threshold if report is None else report.recommended.threshold
        if dry_run is not None and dry_run.changes is not None:
            threshold = dry_run.threshold
        return {
            **self._counted.get(session),
            "rules": rules,
            "asks_for_threshold": METHODS[rules.method].threshold,
            "dry_run": dry_run,
            "walk": None if dry_run is None else _walk(session, dry_run),
            "report": report,
            "missing": advice,
            "qualities": [] if report is None else _qualities(report),
            "threshold": threshold,
            "index": _index_problem(session, rules, threshold),
        }

    def asked_walk(self, session: Session, fields: Mapping[str, str]) -> Walk | None:
        """Pairs that a query goes through, if they are of the last dry run."""
        threshold, dry_run = read(fields, "threshold", _read_threshold), self._dry_run
        if dry_run is None or dry_run.threshold != threshold:
            return None
        return _walk(session, dry_run)

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


def _walk(session: Session, dry_run: DryRun) -> Walk | None:
    """Pairs that a dry run would change; None if it has not come to its end."""
    if dry_run.changes is None:
        return None
    pairs = [
        (other, url)
        for url, before, after in dry_run.changes.examples
        if (other := after or before) is not None and other != url
    ]
    with session.reading() as connection:
        return Walk(dry_run.threshold, pairs, reviews_of(connection, pairs))


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
