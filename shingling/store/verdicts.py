"""What each run has said of each page: kept for the last runs of a spider, and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select, text

from shingling.store.model import from_seconds
from shingling.store.schema.tables import execute_each, runs, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from shingling.store.model import Verdict
    from shingling.store.schema.rows import Row

RUNS_KEPT = 10
"""Last runs of a spider whose verdicts are kept."""

_BOTH = (
    "verdicts.run_id = :run AND EXISTS (SELECT 1 FROM verdicts AS other"
    " WHERE other.run_id = :before AND other.page_id = verdicts.page_id"
)
_ONLY = (
    "verdicts.run_id = {} AND NOT EXISTS (SELECT 1 FROM verdicts AS other"
    " WHERE other.run_id = {} AND other.page_id = verdicts.page_id)"
)
CHANGES = {
    "came": _ONLY.format(":run", ":before"),
    "went": _ONLY.format(":before", ":run"),
    "moved": f"{_BOTH} AND coalesce(other.original_id, 0) <> coalesce(verdicts.original_id, 0))",
    "skipped": f"{_BOTH} AND other.status <> 'skipped') AND verdicts.status = 'skipped'",
}
"""Conditions on verdicts of pages in which a run differs from the one before: pages only in this
one, only in the other one, in another group (or in one, or in none), and newly skipped."""

# A page that a run meets again is unchanged; what was said first counts.
_WRITE = (
    "INSERT INTO verdicts (run_id, page_id, verdict, status, reason, original_id, resemblance)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (run_id, page_id) DO UPDATE SET verdict = excluded.verdict,"
    " status = excluded.status, reason = excluded.reason, original_id = excluded.original_id,"
    " resemblance = excluded.resemblance WHERE excluded.verdict <> 'unchanged'"
)
_PREVIOUS = text(
    "SELECT max(id) FROM runs WHERE id < :run AND EXISTS (SELECT 1 FROM verdicts WHERE"
    " verdicts.run_id = runs.id) AND spider = (SELECT spider FROM runs WHERE id = :run)"
)
_OLD = (
    "run_id IN (SELECT id FROM runs WHERE spider = (SELECT spider FROM runs WHERE id = :run)"
    " ORDER BY id DESC LIMIT :kept OFFSET :kept)"
)
_COUNT_THEM = "SELECT run_id, {}, count(*) FROM verdicts WHERE run_id = :run"
_COUNT_CHANGE = "SELECT CAST(:run AS BIGINT), 'beside {}', count(*) FROM verdicts WHERE {}"
_COUNTED = [
    _COUNT_THEM.format("verdict") + " GROUP BY run_id, verdict",
    _COUNT_THEM.format("verdict || ' ' || reason")
    + " AND reason IS NOT NULL GROUP BY run_id, verdict, reason",
    *(_COUNT_CHANGE.format(*change) for change in CHANGES.items()),
]
_COUNT = text(f"INSERT INTO run_counts (run_id, name, number) {' UNION ALL '.join(_COUNTED)}")
_COUNTS = text("SELECT run_id, name, number FROM run_counts WHERE run_id BETWEEN :first AND :last")
_SAID = text(
    "SELECT runs.id AS run, spider, started, verdict, verdicts.status, verdicts.reason,"
    " pages.url AS original, verdicts.resemblance FROM runs"
    " JOIN verdicts ON verdicts.run_id = runs.id"
    " LEFT JOIN pages ON pages.id = verdicts.original_id WHERE page_id = :page"
    " ORDER BY runs.id DESC"
)


def write_verdicts(
    connection: Connection, run: int, verdicts: Iterable[Verdict], rows: Mapping[int, Row]
) -> None:
    """Note the verdicts of a run on pages, of those that are stored: with their rows by id."""
    values = []
    for verdict in verdicts:
        if verdict.page_id is not None:
            row = rows[verdict.page_id]
            place = row.status, row.reason, row.original_id, row.resemblance
            values.append((run, row.id, verdict.status, *place))
    execute_each(connection, _WRITE, values)


def drop_verdicts(connection: Connection, page_ids: Iterable[int]) -> None:
    """Remove the verdicts on some pages."""
    of_runs = verdicts.c.run_id.in_(select(runs.c.id))  # with it, the primary key is used
    connection.execute(delete(verdicts).where(of_runs, verdicts.c.page_id.in_(page_ids)))


def previous_run(connection: Connection, run: int) -> int | None:
    """Find the run of the same spider before a run, of those whose verdicts are kept."""
    found: int | None = connection.scalar(_PREVIOUS, {"run": run})
    return found


def count_verdicts(connection: Connection, run: int) -> None:
    """Count the pages of a run that has ended, and forget the verdicts of old runs of its spider.

    The numbers are kept by name: the verdict, the verdict with its reason (`skipped short`), or
    the change beside the run before (`beside came`).
    """
    before = previous_run(connection, run) or 0
    connection.execute(_COUNT, {"run": run, "before": before})
    values = {"run": run, "kept": RUNS_KEPT}
    for table in ("verdicts", "run_counts"):
        connection.execute(text(f"DELETE FROM {table} WHERE {_OLD}"), values)  # noqa: S608 (ours)


def verdict_counts(connection: Connection, run_ids: Iterable[int]) -> dict[int, dict[str, int]]:
    """Numbers that `count_verdicts` has kept, by run; none of a run that has not ended."""
    counts: dict[int, dict[str, int]] = {run: {} for run in run_ids}
    between = {"first": min(counts, default=0), "last": max(counts, default=0)}
    for run, name, number in sorted(connection.execute(_COUNTS, between)):
        counts.setdefault(run, {})[name] = number
    return counts


def said_of(connection: Connection, page_id: int) -> list[dict[str, Any]]:
    """Read what the runs that have met a page have said of it, the last one first."""
    rows = connection.execute(_SAID, {"page": page_id}).mappings()
    return [{**row, "started": from_seconds(row["started"])} for row in rows]
