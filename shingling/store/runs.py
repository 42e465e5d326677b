"""Crawls and imports as the store keeps them: when they ran, and what they counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, text, update

from shingling.store.schema.tables import rules as rules_table, runs
from shingling.text import clean

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules

_ADD_RULES = text(
    f"INSERT INTO {rules_table} (parameters) VALUES (:parameters) ON CONFLICT DO NOTHING"  # noqa: S608 (ours)
)


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


@dataclass
class Run:
    """One crawl or import that is under way.

    Args:
        id: its number.
        counts: what `Store.check` has counted.
        is_crawl: whether a page that it does not meet may be gone from the web.
        previous: number of the last crawl of this spider that has finished; None: there is none.
    """

    id: int
    counts: Counter[str]
    is_crawl: bool = False
    previous: int | None = None


def insert_run(
    connection: Connection, spider: str, settings: dict[str, Any], *, is_crawl: bool = False
) -> Run:
    """Record that a crawl or import has begun."""
    of_spider = runs.c.spider == clean(spider), runs.c.outcome == "finished"
    before = select(func.max(runs.c.id)).where(*of_spider)
    previous = connection.scalar(before) if is_crawl else None
    values = {
        "spider": clean(spider),
        "started": int(time.time()),
        "counts": "{}",
        "settings": json.dumps(settings),
    }
    (number,) = connection.execute(insert(runs).values(values)).inserted_primary_key or (0,)
    return Run(int(number), Counter(), is_crawl, previous)


def end_run(connection: Connection, run: Run, outcome: str) -> None:
    """Record that a run has ended, and why."""
    write_counts(connection, run.id, run.counts)
    ended = {"finished": int(time.time()), "outcome": clean(outcome)}
    connection.execute(update(runs).where(runs.c.id == run.id).values(ended))


def write_counts(connection: Connection, run: int, counts: Counter[str]) -> None:
    """Record what a run has counted so far."""
    connection.execute(update(runs).where(runs.c.id == run).values(counts=json.dumps(dict(counts))))


def find_rules(connection: Connection, rules: Rules) -> int | None:
    """Find the number that the store keeps rules under; None if it has none."""
    query = select(rules_table.c.id).where(rules_table.c.parameters == rules.deciding)
    found: int | None = connection.scalar(query)
    return found


def add_rules(connection: Connection, rules: Rules) -> int:
    """Give rules a number, unless they have one."""
    connection.execute(_ADD_RULES, {"parameters": rules.deciding})
    return find_rules(connection, rules) or 0
