"""Page of what the store holds, counted: over time, by resemblance, by site, by reason."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import distinct, func, select

from shingling.store import Store
from shingling.store.model import from_seconds
from shingling.store.queries import list_runs
from shingling.store.schema.tables import pages, site_blocks, url_rules

if TYPE_CHECKING:
    from datetime import date

    from sqlalchemy import Connection

    from shingling.store.runs import RunRecord
    from shingling.store.session import Session

MAX_PERIODS = 60
"""Bars over time."""

BINS = 20
"""Parts of the resemblances from 0 to 1, of the same width."""

MAX_SITES = 20
MAX_RUNS_COUNTED = 1000
RUNS_SHOWN = 20

_DAY = 24 * 3600
_SKIPPED = "skipped_"  # what the counts of a run have before a reason
_DUPLICATES = ("near", "exact")


@dataclass(frozen=True)
class Period:
    """Pages that were stored first on some days.

    Args:
        begin: first day, in UTC.
        days: how many.
        originals, duplicates: of these pages, how many are which today.
    """

    begin: date
    days: int
    originals: int
    duplicates: int

    @property
    def end(self) -> date:
        """Last day."""
        return self.begin + timedelta(days=self.days - 1)


@dataclass(frozen=True)
class SiteCounts:
    """Pages of a site, and how many of them are duplicates."""

    site: str
    pages: int
    duplicates: int


@dataclass(frozen=True)
class LearnedOfSite:
    """What is known of the URLs of a site.

    Args:
        site: host, without `www.`.
        rules: with evidence, whether they act or not.
        saved: requests that were skipped by them.
    """

    site: str
    rules: int
    saved: int


@dataclass(frozen=True)
class Overview:
    """What a store holds, counted.

    Args:
        periods: from the first day to the last one, at most 60, without gaps.
        resemblances: near-duplicates by their resemblance: 20 parts from 0 to 1.
        sites: with the most duplicates, at most 20.
        runs: the last ones, newest first, at most 1000.
        learned: sites with the most skipped requests, at most 20.
        sites_with_templates: number of sites of which blocks of text are known.
        read_at: when this was read.
    """

    periods: list[Period]
    resemblances: list[int]
    sites: list[SiteCounts]
    runs: list[RunRecord]
    learned: list[LearnedOfSite]
    sites_with_templates: int
    read_at: datetime

    @property
    def skipped(self) -> list[tuple[str, int]]:
        """Items that these runs have skipped, by reason, the most frequent first."""
        counted: Counter[str] = Counter()
        for run in self.runs:
            for name, number in run.counts.items():
                if name.startswith(_SKIPPED):
                    counted[name.removeprefix(_SKIPPED)] += number
        return sorted(counted.items(), key=lambda one: (-one[1], one[0]))


def overview(connection: Connection) -> Overview:
    """Count what a store holds. Every page is read, a few times."""
    return Overview(
        _periods(connection),
        _resemblances(connection),
        _sites(connection),
        list_runs(connection, MAX_RUNS_COUNTED),
        _learned(connection),
        connection.scalar(select(func.count(distinct(site_blocks.c.site)))) or 0,
        datetime.now(UTC),
    )


def _periods(connection: Connection) -> list[Period]:
    first, last = connection.execute(
        select(func.min(pages.c.first_seen), func.max(pages.c.first_seen))
    ).one()
    if first is None:
        return []
    first_day, days = first // _DAY, last // _DAY - first // _DAY + 1
    width = -(-days // MAX_PERIODS)
    place = (pages.c.first_seen - first_day * _DAY) // (width * _DAY)
    counts = func.count(), func.count(pages.c.original_id)
    found = {
        place: (number - duplicates, duplicates)
        for place, number, duplicates in connection.execute(
            select(place.label("place"), *counts).group_by("place")
        )
    }
    return [
        Period(
            from_seconds((first_day + number * width) * _DAY).date(),
            width,
            *found.get(number, (0, 0)),
        )
        for number in range(-(-days // width))
    ]


def _resemblances(connection: Connection) -> list[int]:
    value = pages.c.resemblance
    near = select(value).where(pages.c.status == "near", value.is_not(None))
    values = np.fromiter(connection.scalars(near), np.float64)
    counts: list[int] = np.histogram(values, BINS, (0, 1))[0].tolist()
    return counts


def _sites(connection: Connection) -> list[SiteCounts]:
    number, duplicates = func.count(), func.count(pages.c.original_id)
    rows = connection.execute(
        select(pages.c.site, number, duplicates)
        .group_by(pages.c.site)
        .having(duplicates > 0)
        .order_by(duplicates.desc(), number.desc(), pages.c.site)
        .limit(MAX_SITES)
    )
    return [SiteCounts(*row) for row in rows]


def _learned(connection: Connection) -> list[LearnedOfSite]:
    saved = func.sum(url_rules.c.saved)
    rows = connection.execute(
        select(url_rules.c.site, func.count(distinct(url_rules.c.change)), saved)
        .group_by(url_rules.c.site)
        .order_by(saved.desc(), url_rules.c.site)
        .limit(MAX_SITES)
    )
    return [LearnedOfSite(site, rules, int(number)) for site, rules, number in rows]


class BarChart(NamedTuple):
    """Bars of several parts, one upon the other, for `charts.html`.

    Args:
        title: what is shown.
        what: head of the column of labels.
        series: names of the parts of a bar, from below.
        rows: label and values of each bar, from left to right; no value is negative.
    """

    title: str
    what: str
    series: tuple[str, ...]
    rows: list[tuple[str, tuple[int, ...]]]

    @property
    def top(self) -> int:
        """Value at the upper end: an even number of one or two digits and zeros, 2 at least."""
        highest = max((sum(values) for _, values in self.rows), default=0)
        step = 2 * int("1".ljust(len(str(highest)) - 1, "0"))
        return max(-(-highest // step) * step, 2)


def count_all(session: Session) -> dict[str, Any]:
    """Values of the templates of the overview and of reports."""
    status = Store(session).status()
    with session.reading() as connection:
        found = overview(connection)
    runs = found.runs[:RUNS_SHOWN]
    return {
        "status": status,
        "overview": found,
        "runs": runs,
        "charts": [
            BarChart(
                "Pages over time",
                "First stored",
                ("originals", "duplicates"),
                [(_days(one), (one.originals, one.duplicates)) for one in found.periods],
            ),
            BarChart(
                "Verdicts by run", "Run", ("new", "duplicates"), [*map(_verdicts, runs[::-1])]
            ),
            BarChart(
                "Resemblance of near-duplicates",
                "Resemblance",
                ("near-duplicates",),
                [(f"{place / BINS:.2f}", (one,)) for place, one in enumerate(found.resemblances)],
            ),
        ],
    }


def _verdicts(run: RunRecord) -> tuple[str, tuple[int, ...]]:
    duplicates = sum(run.counts.get(name, 0) for name in _DUPLICATES)
    return f"run {run.id}", (run.counts.get("new", 0), duplicates)


def _days(period: Period) -> str:
    return str(period.begin) if period.days == 1 else f"{period.begin} to {period.end}"
