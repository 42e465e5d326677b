"""Workers, and what becomes of a page that is slow or whose worker dies."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from shingling.errors import ExtractionError
from shingling.extraction import limits
from shingling.extraction.extractors import find_extractor
from shingling.extraction.limits import cpu_quota, usable_cpus
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.extraction.processes import Worker
from shingling.sketch import Scheme
from tests.support.installed import ROOT
from tests.support.processes import PATIENCE, so_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

EXTRACTOR = PageExtractor(Scheme(), find_extractor("tests.extraction.extractors.awkward"))
SLOW = 0.4  # seconds


async def text_of(pool: ExtractionPool, words: str) -> str | None:
    """Return the text of a page of these words, or the reason why there is none."""
    try:
        extraction = await pool.extract(Fetched(f"<p>{words}", is_html=True))
    except ExtractionError as error:
        return error.reason
    return extraction.text or extraction.reason


def asked(pool: ExtractionPool, *pages: str) -> list[asyncio.Task[str | None]]:
    """Ask for the texts of pages, which come later."""
    return [asyncio.create_task(text_of(pool, words)) for words in pages]


@asynccontextmanager
async def a_pool(workers: int) -> AsyncIterator[ExtractionPool]:
    """A pool with a worker that is ready."""
    pool = ExtractionPool(EXTRACTOR, workers, PATIENCE, slow_seconds=SLOW)
    try:
        await text_of(pool, "ready")
        yield pool
    finally:
        await asyncio.to_thread(pool.close)


class Clock:
    """The clock of a pool, which can be stopped and put forward."""

    ahead = 0.0
    stopped_at: float | None = None

    def monotonic(self) -> float:
        return (self.stopped_at or time.monotonic()) + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("shingling.extraction.pool.time", clock)
    return clock


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that pages make when they begin, or that they wait for."""
    monkeypatch.setenv("HOSTILE_MARK", str(tmp_path / "mark"))
    return tmp_path / "mark"


