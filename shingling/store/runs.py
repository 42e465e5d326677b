"""Crawls and imports that are under way, as the store notes them."""

from __future__ import annotations

import json
import os
import socket
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import exists, func, insert, select, update

from shingling.store.schema.tables import execute_each, runs, verdicts
from shingling.store.verdicts import count_verdicts
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

NO_CRAWLS = ("import", "bulk")
"""In the place of the spider: commands whose runs are no crawls."""

_ACTIVE_SECONDS = 600  # since a run has begun, or has written something
_TOKEN = uuid.uuid4().hex  # of this process: its number may have been another one's


@dataclass
class Run:
    """One crawl or import that is under way.

    Args:
        id: its number.
        counts: what `Store.check` has counted.
        is_crawl: whether a page that it does not meet may be gone from the web.
        previous: number of the last crawl of this spider that has finished and has met a page;
            None: there is none.
        parts: numbers of the runs of a crawl that may have been paused: its own, and others.
        killed: numbers of runs that were: which items came out of them is not known.
    """

    id: int
    counts: Counter[str]
    is_crawl: bool = False
    previous: int | None = None
    parts: set[int] = field(default_factory=set)
    killed: set[int] = field(default_factory=set)


def insert_run(
    connection: Connection, spider: str, settings: dict[str, Any], *, is_crawl: bool
) -> Run:
    """Record that a crawl or import has begun."""
    has_met_pages = exists().where(verdicts.c.run_id == runs.c.id)
    of_spider = runs.c.spider == clean(spider), runs.c.outcome == "finished", has_met_pages
    before = select(func.max(runs.c.id)).where(*of_spider)
    previous = connection.scalar(before) if is_crawl else None
    values = {
        "spider": clean(spider),
        "started": int(time.time()),
        "counts": "{}",
        "settings": json.dumps({**settings, "process": _this_process()}),
    }
    (number,) = connection.execute(insert(runs).values(values)).inserted_primary_key or (0,)
    killed = {run for run, is_running in unended_runs(connection).items() if not is_running}
    return Run(int(number), Counter(), is_crawl, previous, {number}, killed)


def resume_run(connection: Connection, run: Run, earlier: Collection[int]) -> None:
    """Make earlier runs of a job parts of its run, but for those that have finished."""
    was_paused = runs.c.id.in_(earlier) & (runs.c.outcome != "finished")
    run.parts.update(connection.scalars(select(runs.c.id).where(was_paused)))


def end_run(connection: Connection, run: Run, outcome: str) -> None:
    """Record that a run has ended, and why, and count its verdicts."""
    write_counts(connection, run.id, run.counts)
    connection.execute(update(runs).where(runs.c.id == run.id).values(outcome=clean(outcome)))
    count_verdicts(connection, run.id)


def unended_runs(connection: Connection) -> dict[int, bool]:
    """Find the runs that have no outcome; of each, whether it may be under way."""
    written = func.coalesce(runs.c.finished, runs.c.started)
    unended = select(runs.c.id, written, runs.c.settings).where(runs.c.outcome.is_(None))
    return {run: is_running(*row) for run, *row in connection.execute(unended)}


def is_running(written: int, settings: str) -> bool:
    """Whether a run that has no outcome may be under way; not if its process has ended.

    Args:
        written: when it has last written something.
        settings: of the run, as they are stored.
    """
    process = json.loads(settings).get("process")
    return written > time.time() - _ACTIVE_SECONDS and not _has_ended(process)


def _this_process() -> list[Any]:
    return [socket.gethostname(), os.getpid(), _TOKEN]


def _has_ended(process: Any) -> bool:
    """Whether a process has ended; False if that cannot be known, as of other machines."""
    host, number, _ = this = _this_process()
    match process:
        case [str(its_host), int(its_number), str()] if its_host == host and os.name == "posix":
            if its_number == number:
                return bool(process != this)
            try:
                os.kill(its_number, 0)
            except (ProcessLookupError, OverflowError):
                return True
            except PermissionError:
                pass
    return False


def write_counts(connection: Connection, run: int, counts: Counter[str]) -> None:
    """Record what a run has counted so far, and when."""
    values = json.dumps(dict(counts)), int(time.time()), run
    execute_each(connection, "UPDATE runs SET counts = ?, finished = ? WHERE id = ?", [values])
