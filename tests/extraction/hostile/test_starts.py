"""Workers that stop or hang while they start: each is ended, and what they were for goes on."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError
from shingling.extraction import processes
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool, start_worker
from shingling.extraction.processes import Worker, WorkerTimeoutError
from shingling.sketch import Scheme
from tests.bulk.collections import write_lines
from tests.support.pages import article, html
from tests.support.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Of a module that Python imports before anything else: it stops or hangs workers as they start.
SITE = """
import os, signal, sys, time
from pathlib import Path

def is_to_stop():
    if "shingling.extraction.worker" not in sys.orig_argv:
        return False
    try:
        Path(os.environ["STOPPED"]).touch(exist_ok=os.environ["STARTS"].endswith("always"))
    except FileExistsError:
        return False
    return True

if is_to_stop():
    if os.environ["STARTS"].startswith("hangs"):
        time.sleep(3600)
    os.kill(os.getpid(), signal.SIGSTOP)
"""
ARTICLES = [article(number) for number in range(4)]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have the first workers that start get ready soon; later ones may take their time."""
    start, begun = Worker.start, itertools.count()

    def limit(number: int) -> None:
        def limited(worker: Worker, work: Any) -> None:
            seconds = 1.0 if next(begun) < number else PATIENCE
            monkeypatch.setattr(processes, "MAX_START_SECONDS", seconds)
            start(worker, work)

        monkeypatch.setattr(Worker, "start", limited)

    return limit


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Have the workers of this process do something as they start."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("STOPPED", str(tmp_path / "mark"))
    return partial(monkeypatch.setenv, "STARTS")


def stopped_worker() -> Worker:
    worker = start_worker()
    assert worker is not None
    os.kill(worker._process.pid, signal.SIGSTOP)
    return worker


def test_a_worker_that_does_not_get_ready_is_ended(
    starts: Callable[[str], None], soon: Callable[[int], None]
) -> None:
    soon(1)
    starts("hangs")
    worker = Worker()
    with pytest.raises(WorkerTimeoutError):
        worker.start(PageExtractor(Scheme()))
    assert worker.is_dead


def test_a_worker_that_takes_no_message_is_ended(soon: Callable[[int], None]) -> None:
    soon(1)
    with pytest.raises(WorkerTimeoutError):
        stopped_worker().start("more than a pipe holds " * 10_000)  # type: ignore[arg-type]


def extracted(workers: int, first: Worker | None = None) -> list[str | None]:
    """Return what a pool extracts of the articles."""

    async def extract() -> list[str | None]:
        pool = ExtractionPool(PageExtractor(Scheme()), workers, PATIENCE, first=first)
        try:
            return [(await pool.extract(Fetched(text, is_html=False))).text for text in ARTICLES]
        finally:
            await asyncio.to_thread(pool.close)

    return asyncio.run(extract())


def test_a_worker_may_be_stopped_before_the_pool_is_made(soon: Callable[[int], None]) -> None:
    soon(1)
    assert extracted(1, first=stopped_worker()) == ARTICLES


def test_pages_are_extracted_in_a_thread_where_no_worker_gets_ready(
    starts: Callable[[str], None], soon: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    soon(99)
    starts("hangs always")
    assert extracted(2) == ARTICLES
    assert "A worker process did not start" in caplog.text


def test_a_collection_is_given_up_only_if_no_worker_gets_ready(
    tmp_path: Path, starts: Callable[[str], None], soon: Callable[[int], None]
) -> None:
    soon(1)
    rows = [{"id": str(at), "html": html(text)} for at, text in enumerate(ARTICLES)]
    file = str(write_lines(tmp_path / "rows.jsonl", rows))
    starts("stops once")
    summary = deduplicate([file], tmp_path / "out", Options(workers=1))
    assert (tmp_path / "mark").exists()
    assert (summary.total, summary.bad) == (4, 0)
    soon(99)
    starts("stops always")
    with pytest.raises(BulkError, match="worker processes do not start"):
        deduplicate([file], tmp_path / "none", Options(workers=1))