@pytest.mark.parametrize(
    ("odd", "reason", "workers"),
    [("die", "worker_died", 1), ("leave", "worker_died", 1), ("leave", "extraction_failed", 0)],
)
async def test_a_page_that_ends_its_worker_is_given_up_and_no_other_page_is_lost(
    odd: str, reason: str, workers: int
) -> None:
    async with a_pool(workers) as pool:
        answers = await asyncio.gather(*asked(pool, "one", odd, "print two", f"{odd} again"))
        assert answers == ["<p>one", reason, "<p>print two", reason]
        if workers:
            assert [await text_of(pool, body) for body in (odd, "a", odd)] == [
                reason,
                "<p>a",
                reason,
            ]
            assert pool.not_tried_again == 2


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_body_is_given_up_only_after_it_has_ended_two_workers(
    workers: int, mark: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_pool(workers) as pool:
        answers = await asyncio.gather(*asked(pool, "end once", "two", "end once"))
        assert answers == ["<p>end once", "<p>two", "<p>end once"]
        assert (pool.not_tried_again, caplog.messages) == (0, [])
        assert await asyncio.gather(*asked(pool, "die", "die")) == ["worker_died"] * 2
        assert len(caplog.messages) == 1
        assert "Two worker processes have ended" in caplog.messages[0]


@pytest.mark.parametrize("workers", [0, 2])
async def test_a_page_that_hangs_is_given_up_and_not_tried_again_and_no_other_page_is_lost(
    workers: int, clock: Clock, mark: Path
) -> None:
    async with a_pool(workers) as pool:
        hanging, *others = asked(pool, "begin and hang", "print two", "three")
        while not mark.exists():
            await asyncio.sleep(0.01)
        clock.ahead += PATIENCE
        assert await hanging == "timeout"
        assert await asyncio.gather(*others) == ["<p>print two", "<p>three"]
        assert await asyncio.gather(*asked(pool, *["begin and hang"] * 50)) == ["timeout"] * 50
        assert pool.not_tried_again == 50


async def test_the_start_of_a_worker_does_not_count_for_its_first_page(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    start = Worker.start

    def slowly(worker: Worker, work: PageExtractor) -> None:
        clock.ahead += PATIENCE
        start(worker, work)

    monkeypatch.setattr(Worker, "start", slowly)
    async with a_pool(1) as pool:
        assert await text_of(pool, "one") == "<p>one"
        assert clock.ahead == PATIENCE, "the first page was answered by the same worker"


def test_a_worker_ends_with_its_parent_also_in_the_middle_of_a_page() -> None:
    code = (
        "import asyncio, os, psutil, signal\n"
        "from shingling.extraction.pool import ExtractionPool\n"
        "from shingling.extraction.pages import Fetched\n"
        "from tests.extraction.test_workers import EXTRACTOR\n"
        "async def main():\n"
        "    pool = ExtractionPool(EXTRACTOR, 1, 600)\n"
        "    await pool.extract(Fetched('<p>one', is_html=True))\n"
        "    asyncio.ensure_future(pool.extract(Fetched('<p>hang', is_html=True)))\n"
        "    await asyncio.sleep(0.3)\n"
        "    print(psutil.Process().children()[0].pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    worker = int(done.stdout)
    assert so_within(PATIENCE, lambda: not _is_running(worker))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_program_that_cannot_start_workers_extracts_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    async with a_pool(2) as pool:
        assert await text_of(pool, "one") == "<p>one"
    assert "a thread" in caplog.text


def test_a_thread_that_cannot_be_started_is_tried_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With too little memory for it, one of many attempts would hang for ever."""
    tried = []

    def start(thread: threading.Thread) -> None:
        tried.append(thread)
        raise RuntimeError("can't start new thread")

    pool = ExtractionPool(EXTRACTOR, 0, PATIENCE)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="start"):
                asyncio.run(text_of(pool, "one"))
    assert len(tried) == 1
    pool.close()


@pytest.mark.parametrize("workers", [0, 1])
async def test_the_text_that_people_read_is_asked_of_a_worker_whatever_decides(
    workers: int,
) -> None:
    words = "Some words of an article that somebody has written. " * 5
    html = f"<html><body><p>{words}</p></body></html>"
    fetched = [Fetched(html, is_html=True), Fetched("", is_html=True)]
    async with a_pool(workers) as pool:
        assert [await pool.main_text(one, "text") for one in fetched] == [words.strip(), None]


def workers_alive() -> list[psutil.Process]:
    """Worker processes of this process, which has others of the tests' own."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it ends while it is looked at
            if child.status() != "zombie" and "shingling.extraction.worker" in child.cmdline():
                found.append(child)
    return found


async def test_pages_behind_a_slow_one_go_on_and_it_is_answered(mark: Path) -> None:
    async with a_pool(1) as pool:
        [slow] = asked(pool, "spin")
        await asyncio.sleep(0)
        assert [await text_of(pool, "a"), await text_of(pool, "b")] == ["<p>a", "<p>b"]
        assert not slow.done()
        assert pool.has_slow_page
        mark.touch()
        assert await slow == "<p>spin"
        assert await text_of(pool, "c") == "<p>c"
        assert not pool.has_slow_page


async def test_a_worker_goes_on_with_a_slow_page_where_no_other_one_waits() -> None:
    async with a_pool(1) as pool:
        [worker] = workers_alive()
        assert await text_of(pool, "busy 1") == "<p>busy 1"
        assert workers_alive() == [worker]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the CPU time of a process")
async def test_a_page_is_slow_by_the_cpu_time_of_its_worker_and_by_five_times_that_of_the_clock(
    clock: Clock, mark: Path
) -> None:
    async with a_pool(1) as pool:
        [worker] = workers_alive()
        clock.stopped_at = time.monotonic()
        waiting, other = asked(pool, "wait", "a")
        await asyncio.sleep(0)
        clock.ahead += 4 * SLOW
        await asyncio.sleep(2 * SLOW)  # after SLOW, the pool looks at the page
        assert not pool.has_slow_page
        assert workers_alive() == [worker]
        clock.ahead += 2 * SLOW
        assert await other == "<p>a"
        mark.touch()
        assert await waiting == "<p>wait"


async def test_many_slow_pages_take_one_process_more_and_all_are_answered() -> None:
    async with a_pool(2) as pool:
        slow = asked(pool, *(f"busy 0.8 {n}" for n in range(3)))
        most = 0
        while not all(task.done() for task in slow):
            most = max(most, len(pool._workers))
            await asyncio.sleep(0.05)
        assert [task.result() for task in slow] == [f"<p>busy 0.8 {n}" for n in range(3)]
        assert most == 2 + 1
        while len(workers_alive()) > 2:  # those that were ended take a moment
            await asyncio.sleep(0.05)


async def test_an_attack_of_many_slow_pages_ends() -> None:
    async with a_pool(2) as pool:
        slow = asked(pool, *(f"hang {n}" for n in range(4)))
        assert await text_of(pool, "a") == "<p>a"
        pool.timeout = 1
        assert await asyncio.gather(*slow) == ["timeout"] * 4


async def test_more_slow_pages_than_may_wait_are_given_up_at_once(
    monkeypatch: pytest.MonkeyPatch, mark: Path
) -> None:
    monkeypatch.setattr("shingling.extraction.pool._MAX_SLOW_BYTES", 10)
    async with a_pool(1) as pool:
        slow, later, other = asked(pool, "spin 0", "spin 1", "a")
        assert [await later, await other] == ["timeout", "<p>a"]
        mark.touch()
        assert await slow == "<p>spin 0"


# CPUs that may be used, in files as the kernel of Linux shows them


@pytest.mark.parametrize(
    ("own", "files", "quota"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "max 100000\n"}, 2.0),
        ("0::/a/b\n", {"a/cpu.max": "200000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5),
        ("0::/docker/of the host\n", {"cpu.max": "300000 100000\n"}, 3.0),
        ("0::/\n", {"cpu.max": "nonsense"}, None),
    ],
)
def test_the_quota_of_a_container_is_read(
    tmp_path: Path, own: str, files: dict[str, str], quota: float | None
) -> None:
    (tmp_path / "own").write_text(own)
    for name, text in files.items():
        file = tmp_path / "mounted" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert cpu_quota(tmp_path / "mounted", tmp_path / "own") == quota
    assert cpu_quota(tmp_path / "mounted", tmp_path / "absent") is None


@pytest.mark.parametrize(("quota", "expected"), [(1.5, 2), (0.2, 1), (None, 64), (100.0, 64)])
def test_a_quota_bounds_the_cpus(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int
) -> None:
    monkeypatch.setattr(limits, "cpu_quota", lambda *_: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    assert usable_cpus() == expected
