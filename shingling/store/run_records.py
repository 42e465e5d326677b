"""Crawls and imports as the store keeps them: when they ran, and what they counted."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from shingling.store.model import STATUSES, from_seconds
from shingling.store.runs import is_running
from shingling.store.schema.tables import runs

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection, RowMapping


@dataclass(frozen=True)
class RunRecord:
    """A crawl or an import, as the store keeps it.

    Args:
        id: its number.
        spider: name of the spider; `import` and `bulk` for those commands.
        started, finished: None if it has not ended.
        outcome: why it ended; None if it has not, or was killed.
        counts: verdicts by their status, `changed_pages`, whose text, title or own data has
            changed, and `kept_copies`, which are `near` or `exact` but no duplicates, `full_keys`
            that were met; of a crawl that has ended, what became of the `items`: how many came out
            (`came_out`), were dropped or tagged as duplicates (`duplicate_items`), were dropped
            otherwise (`dropped_repeated`, `dropped_unchanged`), kept for a reason
            (`kept_own_text`) or not compared (`skipped_short`); requests (`fetch_requests`, of a
            site `fetch_requests:example.com`) and those that were not made (`fetch_skipped`).
        settings: those that it ran with.
        state: the outcome; without one, `running` if it has written something in the last ten
            minutes and its process is not known to have ended, else `did not end`.
    """

    id: int
    spider: str
    started: datetime
    finished: datetime | None
    outcome: str | None
    counts: dict[str, int]
    settings: dict[str, Any]
    state: str

    @property
    def items(self) -> dict[str, int]:
        """What became of the items: those that went on, and were dropped.

        Of a run that has counted pages alone, what became of these.
        """
        counts = Counter(self.counts)
        items, copies = counts["items"], counts["duplicate_items"]
        if not items:
            items = sum(map(counts.__getitem__, STATUSES))
            copies = counts["near"] + counts["exact"] - counts["kept_copies"]
        unchanged, repeated = counts["dropped_unchanged"], counts["dropped_repeated"]
        kept = items - copies - unchanged - repeated
        return {"kept": kept, "unchanged": unchanged, "repeated": repeated, "duplicates": copies}

    def as_dict(self) -> dict[str, Any]:
        """Run with times in ISO 8601."""
        finished = None if self.finished is None else self.finished.isoformat()
        return {**asdict(self), "started": self.started.isoformat(), "finished": finished}


def list_runs(
    connection: Connection, limit: int = 10, before: int | None = None
) -> list[RunRecord]:
    """Last runs, newest first."""
    query = select(runs).order_by(runs.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(runs.c.id < before)
    return [*map(_record, connection.execute(query).mappings())]


def _record(row: RowMapping) -> RunRecord:
    written, outcome = row["finished"], row["outcome"]
    is_under_way = is_running(written or row["started"], row["settings"])
    settings = json.loads(row["settings"])
    settings.pop("process", None)
    return RunRecord(
        id=row["id"],
        spider=row["spider"],
        started=from_seconds(row["started"]),
        finished=None if written is None or outcome is None else from_seconds(written),
        outcome=outcome,
        counts=json.loads(row["counts"]),
        settings=settings,
        state=outcome or ("running" if is_under_way else "did not end"),
    )
