"""Crawls that are killed or interrupted in the middle."""

from __future__ import annotations

import os
import signal
import time
import uuid
from array import array
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from tests.plugin.faults.test_database import PAGES, stored
from tests.support.crawls import Crawling, stats
from tests.support.installed import ROOT
from tests.support.invariants import is_whole
from tests.support.pages import article, html
from tests.support.processes import PATIENCE, so_within
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


GATED = """
import os

from shingling import extract
from shingling.extraction.pool import ExtractionPool

# Pages that wait at the gate are not slow: none is decided before them.
ExtractionPool.__init__.__kwdefaults__["slow_seconds"] = float("inf")

def extract_when_let(html, url):
    with open(os.environ["GATE"], "rb", buffering=0) as gate:
        gate.read(1)
    return extract(html, url)
"""


class Gate:
    """A named pipe of which the extractor reads a byte a page, and waits where there is none."""

    def __init__(self, folder: Path) -> None:
        (folder / "gated_extractor.py").write_text(GATED)
        self.path = folder / f"{uuid.uuid4().hex}.gate"
        os.mkfifo(self.path)
        self._pipe = os.open(self.path, os.O_RDWR)

    def let(self, pages: int) -> None:
        """Let pages be extracted."""
        os.write(self._pipe, b"." * pages)

    @property
    def is_empty(self) -> bool:
        """Whether as many pages have been extracted as were let, or are being so."""
        import fcntl  # not on Windows
        import termios

        unread = array("i", [0])
        fcntl.ioctl(self._pipe, termios.FIONREAD, unread)
        return unread[0] == 0

    def close(self) -> None:
        os.close(self._pipe)


@pytest.fixture
def make_gate(tmp_path: Path) -> Iterator[Callable[[], Gate]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(Gate(tmp_path)))


def let_until_stored(
    crawling: Crawling, gate: Gate, stored: Callable[[], bool], pages: int
) -> None:
    """Let pages through, and wait until enough are stored.

    Pages are stored in the order in which they came; the first one may not be among the first that
    are extracted, so others are let through if nothing happens.
    """
    gate.let(pages)
    until = time.monotonic() + PATIENCE
    while not so_within(2, stored):
        assert time.monotonic() < until, crawling.log
        assert crawling.process.poll() is None, crawling.log
        if gate.is_empty:
            gate.let(1)


def archive(folder: Path, store: Path, *arguments: str, gate: Gate | None = None) -> Crawling:
    """Start the archive spider over 36 pages; they wait at a gate, if there is one."""
    pages = folder / "pages"
    pages.mkdir(exist_ok=True)
    for number in range(36):
        text = article(number % 24)  # the last 12 are copies, 6 of them with an end of their own
        text = text if number < 30 else f"{text.rsplit(maxsplit=3)[0]} and so on"
        (pages / f"{number:02}.html").write_text(html(text))
    extractor = "gated_extractor.extract_when_let" if gate else "quick"
    return Crawling(
        ROOT,
        *("-a", f"path={pages}", "-a", "base=https://pages.example/"),
        *("-O", str(folder / "items.jsonl")),
        *("-s", f"DEDUP_STORE_URL=sqlite:///{store}", "-s", "DEDUP_WORKERS=1"),
        *("-s", f"DEDUP_EXTRACTOR={extractor}", *arguments),
        command=("-m", "scrapy", "crawl", "archive"),
        logs=folder,
        environment={"PYTHONPATH": str(folder), **({"GATE": str(gate.path)} if gate else {})},
    )


def pages_of(store: Path) -> list[tuple[object, ...]]:
    """Return the pages with their statuses and originals."""
    return sorted(rows_of(store, PAGES))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """The pages of a store whose crawl ran to its end."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    crawling = archive(folder, folder / "dedup.db")
    assert crawling.wait() == 0, crawling.log
    return pages_of(folder / "dedup.db")


def test_a_crawl_killed_twice_and_repeated_ends_with_the_store_of_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: list[tuple[object, ...]], make_gate: Callable[[], Gate]
) -> None:
    store = tmp_path / "dedup.db"
    pages = len(uninterrupted)
    for run, let in ((1, pages // 3), (2, pages * 2 // 3)):
        gate = make_gate()
        # One after the other: the pages that are let through are those that are stored first.
        crawling = archive(tmp_path, store, "-s", "CONCURRENT_REQUESTS=1", gate=gate)

        def is_far_enough(run: int = run, let: int = let) -> bool:
            # This run's own row as well: the one before may have stored enough pages.
            return stored(store, "runs") >= run and stored(store) >= let

        let_until_stored(crawling, gate, is_far_enough, let)
        os.kill(crawling.process.pid, signal.SIGKILL)
        assert crawling.wait() == -signal.SIGKILL
        assert crawling.all_gone(), "a worker has outlived the crawl"
        assert stored(store) < pages, "the crawl was to be killed before its end"
        assert is_whole(store)
    crawling = archive(tmp_path, store)
    assert crawling.wait() == 0, crawling.log
    assert pages_of(store) == uninterrupted
    assert {status for _, status, _ in uninterrupted} >= {"new", "exact", "near"}
    assert is_whole(store)
    outcomes = [outcome for (outcome,) in rows_of(store, "SELECT outcome FROM runs ORDER BY id")]
    assert outcomes[:2] == [None, None]
    assert outcomes[2] is not None


def test_an_interrupted_crawl_decides_what_it_has_fetched_and_records_its_end(
    tmp_path: Path, make_gate: Callable[[], Gate]
) -> None:
    store, gate = tmp_path / "dedup.db", make_gate()
    crawling = archive(tmp_path, store, "-s", "CONCURRENT_REQUESTS=4", gate=gate)
    let_until_stored(crawling, gate, lambda: stored(store) >= 5, 5)
    # What Ctrl-C does: the signal goes to the whole foreground process group, workers as well.
    os.killpg(os.getpgid(crawling.process.pid), signal.SIGINT)
    crawling.wait_for(lambda: "shutting down gracefully" in crawling.log)
    gate.let(1000)
    assert crawling.wait() == 0, crawling.log
    assert crawling.all_gone()
    assert "Traceback" not in crawling.log
    counted = stats(crawling.log)
    assert "dedup/skipped/worker_died" not in counted
    assert counted["finish_reason"] == "shutdown"
    ended = int(counted["item_scraped_count"]) + int(counted.get("item_dropped_count", 0))
    assert ended == int(counted["response_received_count"]) == int(counted["dedup/checked"])
    ((outcome, finished),) = rows_of(store, "SELECT outcome, finished FROM runs")
    assert outcome
    assert finished
    assert is_whole(store)


def test_a_crawl_interrupted_twice_ends_at_once_and_leaves_a_sound_store(
    tmp_path: Path, make_gate: Callable[[], Gate]
) -> None:
    store, gate = tmp_path / "dedup.db", make_gate()
    crawling = archive(tmp_path, store, gate=gate)
    let_until_stored(crawling, gate, lambda: stored(store) >= 5, 5)
    crawling.process.send_signal(signal.SIGINT)
    crawling.wait_for(lambda: "shutting down gracefully" in crawling.log)
    crawling.process.send_signal(signal.SIGINT)
    crawling.wait()
    assert "forcing unclean shutdown" in crawling.log
    assert crawling.all_gone()
    assert is_whole(store)
    assert stored(store) >= 5
