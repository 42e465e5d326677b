"""Pages of what the store holds, counted: over time, by run, resemblance, site and reason.

What the rules on URLs save is among them, if the room that learns them is there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import text

from shingling.rooms import hooks
from shingling.rules import METHODS
from shingling.rules.reasons import Reason
from shingling.store.listing import list_pages
from shingling.store.model import DAY, from_seconds
from shingling.store.run_records import list_runs
from shingling.store.store import Store
from shingling.web.lists import group_filter, groups, least_alike
from shingling.web.pages import runs_as_rows
from shingling.web.requests import part_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from shingling.plugin.settings import DedupSettings
    from shingling.store.run_records import RunRecord
    from shingling.store.session import Session
    from shingling.web.requests import Fields, Values

MAX_PERIODS = 60
"""Bars over time."""

BAR = 2
"""Hundredths of a resemblance that a bar stands for."""

_ROWS_SHOWN = 20
_RUNS_DRAWN = 30
_MOST_COPIES = 1000  # pairs of sites
_KEPT_SHOWN = 10  # of pages that are kept for their text, which is read

_SKIPPED = "skipped_"  # what the counts of a run have before a reason

SAVINGS = (
    *("requests", "skipped", "would_skip", "learned_from", "lost", "looked_at", "settings", "why"),
    *("rows", "next", "total"),
)
"""Names of the values that are data."""

_FIRST_AND_LAST = "SELECT min(first_seen), max(first_seen) FROM pages"
_WITH_TEMPLATES = "SELECT count(DISTINCT site) FROM site_blocks"
_SITES = """
SELECT site, count(*) AS pages, count(original_id) AS duplicates FROM pages GROUP BY site
HAVING count(original_id) > 0
ORDER BY count(original_id) DESC, count(*) DESC, site LIMIT 20
"""
_LEARNED = """
SELECT site, change, sum(saved) AS saved, sum(explored) AS explored,
    max(contradicted) AS contradicted
