"""Page of what the store holds, counted: over time, by resemblance, by site, by reason."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import distinct, func, select

from shingling.store import Store
from shingling.store.model import from_seconds
from shingling.store.run_records import list_runs
from shingling.store.schema.tables import pages, site_blocks, url_rules
from shingling.web.lists import asked_of, groups, least_alike
from shingling.web.pages import runs_as_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from shingling.store.run_records import RunRecord
    from shingling.store.session import Session

MAX_PERIODS = 60
"""Bars over time."""

BINS = 20
"""Parts of the resemblances from 0 to 1, of the same width."""

MAX_SITES = 20
MAX_RULES = 50
MAX_RUNS_COUNTED = 1000
RUNS_SHOWN = 20
GROUPS_SHOWN = 20
PAIRS_SHOWN = 20

_DAY = 24 * 3600
_SKIPPED = "skipped_"  # what the counts of a run have before a reason

_duplicates = func.count(pages.c.original_id)
_SITES = (
    select(pages.c.site, func.count().label("pages"), _duplicates.label("duplicates"))
    .group_by(pages.c.site)
    .having(_duplicates > 0)
    .order_by(_duplicates.desc(), func.count().desc(), pages.c.site)
    .limit(MAX_SITES)
)
_saved = func.sum(url_rules.c.saved)
_LEARNED = (
    select(
        url_rules.c.site,
        url_rules.c.change,
        _saved.label("saved"),
        func.sum(url_rules.c.explored).label("explored"),
        func.max(url_rules.c.contradicted).label("contradicted"),
    )
    .group_by(url_rules.c.site, url_rules.c.change)
    .order_by(_saved.desc(), url_rules.c.site, url_rules.c.change)
    .limit(MAX_RULES)
)


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
    rows: Sequence[tuple[str, tuple[int, ...]]]

    @property
    def ticks(self) -> range:
        """Round values from 0 to the upper end: in steps of 1, 2 or 5 and zeros, at most five."""
        highest = max((sum(values) for _, values in self.rows), default=0)
        steps = (one * 10**zeros for zeros in count() for one in (1, 2, 5))
        step = next(one for one in steps if 4 * one >= highest)
        return range(0, max(-(-highest // step), 1) * step + 1, step)


COUNTED = (
    *("status", "charts", "largest", "pairs", "sites", "runs", "skipped", "learned"),
    *("sites_with_templates", "read_at"),
)
"""Names of the values of the overview that are data."""


def count_all(session: Session) -> dict[str, Any]:
    """Values of the overview, which reports are as well. Every page is read, a few times."""
    status = Store(session).status()
    with session.reading() as connection:
        runs = list_runs(connection, MAX_RUNS_COUNTED)
        return {
            "status": status,
            "charts": [_over_time(connection), count_resemblances(connection)],
            "largest": groups(connection, asked_of({}), limit=GROUPS_SHOWN).rows,
            "pairs": least_alike(connection, PAIRS_SHOWN),
            "sites": connection.execute(_SITES).all(),
            "runs": runs_as_rows(connection, runs[:RUNS_SHOWN]),
            "skipped": _skipped(runs),
            "learned": connection.execute(_LEARNED).all(),
            "sites_with_templates": connection.scalar(
                select(func.count(distinct(site_blocks.c.site)))
            ),
            "read_at": datetime.now(UTC),
        }


def _over_time(connection: Connection) -> BarChart:
    """Count pages by the days on which they were stored first, without gaps."""
    seen = pages.c.first_seen
    first, last = connection.execute(select(func.min(seen), func.max(seen))).one()
    rows = []
    if first is not None:
        begin, days = first // _DAY, last // _DAY - first // _DAY + 1
        width = -(-days // MAX_PERIODS)
        place = ((seen - begin * _DAY) // (width * _DAY)).label("place")
        query = select(place, func.count(), _duplicates).group_by("place")
        found = {row.place: row[1:] for row in connection.execute(query)}
        for number in range(-(-days // width)):
            stored, duplicates = found.get(number, (0, 0))
            label = _days(begin + number * width, width)
            rows.append((label, (stored - duplicates, duplicates)))
    return BarChart("Pages over time", "First stored", ("originals", "duplicates"), rows)


def _days(first: int, number: int) -> str:
    """Name some days, of which the first is that number of days after 1970."""
    begin, end = (from_seconds(day * _DAY).date() for day in (first, first + number - 1))
    return f"{begin}" if number == 1 else f"{begin} to {end}"


def count_resemblances(connection: Connection) -> BarChart:
    """Count the near-duplicates of the store by their resemblance."""
    value, edges = pages.c.resemblance, [number / BINS for number in range(BINS)]
    at_least = (func.count().filter(value >= edge) for edge in edges)
    counts = [*connection.execute(select(*at_least).where(pages.c.status == "near")).one(), 0]
    rows = [
        (f"{edge:.2f}", (here - above,))
        for edge, here, above in zip(edges, counts, counts[1:], strict=False)
    ]
    return BarChart("Resemblance of near-duplicates", "Resemblance", ("near-duplicates",), rows)


def _skipped(runs: Sequence[RunRecord]) -> list[tuple[str, int]]:
    """Items that runs have skipped, by reason, the most frequent first."""
    counted: Counter[str] = Counter()
    for run in runs:
        skipped = (name for name in run.counts if name.startswith(_SKIPPED))
        counted.update({name.removeprefix(_SKIPPED): run.counts[name] for name in skipped})
    return counted.most_common()
