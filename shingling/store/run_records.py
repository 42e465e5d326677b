"""Crawls and imports as the store keeps them: when they ran, and what they counted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from shingling.store.model import from_seconds
from shingling.store.runs import is_active
from shingling.store.schema import checks
from shingling.store.schema.tables import runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping

    from shingling.store.schema.checks import Check

_RUN: dict[str, Check] = {
    "spider": checks.STRING,
    "started": checks.TIME,
    "finished": checks.or_none(checks.TIME),
    "outcome": checks.or_none(checks.STRING),
    "counts": checks.JSON_OBJECT,
    "settings": checks.JSON_OBJECT,
}


@dataclass(frozen=True)
class RunRecord:
    """A crawl or an import, as the store keeps it.

    Args:
        id: its number.
        spider: name of the spider; `import` and `bulk` for those commands.
        started, finished: None if it has not ended.
        outcome: why it ended; None if it has not, or was killed.
        counts: verdicts by their status, `full_keys` that were met, items that were not compared by
            their reason (`skipped_short`), requests (`fetch_requests`, of a site
            `fetch_requests:example.com`) and those that were not made (`fetch_skipped`).
        settings: those that it ran with.
        state: the outcome; without one, `running` if it has written something in the last ten
            minutes, else `did not end`.
    """

    id: int
    spider: str
    started: datetime
    finished: datetime | None
    outcome: str | None
    counts: dict[str, int]
    settings: dict[str, Any]
    state: str

    def as_dict(self) -> dict[str, Any]:
        """Run with times in ISO 8601."""
        finished = None if self.finished is None else self.finished.isoformat()
        return {**asdict(self), "started": self.started.isoformat(), "finished": finished}


def list_runs(
    connection: Connection, limit: int = 10, before: int | None = None
) -> list[RunRecord]:
    """Last runs, newest first, without those that cannot be read."""
    query = select(runs).order_by(runs.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(runs.c.id < before)
    found = map(run_values, connection.execute(query).mappings())
    return [_record(values) for values in found if values is not None]


def _record(values: dict[str, Any]) -> RunRecord:
    started, written = values["started"], values["finished"]
    has_ended = written is not None and values["outcome"] is not None
    state = "running" if is_active(written or started) else "did not end"
    times = {
        "started": from_seconds(started),
        "finished": from_seconds(written) if has_ended else None,
    }
    return RunRecord(**{**values, **times, "state": values["outcome"] or state})


def run_values(row: RowMapping | Mapping[str, Any]) -> dict[str, Any] | None:
    """Row of a run with its counts and settings as they were; None if it cannot be read."""
    if not all(check[0](row[name]) for name, check in _RUN.items()):
        return None
    return {**row, **{name: json.loads(row[name]) for name in ("counts", "settings")}}
