"""Runs that are interrupted, and workers that die: nothing is lost."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Rules
from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError
from tests.support.installed import ROOT
from tests.support.pages import article
from tests.support.processes import PATIENCE, Fork, run_fork, so_within

from .collections import bulk, families, random_texts, read_lines, result_of, write_lines

if TYPE_CHECKING:
    from pathlib import Path

ROWS = families(8, 600, random_texts(7, 20))
HELD = [*ROWS[:149], {**ROWS[149], "text": f"wait {ROWS[149]['text']}"}]

PROGRAM = """
import sys
import shingling.bulk.inputs.sources
from shingling.bulk import Options, deduplicate
shingling.bulk.inputs.sources._PART_BYTES = 5_000
options = Options(workers=2, timeout=3600, extractor="tests.extraction.extractors.awkward")
deduplicate([sys.argv[1]], sys.argv[2], options)
"""


def size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def test_a_killed_run_gives_the_same_when_it_is_started_again(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "rows.jsonl", ({"id": row["id"], "html": row["text"]} for row in HELD)
    )
    command = ("-c", PROGRAM, str(file), str(tmp_path / "out"))
    work, mark = tmp_path / "out" / ".bulk", {"HOSTILE_MARK": str(tmp_path / "mark")}
    process = Fork(ROOT, command, mark, (tmp_path / "output", tmp_path / "errors"))
    assert so_within(PATIENCE, lambda: size_of(work / "signed" / "rows") > 0)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (tmp_path / "mark").touch()
    assert run_fork(ROOT, *command, environment=mark).returncode == 0
    assert result_of(tmp_path / "out") == bulk(
        write_lines(tmp_path / "plain.jsonl", HELD), tmp_path / "plain"
    )
    assert not work.exists()


class StopError(Exception):
    """Stands for the end of a process."""


@pytest.mark.parametrize(
    ("phase", "method"),
    [
        *((phase, "minhash") for phase in ("signing", "deciding", "writing")),
        ("deciding", "simhash"),
    ],
)
def test_a_run_goes_on_from_every_phase(
    tmp_path: Path, phase: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.bulk.inputs.sources._PART_BYTES", 5_000)
    monkeypatch.setattr("shingling.bulk.signed_rows._BLOCK_ROWS", 100)
    file = write_lines(tmp_path / "rows.jsonl", ROWS)
    stop_at = random.Random(phase).randint(1, 5)

    phases: set[str] = set()

    def progress(step: Any) -> None:
        nonlocal stop_at
        phases.add(step.phase)
        stop_at -= step.phase == phase
        if not stop_at:
            raise StopError

    rules = Rules(method=method, simhash_distance=3)
    options = Options(rules, workers=0)
    for _ in range(2):  # the second one stops later
        with pytest.raises(StopError):
            deduplicate([str(file)], tmp_path / "out", options, progress=progress)
        stop_at = 2
    phases.clear()
    stop_at = -1
    deduplicate([str(file)], tmp_path / "out", options, progress=progress)
    assert ("signing" in phases) == (phase == "signing")  # it is not done twice
    assert result_of(tmp_path / "out") == bulk(file, tmp_path / "at once", rules=rules)


def interrupted(file: str, out: Path, **options: Any) -> None:
    def progress(step: Any) -> None:
        if step.phase == "deciding":
            raise StopError

    with pytest.raises(StopError):
        deduplicate([file], out, Options(workers=0, **options), progress=progress)


def test_a_run_with_other_options_or_inputs_is_not_gone_on_from(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS)
    interrupted(str(file), tmp_path / "out")
    with pytest.raises(BulkError, match="--restart"):
        deduplicate([str(file)], tmp_path / "out", Options(workers=0, max_bytes=1000))
    write_lines(file, ROWS[:100])
    with pytest.raises(BulkError, match="--restart"):
        deduplicate([str(file)], tmp_path / "out", Options(workers=0))
    summary = deduplicate([str(file)], tmp_path / "out", Options(workers=0), restart=True)
    assert summary.total == 100
    with pytest.raises(BulkError, match="a run has ended there"):
        deduplicate([str(file)], tmp_path / "out", Options(workers=0))


def test_standard_input_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(rows: list[dict[str, str]]) -> None:
        raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))

    given(ROWS)
    interrupted("-", tmp_path / "out")
    given(ROWS[:50])
    assert deduplicate(["-"], tmp_path / "out", Options(workers=0)).total == 50


def test_a_file_that_changes_meanwhile_ends_the_run(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS)

    def progress(step: Any) -> None:
        if step.phase == "deciding":
            file.write_bytes(b"\xff" * file.stat().st_size)

    with pytest.raises(BulkError, match=r"rows.jsonl, line \d+: the file has changed since"):
        deduplicate([str(file)], tmp_path / "out", Options(workers=0), progress=progress)


def test_two_runs_do_not_write_to_one_folder(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS)

    def progress(_: Any) -> None:
        with pytest.raises(BulkError, match="another run is writing there"):
            deduplicate([str(file)], tmp_path / "out", Options(workers=0))
        raise StopError

    with pytest.raises(StopError):
        deduplicate([str(file)], tmp_path / "out", Options(workers=0), progress=progress)


@pytest.mark.parametrize(
    ("said", "reason"),
    [(("", "die", "", "end once", ""), "worker died"), (("", "hang", ""), "timeout")],
    ids=["ends", "hangs"],
)
def test_a_row_that_ends_its_worker_or_takes_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: tuple[str, ...], reason: str
) -> None:
    monkeypatch.setenv("HOSTILE_MARK", str(tmp_path / "mark"))
    rows = [{"id": str(at), "html": f"{one} {article(at)}"} for at, one in enumerate(said)]
    file = write_lines(tmp_path / "rows.jsonl", rows)
    options = Options(extractor="tests.extraction.extractors.awkward", workers=1)
    if reason == "timeout":
        options = replace(options, timeout=10.0)
    assert deduplicate([str(file)], tmp_path / "out", options).total == len(said) - 1
    [bad] = read_lines(tmp_path / "out" / "bad.jsonl")
    assert (bad["line"], bad["reason"]) == (2, reason)


FULL = """
import resource, sys
from shingling.bulk import Options, deduplicate
from shingling.errors import ShinglingError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    deduplicate([sys.argv[1]], sys.argv[2], Options(workers=0))
except ShinglingError as error:
    sys.exit(str(error))
"""


def test_a_full_disk_is_said_and_with_room_the_run_ends(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "rows.jsonl", ROWS)
    for limit in (10_000, 180_000):  # of files, in place of a disk: no chunk, no output
        done = run_fork(ROOT, "-c", FULL, str(file), str(tmp_path / "out"), str(limit))
        assert done.returncode == 1, done.stderr
        assert "File too large; give the same command again" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    deduplicate([str(file)], tmp_path / "out", Options(workers=0))
    assert result_of(tmp_path / "out") == bulk(file, tmp_path / "at once")
