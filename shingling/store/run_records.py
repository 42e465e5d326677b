"""Crawls and imports as the store keeps them: when they ran, and what they counted."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from shingling.store.model import from_seconds
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
        outcome: why it ended.
        counts: verdicts by their status, `full_keys` that were met, items that were not compared by
            their reason (`skipped_short`), requests that were not made (`fetch_skipped`).
        settings: those that it ran with.
    """

    id: int
    spider: str
    started: datetime
    finished: datetime | None
    outcome: str | None
    counts: dict[str, int]
    settings: dict[str, Any]

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
    return [
        RunRecord(
            **{
                **values,
                "started": from_seconds(values["started"]),
                "finished": _time(values["finished"]),
            }
        )
        for values in found
        if values is not None
    ]


def _time(seconds: int | None) -> datetime | None:
    return None if seconds is None else from_seconds(seconds)


def run_values(row: RowMapping | Mapping[str, Any]) -> dict[str, Any] | None:
    """Row of a run with its counts and settings as they were; None if it cannot be read."""
    if not all(check[0](row[name]) for name, check in _RUN.items()):
        return None
    return {**row, **{name: json.loads(row[name]) for name in ("counts", "settings")}}
