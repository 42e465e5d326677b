"""Page of what the store holds, counted: over time, by resemblance, by site, by reason."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import text

from shingling.rules.reasons import Reason
from shingling.store.listing import list_pages
from shingling.store.model import DAY, from_seconds
from shingling.store.run_records import list_runs
from shingling.store.store import Store
from shingling.web.lists import group_filter, groups, least_alike
from shingling.web.pages import runs_as_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from shingling.store.run_records import RunRecord
    from shingling.store.session import Session
    from shingling.web.requests import Values

MAX_PERIODS = 60
"""Bars over time."""

BINS = 20
"""Parts of the resemblances from 0 to 1, of the same width."""

_ROWS_SHOWN = 20
_KEPT_SHOWN = 10  # of pages that are kept for their text, which is read

_SKIPPED = "skipped_"  # what the counts of a run have before a reason

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
_AT_LEAST = ", ".join(f"count(*) FILTER (WHERE resemblance >= {n / BINS})" for n in range(BINS))
_RESEMBLANCES = f"SELECT {_AT_LEAST} FROM pages WHERE status = 'near'"  # noqa: S608 (ours)


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
    *("status", "charts", "largest", "pairs", "kept", "sites", "runs", "skipped", "learned"),
    *("sites_with_templates", "read_at"),
)
"""Names of the values of the overview that are data."""


def count_all(session: Session) -> Values:
    """Values of the overview, which reports are as well. Every page is read, a few times."""
    store = Store(session)
    status = store.status()
    with session.reading() as connection:
        kept = list_pages(connection, {"reason": Reason.OWN_TEXT.value}, limit=_KEPT_SHOWN).rows
        runs = list_runs(connection, 1000)
        sites, learned = (connection.execute(text(one)).all() for one in (_SITES, _LEARNED))
        return {
            "status": status,
            "charts": [_over_time(connection), count_resemblances(connection)],
            "largest": groups(connection, group_filter({}), limit=_ROWS_SHOWN).rows,
            "pairs": least_alike(connection, _ROWS_SHOWN),
            "kept": [*map(store.with_own_text, kept)],
            "sites": sites,
            "runs": runs_as_rows(connection, runs[:_ROWS_SHOWN]),
            "skipped": _skipped(runs),
            "learned": learned,
            "sites_with_templates": connection.scalar(text(_WITH_TEMPLATES)),
            "read_at": datetime.now(UTC),
        }


def _over_time(connection: Connection) -> BarChart:
    """Count pages by the days on which they were stored first, without gaps."""
    first, last = connection.execute(text(_FIRST_AND_LAST)).one()
    rows = []
    if first is not None:
        begin, days = first // DAY, last // DAY - first // DAY + 1
        width = -(-days // MAX_PERIODS)
        values = {"begin": begin * DAY, "width": width * DAY}
        found = {place: rest for place, *rest in connection.execute(text(_PERIODS), values)}
        for number in range(-(-days // width)):
            stored, duplicates = found.get(number, (0, 0))
            label = _days(begin + number * width, width)
            rows.append((label, (stored - duplicates, duplicates)))
    return BarChart("Pages over time", "First stored", ("originals", "duplicates"), rows)


def _days(first: int, number: int) -> str:
    """Name some days, of which the first is that number of days after 1970."""
    begin, end = (from_seconds(day * DAY).date() for day in (first, first + number - 1))
    return f"{begin}" if number == 1 else f"{begin} to {end}"


def count_resemblances(connection: Connection) -> BarChart:
    """Count the near-duplicates of the store by their resemblance."""
    counts = [*connection.execute(text(_RESEMBLANCES)).one(), 0]
    rows = [
        (f"{number / BINS:.2f}", (here - above,))
        for number, (here, above) in enumerate(pairwise(counts))
    ]
    return BarChart("Resemblance of near-duplicates", "Resemblance", ("near-duplicates",), rows)


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