FROM url_rules GROUP BY site, change ORDER BY sum(saved) DESC, site, change LIMIT 50
"""
_PERIODS = """
SELECT (first_seen - :begin) / :width AS place, count(*), count(original_id) FROM pages
GROUP BY (first_seen - :begin) / :width
"""
_RESEMBLANCES = "SELECT coalesce(resemblance, 1) FROM pages WHERE status = 'near'"
_COPIES = """
SELECT pages.site AS site, head.site AS original_site, count(*) AS pairs FROM pages
JOIN pages AS head ON head.id = pages.original_id GROUP BY pages.site, head.site
ORDER BY count(*) DESC, pages.site, head.site LIMIT :limit
"""


class BarChart(NamedTuple):
    """Bars of several parts, one upon the other, for `charts.html`.

    Args:
        title: what is shown.
        what: head of the column of labels.
        series: names of the parts of a bar, from below.
        rows: label and values of each bar, from left to right; no value is negative. The axis has
            the first word of some labels.
        threshold: of a histogram of resemblances: the present one.
        below: of a histogram: how many lie below 0, 0.01, 0.02 and so on to 1; () of others.
    """

    title: str
    what: str
    series: tuple[str, ...]
    rows: Sequence[tuple[str, tuple[int, ...]]]
    threshold: float | None = None
    below: Sequence[int] = ()

    @property
    def ticks(self) -> range:
        """Round values from 0 to the upper end: in steps of 1, 2 or 5 and zeros, at most five."""
        highest = max((sum(values) for _, values in self.rows), default=0)
        steps = (digit * 10**zeros for zeros in count() for digit in (1, 2, 5))
        step = next(step for step in steps if 4 * step >= highest)
        return range(0, max(-(-highest // step), 1) * step + 1, step)


COUNTED = (
    *("status", "charts", "largest", "pairs", "kept", "sites", "runs", "skipped", "learned"),
    *("sites_with_templates", "copies", "read_at"),
)
"""Names of the values of the overview that are data."""


def count_all(session: Session) -> Values:
    """Values of the overview, which reports are as well. Every page is read, a few times."""
    store = Store(session)
    status, rules = store.status(), session.fitting_rules
    threshold = rules.threshold if METHODS[rules.method].threshold else None
    with session.reading() as connection:
        kept = list_pages(connection, {"reason": Reason.OWN_TEXT.value}, limit=_KEPT_SHOWN).rows
        runs = list_runs(connection, 1000)
        sites, learned = (connection.execute(text(sql)).all() for sql in (_SITES, _LEARNED))
        copies = connection.execute(text(_COPIES), {"limit": _MOST_COPIES}).all()
        return {
            "status": status,
            "charts": [
                _over_time(connection),
                _by_run(runs[:_RUNS_DRAWN]),
                count_resemblances(connection, threshold),
            ],
            "largest": groups(connection, group_filter({}), limit=_ROWS_SHOWN)["rows"],
            "pairs": least_alike(connection, _ROWS_SHOWN),
            "kept": [*map(store.with_own_text, kept)],
            "sites": sites,
            "runs": runs_as_rows(connection, runs[:_ROWS_SHOWN]),
            "skipped": _skipped(runs),
            "learned": learned,
            "copies": [dict(row._mapping) for row in copies],
            "sites_with_templates": connection.scalar(text(_WITH_TEMPLATES)),
            "read_at": datetime.now(UTC),
        }


def show_copies(count: Callable[[], Values], _: Session, query: Fields) -> Values:
    """List sites, and those whose pages they copy."""
    return part_of(count()["copies"], query)


def _over_time(connection: Connection) -> BarChart:
    """Count pages by the days on which they were stored first, without gaps."""
    first, last = connection.execute(text(_FIRST_AND_LAST)).one()
    rows = []
    if first is not None:
        begin, days = first // DAY, last // DAY - first // DAY + 1
        width = -(-days // MAX_PERIODS)
        values = {"begin": begin * DAY, "width": width * DAY}
        counts = {place: rest for place, *rest in connection.execute(text(_PERIODS), values)}
        for number in range(-(-days // width)):
            stored, duplicates = counts.get(number, (0, 0))
            label = _days(begin + number * width, width)
            rows.append((label, (stored - duplicates, duplicates)))
    return BarChart("Pages over time", "First stored", ("originals", "duplicates"), rows)


def _days(first: int, number: int) -> str:
    """Name some days, of which the first is that number of days after 1970."""
    begin, end = (from_seconds(day * DAY).date() for day in (first, first + number - 1))
    return f"{begin}" if number == 1 else f"{begin} to {end}"


def _by_run(runs: Sequence[RunRecord]) -> BarChart:
    """Draw what the last runs have counted, the first one left."""
    series = "kept", "unchanged", "repeated", "duplicates"
    rows = [
        (
            f"{run.id} {run.spider}, {run.started:%Y-%m-%d %H:%M}",
            tuple(run.items[name] or 0 for name in series),
        )
        for run in reversed(runs)
    ]
    return BarChart("Duplicates by crawl", "Run", series, rows)


def count_resemblances(connection: Connection, threshold: float | None) -> BarChart:
    """Count the near-duplicates of the store by their resemblance.

    Args:
        connection: to the store.
        threshold: at which it is decided; None for a method that asks for none.
    """
    values = np.sort(np.fromiter(connection.scalars(text(_RESEMBLANCES)), np.float64))
    below = np.searchsorted(values, np.arange(101) / 100).tolist()
    lowest = min(values.min(initial=1.0), threshold or 1.0)
    edges = range(10 * min(int(10 * lowest), 9), 101, BAR)
    counts = [*below[:100], values.size]  # the last bar has those of 1 as well
    rows = [
        (f"{low / 100:.2f} to {high / 100:.2f}", (counts[high] - counts[low],))
        for low, high in pairwise(edges)
    ]
    title, series = "Resemblance of near-duplicates", ("near-duplicates",)
    return BarChart(title, "Resemblance", series, rows, threshold, below)


def _skipped(runs: Sequence[RunRecord]) -> list[tuple[str, int]]:
    """Items that runs have skipped, by reason, the most frequent first."""
    counted: Counter[str] = Counter()
    for run in runs:
        counted.update(run.counts)
    return [
        (name.removeprefix(_SKIPPED), number)
        for name, number in counted.most_common()
        if name.startswith(_SKIPPED)
    ]


def show_savings(session: Session, query: Fields, *, settings: DedupSettings) -> Values:
    """Show what is saved, and each rule with what is counted of its site."""
    read = next(hooks("read_savings", "savings"))
    savings = read(session, settings.of_rooms)
    rows = [
        {"site": site, "requests": requests, "repeats": repeats, **asdict(rule)}
        for site, requests, repeats, rules in savings.sites
        for rule in rules
    ]
    shown = {**savings._asdict(), "settings": savings.settings, "why": savings.why}
    return {**shown, **part_of(rows, query)}


def show_repeats(session: Session, query: Fields, *, settings: DedupSettings) -> Values:
    """List the stored URLs that the rules would skip."""
    read = next(hooks("repeated_urls", "savings"))
    return part_of(read(session, settings.of_rooms), query)
