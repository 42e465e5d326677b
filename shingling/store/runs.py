"""Crawls and imports as the store keeps them: when they ran, and what they counted."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, update

from shingling.store.schema.tables import runs
from shingling.text import clean

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass
class Run:
    """One crawl or import that is under way; `counts` is what `Store.check` has counted."""

    id: int
    counts: Counter[str]


def insert_run(connection: Connection, spider: str, settings: dict[str, Any]) -> Run:
    """Record that a crawl or import has begun."""
    values = {
        "spider": clean(spider),
        "started": int(time.time()),
        "counts": "{}",
        "settings": json.dumps(settings),
    }
    (number,) = connection.execute(insert(runs).values(values)).inserted_primary_key or (0,)
    return Run(int(number), Counter())


def end_run(connection: Connection, run: Run, outcome: str) -> None:
    """Record that a run has ended, and why."""
    write_counts(connection, run.id, run.counts)
    ended = {"finished": int(time.time()), "outcome": clean(outcome)}
    connection.execute(update(runs).where(runs.c.id == run.id).values(ended))


def write_counts(connection: Connection, run: int, counts: Counter[str]) -> None:
    """Record what a run has counted so far."""
    connection.execute(update(runs).where(runs.c.id == run).values(counts=json.dumps(dict(counts))))
