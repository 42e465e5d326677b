"""The pool that extracts pages away from the event loop, without a crawl around it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shingling.errors import ExtractionError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.html import MainText
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.sketch import Scheme
from tests.support.installed import ROOT

EXTRACTOR = PageExtractor(Scheme(), find_extractor("tests.extraction.extractors.awkward"))


def extract_all(bodies: list[str], workers: int, timeout: float) -> list[str]:
    """Return the text of each body, or the reason why there is none."""

    async def extract(pool: ExtractionPool, body: str) -> str:
        try:
            extraction = await pool.extract(Fetched(body, is_html=True))
        except ExtractionError as error:
            return error.reason
        return extraction.text or extraction.reason or ""

    async def main() -> list[str]:
        pool = ExtractionPool(EXTRACTOR, workers, timeout)
        try:
            return await asyncio.gather(*(extract(pool, body) for body in bodies))
        finally:
            await asyncio.to_thread(pool.close)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("odd", "reason", "workers", "timeout"),
    [
        ("<p>hang", "timeout", 0, 1.0),
        ("<p>hang", "timeout", 2, 1.0),
        # A new worker takes longer to start than the time limit: that is not the page's fault.
        ("<p>die", "worker_died", 1, 0.2),
    ],
)
def test_a_page_that_hangs_or_ends_its_worker_is_given_up_and_no_other_page_is_lost(
    odd: str, reason: str, workers: int, timeout: float
) -> None:
    bodies = ["<p>one", odd, "<p>two", f"{odd} again", f"{odd} once more", "<p>three"]
    expected = ["<p>one", reason, "<p>two", reason, reason, "<p>three"]
    assert extract_all(bodies, workers, timeout) == expected


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
    until = time.monotonic() + 10
    while _is_running(worker) and time.monotonic() < until:
        time.sleep(0.1)
    assert not _is_running(worker)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_cannot_start_workers_extracts_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert extract_all(["<p>one"], 2, timeout=5) == ["<p>one"]
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert extract_all(["<p>one"], 2, timeout=5) == ["<p>one"]
    assert "a thread" in caplog.text


@pytest.mark.parametrize("workers", [0, 1])
def test_the_text_that_people_read_is_asked_of_a_worker_whatever_decides(workers: int) -> None:
    words = "Some words of an article that somebody has written. " * 5
    html = f'<html lang="en"><head><title>T</title></head><body><p>{words}</p></body></html>'
    fetched = [Fetched(html, is_html=True), Fetched("", is_html=True), Fetched(html, is_html=False)]

    async def ask() -> list[MainText | None]:
        pool = ExtractionPool(EXTRACTOR, workers, 30)
        try:
            return [await pool.main_text(one) for one in fetched]
        finally:
            await asyncio.to_thread(pool.close)

    assert asyncio.run(ask()) == [MainText(words.strip(), "T", "en"), None, MainText(html)]
