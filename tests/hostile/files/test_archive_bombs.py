"""Small archives that give very many bytes: memory stays what it is, and each is given up."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.bulk.collections import write_lines
from tests.support.pages import article
from tests.support.processes import run_fork

from .archives import good_record, warc_record

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak memory of a process is read there"
)

MEGABYTE = 1 << 20
ADDRESS_SPACE = 3 << 30  # bytes
MAX_EXTRA_MEMORY = 120  # MB, above that of a run of ordinary pages

RUN = f"""
import json, pathlib, resource, sys
from shingling.bulk import Options, deduplicate

resource.setrlimit(resource.RLIMIT_AS, ({ADDRESS_SPACE}, {ADDRESS_SPACE}))
summary = deduplicate(sys.argv[2:], sys.argv[1], Options(workers=0, max_bytes=10_000_000))
problems = [problem.reason for problem in summary.problems]
# Linux counts the memory of the parent process in ru_maxrss.
status = pathlib.Path("/proc/self/status").read_text()
peak = int(status.partition("VmHWM:")[2].split()[0]) / 1000
print(json.dumps([summary.total, summary.bad, problems, peak]))
"""


class Outcome(NamedTuple):
    """What a run in a process of its own has given.

    Args:
        total: rows that were decided.
        bad: bad rows.
        problems: the first of them.
        peak: memory, in MB.
    """

    total: int
    bad: int
    problems: list[str]
    peak: float


def run(tmp_path: Path, name: str, pieces: Iterable[bytes]) -> Outcome:
    """Deduplicate an archive and, behind it, a row."""
    archive = tmp_path / name
    with archive.open("wb") as file:
        file.writelines(pieces)
    after = write_lines(tmp_path / "after.jsonl", [{"id": "after", "text": article(20)}])
    out = tempfile.mkdtemp(dir=tmp_path)
    done = run_fork(tmp_path, "-c", RUN, out, str(archive), str(after))
    archive.unlink()
    assert done.returncode == 0, done.stderr
    return Outcome(*json.loads(done.stdout))


@pytest.fixture(scope="module")
def ordinary_peak(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Peak memory of a run of ordinary pages, in MB."""
    pytest.importorskip("fastwarc")
    content = b"".join(good_record(number) for number in range(1, 10))
    return run(tmp_path_factory.mktemp("ordinary"), "x.warc.gz", [gzip.compress(content)]).peak


def packed(*contents: bytes | tuple[bytes, int]) -> Iterable[bytes]:
    """Pack contents by gzip; one with a number is there that many times."""
    for content in contents:
        piece, times = content if isinstance(content, tuple) else (content, 1)
        member = gzip.compress(piece, 1)
        for _ in range(times):
            yield member


MUCH = 400  # megabytes
LARGE = warc_record(b"https://example.com/5", b"", length=b"%d" % (MUCH * MEGABYTE))[:-4]

BOMBS = {
    # name of the archive, its pieces, number of rows, reasons
    "a large record header": (
        "x.warc.gz",
        packed(good_record(1), b"WARC/1.0\r\nX: ", (b"x" * MEGABYTE, MUCH), good_record(9)),
        2,
        ["Maximum header length"],
    ),
    "a large record": (
        "x.warc.gz",
        packed(good_record(1), LARGE, (bytes(MEGABYTE), MUCH), good_record(9)),
        2,
        ["too large", "cannot be read any further: "],
    ),
    "starts of gzip members": (
        "x.warc.gz",
        [*packed(good_record(1)), b"\x1f\x8b\x08\0" * 3_000_000],
        2,
        ["cannot be read any further: "],
    ),
}


@pytest.mark.parametrize(("name", "pieces", "rows", "reasons"), BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_stopped_by_the_limits_and_the_run_goes_on(
    tmp_path: Path,
    ordinary_peak: float,
    name: str,
    pieces: Iterable[bytes],
    rows: int,
    reasons: list[str],
) -> None:
    found = run(tmp_path, name, pieces)
    assert found.total == rows
    assert found.bad == len(found.problems) == len(reasons)
    for reason, problem in zip(reasons, found.problems, strict=True):
        assert reason in problem
    assert found.peak - ordinary_peak < MAX_EXTRA_MEMORY
