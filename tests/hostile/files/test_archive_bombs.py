"""Small archives that give very many bytes: memory stays what it is, and each is given up."""

from __future__ import annotations

import bz2
import gzip
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.support.processes import run_fork

from .archives import (
    TAR_END,
    good,
    good_record,
    octal,
    page,
    pax,
    tar_entry,
    tar_header,
    warc_record,
)

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
    """Deduplicate an archive and, behind it, another one of a page."""
    archive, after = tmp_path / name, tmp_path / "after.tar"
    with archive.open("wb") as file:
        file.writelines(pieces)
    after.write_bytes(tar_entry(b"after", page(20)) + TAR_END)
    out = tempfile.mkdtemp(dir=tmp_path)
    done = run_fork(tmp_path, "-c", RUN, out, str(archive), str(after))
    archive.unlink()
    assert done.returncode == 0, done.stderr
    return Outcome(*json.loads(done.stdout))


@pytest.fixture(scope="module")
def ordinary_peak(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Peak memory of a run of ordinary pages, in MB."""
    content = b"".join(good(number) for number in range(1, 10)) + TAR_END
    return run(tmp_path_factory.mktemp("ordinary"), "x.tgz", [gzip.compress(content)]).peak


def packed(*contents: bytes | tuple[bytes, int]) -> Iterable[bytes]:
    """Pack contents by gzip; one with a number is there that many times."""
    for content in contents:
        piece, times = content if isinstance(content, tuple) else (content, 1)
        member = gzip.compress(piece, 1)
        for _ in range(times):
            yield member


def tar_of(kind: bytes, name: bytes, size: int) -> Iterable[bytes]:
    """Pack an entry of null bytes between two pages."""
    return packed(
        good(1) + tar_header(name, octal(size) if size < 8**11 else b"", kind=kind),
        (bytes(MEGABYTE), size // MEGABYTE),
        good(5) + good(9) + TAR_END,
    )


def members(pack: Any, start: bytes, size: int) -> Iterable[bytes]:
    """Pack bytes, and then null bytes, as one stream after the other."""
    yield pack(start)
    member = pack(bytes(16 * MEGABYTE))
    for _ in range(size // (16 * MEGABYTE)):
        yield member


GIGABYTE = 1 << 30
PAGE_OF_128_GB = good(1) + tar_header(b"5", b"\x80" + (128 << 30).to_bytes(11)) + b"<html>"

LIMIT = "cannot be read any further: it "
RECORD_OF_1_GB = warc_record(b"https://example.com/5", b"", length=b"%d" % GIGABYTE)[:-4]

BOMBS = {
    # name of the archive, its pieces, number of rows, reasons
    "PAX header of 4 GB": ("x.tgz", tar_of(b"x", b"pax", 4 * GIGABYTE), 2, [LIMIT + "takes more"]),
    "file of 1 GB": ("x.tgz", tar_of(b"0", b"5", GIGABYTE), 4, []),
    "page of 128 GB by bzip2": (
        "x.tar.bz2",
        members(bz2.compress, PAGE_OF_128_GB, 128 * GIGABYTE),
        2,
        ["5: too large", LIMIT + "takes more"],
    ),
    "record header of 1 GB": (
        "x.warc.gz",
        packed(good_record(1), b"WARC/1.0\r\nX: ", (b"x" * MEGABYTE, 1024), good_record(9)),
        2,
        ["Maximum header length"],
    ),
    "record of 1 GB": (
        "x.warc.gz",
        packed(good_record(1), RECORD_OF_1_GB, (bytes(MEGABYTE), 1024), good_record(9)),
        2,
        ["too large", "cannot be read any further: "],
    ),
    "starts of gzip members": (
        "x.warc.gz",
        [*packed(good_record(1)), b"\x1f\x8b\x08\0" * 3_000_000],
        2,
        ["cannot be read any further: "],
    ),
    "PAX headers": ("x.tgz", packed(pax([(b"a", b"b")]) * 10_000), 1, ["recursion"]),
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
    if "warc" in name:
        pytest.importorskip("fastwarc")
    found = run(tmp_path, name, pieces)
    assert found.total == rows
    assert found.bad == len(found.problems) == len(reasons)
    for reason, problem in zip(reasons, found.problems, strict=True):
        assert reason in problem
    assert found.peak - ordinary_peak < MAX_EXTRA_MEMORY
