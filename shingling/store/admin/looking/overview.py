"""What a store holds, counted: over time, by resemblance, by site, by reason."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import and_, distinct, func, select

from shingling.store.admin.queries import list_runs
from shingling.store.model import from_seconds
from shingling.store.schema.tables import pages, site_blocks, url_rules

if TYPE_CHECKING:
    from datetime import date

    from sqlalchemy import Connection

    from shingling.store.model import RunRecord

MAX_PERIODS = 60
"""Bars over time."""

BINS = 20
"""Parts of the resemblances from 0 to 1, of the same width."""

MAX_SITES = 20
MAX_RUNS_COUNTED = 1000

_DAY = 24 * 3600
_SKIPPED = "skipped_"  # what the counts of a run have before a reason


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
    counted = connection.execute(
        select(
            place.label("place"),
            func.count().label("pages"),
            func.count(pages.c.original_id).label("duplicates"),
        ).group_by("place")
    )
    found = {row.place: row for row in counted}
    return [
        Period(
            from_seconds((first_day + number * width) * _DAY).date(),
            width,
            found[number].pages - found[number].duplicates if number in found else 0,
            found[number].duplicates if number in found else 0,
        )
        for number in range(-(-days // width))
    ]


def _resemblances(connection: Connection) -> list[int]:
    value = pages.c.resemblance
    ends = [*(number / BINS for number in range(1, BINS)), math.inf]
    within = [and_(value >= number / BINS, value < end) for number, end in enumerate(ends)]
    counted = select(*(func.count().filter(one) for one in within)).where(pages.c.status == "near")
    return list(connection.execute(counted).one())


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
