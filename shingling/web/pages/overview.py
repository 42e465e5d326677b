"""Page of what the store holds."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shingling.store import Store
from shingling.store.admin.looking.overview import BINS, overview
from shingling.web.charts import bar_chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shingling.store.admin.looking.overview import Overview, Period
    from shingling.store.model import StoreStatus
    from shingling.store.session import Session
    from shingling.web.charts import BarChart

RUNS_SHOWN = 20
_DUPLICATES = ("near", "exact")
_SECONDS_KEPT_PER_SECOND_OF_READING = 20


@dataclass(frozen=True)
class Counted:
    """What a store holds.

    Args:
        status: its numbers.
        overview: what was counted.
        seconds: that it took.
        ended: when it was read, by the clock of `time.monotonic`.
    """

    status: StoreStatus
    overview: Overview
    seconds: float
    ended: float


class Overviews:
    """Counts of a store, which are kept for a while where reading them takes long."""

    def __init__(self) -> None:
        self._counted: Counted | None = None
        self._reading = threading.Lock()

    def read(self, session: Session) -> Counted:
        """Read the counts, or take those of a moment ago."""
        with self._reading:
            kept = self._counted
            if kept is None or time.monotonic() - kept.ended > (
                _SECONDS_KEPT_PER_SECOND_OF_READING * kept.seconds
            ):
                kept = self._counted = count(session)
            return kept


def count(session: Session) -> Counted:
    """Count what a store holds."""
    began = time.monotonic()
    status = Store(session).status()
    with session.reading() as connection:
        found = overview(connection)
    ended = time.monotonic()
    return Counted(status, found, ended - began, ended)


def show_overview(kept: Overviews, session: Session, _: Mapping[str, str]) -> dict[str, Any]:
    """Numbers of pages, over time, by run, resemblance and site."""
    return values_of(kept.read(session))


def values_of(counted: Counted) -> dict[str, Any]:
    """Values of the templates of the overview and of reports."""
    found = counted.overview
    runs = found.runs[:RUNS_SHOWN]
    return {
        "status": counted.status,
        "overview": found,
        "runs": runs,
        "over_time": bar_chart(
            "Pages over time",
            "First stored",
            ("originals", "duplicates"),
            [(_days(one), (one.originals, one.duplicates)) for one in found.periods],
        ),
        "by_run": _by_run(found),
        "resemblances": bar_chart(
            "Resemblance of near-duplicates",
            "Resemblance",
            ("near-duplicates",),
            [(f"{place / BINS:.2f}", (number,)) for place, number in enumerate(found.resemblances)],
        ),
    }


def _by_run(found: Overview) -> BarChart:
    """Chart of the last runs, the oldest first: what they have met."""
    rows = []
    for run in reversed(found.runs[:RUNS_SHOWN]):
        duplicates = sum(run.counts.get(name, 0) for name in _DUPLICATES)
        rows.append((f"run {run.id}", (run.counts.get("new", 0), duplicates)))
    return bar_chart("Verdicts by run", "Run", ("new", "duplicates"), rows)


def _days(period: Period) -> str:
    return str(period.begin) if period.days == 1 else f"{period.begin} to {period.end}"
