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
            (`came_out`), were dropped by later pipelines (`dropped_later`), were dropped or tagged
            as duplicates (`duplicate_items`), were dropped otherwise (`dropped_repeated`,
            `dropped_unchanged`), kept for a reason (`kept_own_text`) or not compared
            (`skipped_short`); requests (`fetch_requests`, of a site `fetch_requests:example.com`)
            and those that were not made (`fetch_skipped`).
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
    def items(self) -> dict[str, int | None]:
        """How many items there were, and came out of all pipelines; and what became of them here.

        They are `kept`, or dropped as `unchanged` or `repeated`, or dropped or tagged as
        `duplicates`: these four add up to all `items`. What is kept or tagged has come out, or was
        dropped by a later pipeline (`dropped_later`). Of a run that has counted pages alone, such
        as an import, what became of these; how many `came_out` is not known then.
        """
        counts = Counter(self.counts)
        items, came_out, duplicates = counts["items"], counts["came_out"], counts["duplicate_items"]
        is_crawl = items > 0
        if not is_crawl:
            items = sum(map(counts.__getitem__, STATUSES))
            duplicates = counts["near"] + counts["exact"] - counts["kept_copies"]
        unchanged, repeated = counts["dropped_unchanged"], counts["dropped_repeated"]
        return {
            "items": items,
            "came_out": came_out if is_crawl else None,
            "dropped_later": counts["dropped_later"] if is_crawl else None,
            "kept": items - duplicates - unchanged - repeated,
            "unchanged": unchanged,
            "repeated": repeated,
            "duplicates": duplicates,
        }

    def as_dict(self) -> dict[str, Any]:
        """Run with times in ISO 8601, and what became of its items."""
        finished = None if self.finished is None else self.finished.isoformat()
        times = {"started": self.started.isoformat(), "finished": finished}
        return {**asdict(self), **times, "items": self.items}


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
