"""Pages that take more memory than a worker may have: each ends as a verdict, no other is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling.bulk import Options, deduplicate
from shingling.errors import ExtractionError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.extraction.processes import Worker
from shingling.sketch import Scheme
from tests.bulk.collections import read_lines, write_lines
from tests.hostile.bombs import BOMBS
from tests.support.pages import article, html
from tests.support.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")

MEMORY = 300 << 20
MEMORY_BOMB = BOMBS["misnested b of other classes"](250_000)  # takes 6 GB without a limit
HUNGRY = "tests.extraction.extractors.hungry"


def extractor(name: str = "quick", memory: int = MEMORY) -> PageExtractor:
    return PageExtractor(Scheme(), find_extractor(name), worker_memory=memory)


def extract_all(work: PageExtractor, bodies: Sequence[Any]) -> list[Extraction | str]:
    """What a worker extracts of each, one after the other, or the reason of the error."""

    async def main() -> list[Extraction | str]:
        pool = ExtractionPool(work, 1, PATIENCE)
        found: list[Extraction | str] = []
        try:
            for body in bodies:
                try:
                    found.append(await pool.extract(Fetched(body, is_html=True)))
                except ExtractionError as error:
                    found.append(error.reason)
        finally:
            await asyncio.to_thread(pool.close)
        return found

    return asyncio.run(main())


THREADS = """
import resource
import threading
from pathlib import Path
from shingling.extraction.limits import share_heap

def reserved():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

def allocate():
    kept = bytearray(10_000)
    met.wait()
    met.wait()

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
share_heap()
threading.stack_size(1 << 18)
met = threading.Barrier(9)
before = reserved()
for _ in range(8):
    threading.Thread(target=allocate).start()
met.wait()
print(reserved() - before)
met.wait()
"""


def test_threads_reserve_little_if_the_address_space_is_limited() -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 64 << 20  # what glibc reserves for one thread otherwise


@pytest.mark.parametrize("memory", [MEMORY, 0])
def test_a_worker_has_the_limit(memory: int) -> None:
    worker = Worker()
    worker.start(extractor(memory=memory))
    limits = Path(f"/proc/{worker._process.pid}/limits").read_text()
    worker.end()
    (line,) = (line for line in limits.splitlines() if line.startswith("Max data size"))
    assert line.split()[3] == (str(memory) if memory else "unlimited")


@pytest.mark.parametrize(
    ("name", "bomb", "again"),
    [("quick", MEMORY_BOMB, MEMORY_BOMB), (HUNGRY, "<p>eat", "<p>eat again")],
)
def test_a_page_that_takes_too_much_memory_is_skipped_and_no_other_is(
    name: str, bomb: Any, again: Any
) -> None:
    bodies = [html(article(1)), bomb, html(article(2)), again, html(article(3))]
    found = extract_all(extractor(name), bodies)
    shown = [one if isinstance(one, str) else one.reason for one in found]
    assert shown == [None, "too_much_memory", None, "too_much_memory", None]
    assert isinstance(found[3], str) == (again == bomb)  # the same body is not tried again


def test_a_worker_that_keeps_much_memory_is_replaced_before_the_next_page() -> None:
    bodies = ["<p>one", "<p>keep", "<p>two", "<p>keep", "<p>keep", "<p>three"]
    found = extract_all(extractor(HUNGRY), bodies)
    assert all(isinstance(one, Extraction) and one.text for one in found), found
    one, keep, two, *_, three = (one.text for one in found if isinstance(one, Extraction))
    assert one == keep
    assert len({keep, two, three}) == 3  # their texts are the numbers of their processes


@pytest.mark.parametrize("kind", ["eat", "keep", "abort"])
def test_a_row_that_takes_too_much_memory_is_bad_and_no_other_is(tmp_path: Path, kind: str) -> None:
    parts = ["a few words", "some more words", kind, "other words", "the end"]
    rows = [{"id": str(at), "html": f"<p>{part}"} for at, part in enumerate(parts)]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    options = Options(workers=1, extractor=HUNGRY, worker_memory=MEMORY)
    summary = deduplicate([str(file)], tmp_path / "out", options)
    bad = {"eat": "too much memory", "abort": "worker died"}
    found = [(row["line"], row["reason"]) for row in read_lines(tmp_path / "out" / "bad.jsonl")]
    assert found == ([(3, bad[kind])] if kind in bad else [])
    assert summary.total == len(parts) - len(found)


def test_ten_megabytes_of_ordinary_html_pass() -> None:
    body = BOMBS["p of one sentence"](9_990_000)
    (found,) = extract_all(PageExtractor(Scheme()), [body])
    assert isinstance(found, Extraction)
    assert found.reason is None
    assert found.text is not None
    assert found.text.count("A sentence of seven words, no more.") == 9_990_000 // 43
