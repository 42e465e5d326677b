"""Workers, and what becomes of a page that is slow or whose worker dies."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
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


async def text_of(pool: ExtractionPool, words: str) -> str | None:
    """Return the text of a page of these words, or the reason why there is none."""
    try:
        extraction = await pool.extract(Fetched(f"<p>{words}", is_html=True))
    except ExtractionError as error:
        return error.reason
    return extraction.text or extraction.reason


def extract_all(pages: list[str], workers: int, timeout: float) -> list[str | None]:
    """Return the text of each page, or the reason why there is none."""

    async def main() -> list[str | None]:
        pool = ExtractionPool(EXTRACTOR, workers, timeout)
        try:
            return await asyncio.gather(*(text_of(pool, words) for words in pages))
        finally:
            await asyncio.to_thread(pool.close)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("odd", "reason", "workers", "timeout"),
    [
        ("hang", "timeout", 0, 3.0),
        ("hang", "timeout", 2, 3.0),
        ("die", "worker_died", 1, PATIENCE),
        ("leave", "worker_died", 1, PATIENCE),
        ("leave", "extraction_failed", 0, PATIENCE),
    ],
)
def test_a_page_that_hangs_or_ends_its_worker_is_given_up_and_no_other_page_is_lost(
    odd: str, reason: str, workers: int, timeout: float
) -> None:
    pages = ["one", odd, "print two", f"{odd} again", "three"]
    expected = ["<p>one", reason, "<p>print two", reason, "<p>three"]
    assert extract_all(pages, workers, timeout) == expected


def test_the_start_of_a_worker_does_not_count_for_its_first_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = Worker.start

    def slowly(worker: Worker, work: PageExtractor) -> None:
        time.sleep(4)
        start(worker, work)

    monkeypatch.setattr(Worker, "start", slowly)
    assert extract_all(["one"], 1, 3.0) == ["<p>one"]


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


def test_a_program_that_cannot_start_workers_extracts_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert extract_all(["one"], 2, PATIENCE) == ["<p>one"]
    assert "a thread" in caplog.text


@pytest.mark.parametrize("workers", [0, 1])
def test_the_text_that_people_read_is_asked_of_a_worker_whatever_decides(workers: int) -> None:
    words = "Some words of an article that somebody has written. " * 5
    html = f"<html><body><p>{words}</p></body></html>"
    fetched = [Fetched(html, is_html=True), Fetched("", is_html=True), Fetched(html, is_html=False)]

    async def ask() -> list[str | None]:
        pool = ExtractionPool(EXTRACTOR, workers, PATIENCE)
        try:
            return [await pool.main_text(one) for one in fetched]
        finally:
            await asyncio.to_thread(pool.close)

    assert asyncio.run(ask()) == [words.strip(), None, html]


SLOW = 0.4  # seconds


@asynccontextmanager
async def a_pool(
    workers: int, timeout: float, slow_seconds: float = SLOW
) -> AsyncIterator[ExtractionPool]:
    pool = ExtractionPool(EXTRACTOR, workers, timeout, slow_seconds=slow_seconds)
    try:
        await text_of(pool, "ready")
        yield pool
    finally:
        await asyncio.to_thread(pool.close)


def workers_alive() -> list[psutil.Process]:
    """Worker processes of this process, which has others of the tests' own."""
    found = []
    for child in psutil.Process().children():
        with suppress(psutil.NoSuchProcess):  # it ends while it is looked at
            if child.status() != "zombie" and "shingling.extraction.worker" in child.cmdline():
                found.append(child)
    return found


def test_pages_behind_a_slow_one_go_on_and_it_is_answered() -> None:
    async def main() -> None:
        async with a_pool(1, PATIENCE) as pool:
            slow = asyncio.create_task(text_of(pool, "busy 3"))
            await asyncio.sleep(0)
            assert [await text_of(pool, "a"), await text_of(pool, "b")] == ["<p>a", "<p>b"]
            assert not slow.done()
            assert pool.has_slow_page
            assert await slow == "<p>busy 3"
            assert await text_of(pool, "c") == "<p>c"
            assert not pool.has_slow_page

    asyncio.run(main())


def test_a_worker_goes_on_with_a_slow_page_where_no_other_one_waits() -> None:
    async def main() -> None:
        async with a_pool(1, PATIENCE) as pool:
            [worker] = workers_alive()
            assert await text_of(pool, "busy 1") == "<p>busy 1"
            assert workers_alive() == [worker]

    asyncio.run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the CPU time of a process")
def test_a_page_is_slow_by_the_cpu_time_of_its_worker() -> None:
    async def main() -> None:
        async with a_pool(1, PATIENCE, slow_seconds=1.0) as pool:
            [worker] = workers_alive()
            waiting = asyncio.create_task(text_of(pool, "sleep 1.5"))
            await asyncio.sleep(0)
            assert await text_of(pool, "a") == "<p>a"
            assert await waiting == "<p>sleep 1.5"
            assert workers_alive() == [worker]
        async with a_pool(1, PATIENCE) as pool:
            waiting = asyncio.create_task(text_of(pool, f"sleep {10 * SLOW}"))
            await asyncio.sleep(0)
            assert await text_of(pool, "b") == "<p>b"
            assert not waiting.done()
            assert await waiting == f"<p>sleep {10 * SLOW}"

    asyncio.run(main())


def test_many_slow_pages_take_one_process_more_and_all_are_answered() -> None:
    async def main() -> None:
        async with a_pool(2, PATIENCE) as pool:
            slow = [asyncio.create_task(text_of(pool, f"busy 1.5 {n}")) for n in range(3)]
            most = 0
            while not all(task.done() for task in slow):
                most = max(most, len(workers_alive()))
                await asyncio.sleep(0.05)
            assert [task.result() for task in slow] == [f"<p>busy 1.5 {n}" for n in range(3)]
            assert 2 + 1 <= most <= 2 + 2, "one that was killed may not be gone yet"

    asyncio.run(main())


def test_an_attack_of_many_slow_pages_ends() -> None:
    async def main() -> None:
        async with a_pool(2, 3) as pool:
            slow = [text_of(pool, f"hang {n}") for n in range(4)]
            assert await asyncio.gather(*slow, text_of(pool, "a")) == ["timeout"] * 4 + ["<p>a"]

    asyncio.run(main())


def test_more_slow_pages_than_may_wait_are_given_up_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shingling.extraction.pool._MAX_SLOW_BYTES", 15)

    async def main() -> None:
        async with a_pool(1, PATIENCE) as pool:
            slow = [text_of(pool, f"busy 3 {n}") for n in range(2)]
            answers = await asyncio.gather(*slow, text_of(pool, "a"))
            assert answers == ["<p>busy 3 0", "timeout", "<p>a"]

    asyncio.run(main())


@pytest.mark.parametrize("workers", [0, 1])
def test_a_body_that_was_given_up_is_not_tried_again(workers: int) -> None:
    async def main() -> None:
        async with a_pool(workers, 3) as pool:
            assert await text_of(pool, "hang") == "timeout"
            again = await asyncio.gather(*(text_of(pool, "hang") for _ in range(50)))
            assert again == ["timeout"] * 50
            assert pool.not_tried_again == 50

    asyncio.run(main())


def test_a_body_that_ended_its_worker_is_not_tried_again() -> None:
    async def main() -> None:
        async with a_pool(1, PATIENCE) as pool:
            answers = [await text_of(pool, body) for body in ("die", "die", "a", "die")]
            assert answers == ["worker_died", "worker_died", "<p>a", "worker_died"]
            assert pool.not_tried_again == 2

    asyncio.run(main())


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
