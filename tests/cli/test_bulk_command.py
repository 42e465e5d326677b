"""`scrapy dedup bulk`, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import run_scrapy
from tests.support.installed import ROOT
from tests.support.pages import article
from tests.support.processes import PATIENCE, so_within

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [{"id": str(number), "text": article(number % 7)} for number in range(10)]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = [json.dumps(row) for row in ROWS]
    file.write_text("\n".join([*lines, "broken"]) + "\n", encoding="utf-8")
    return file


def test_a_collection_is_deduplicated_and_a_crawl_could_go_on(tmp_path: Path, rows: Path) -> None:
    store = f"sqlite:///{tmp_path / 'dedup.db'}"
    arguments = ("bulk", rows.name, "--out", "out", "--store", store, "--every", "3600")
    done = run_scrapy(tmp_path, "dedup", *arguments, "--into-store", "--workers", "1")
    assert done.returncode == 0, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[:4] == [
        "read 11 rows",
        "bad 1, listed in bad.jsonl",
        "kept 7 (70.0%)",
        "removed 3 (30.0%): 3 exact, 0 near",
    ]
    assert "in the store 7 new, 3 exact" in lines
    assert "rows.jsonl 11 not JSON" in lines
    phases = ("signing", "deciding", "storing", "writing")
    assert done.stderr == "".join(f"{phase} ...\n" for phase in phases)
    kept = (tmp_path / "out/kept.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["id"] for line in kept] == [row["id"] for row in ROWS[:7]]
    summary = json.loads((tmp_path / "out/summary.json").read_bytes())
    assert (summary["unique_share"], summary["bad"], summary["seconds"] > 0) == (0.7, 1, True)
    assert [summary[name] for name in ("read", "kept", "removed")] == [11, 7, 3]
    assert summary["problems"] == [{"file": "rows.jsonl", "line": 11, "reason": "not JSON"}]
    listed = run_scrapy(tmp_path, "dedup", "list", "--json", "--store", store)
    assert {page["url"]: page["original"] for page in json.loads(listed.stdout)} == {
        str(number): None if number < 7 else str(number - 7) for number in range(10)
    }


@pytest.mark.parametrize(
    ("options", "count", "edits", "near"),
    [
        # Of 50 shingles, 25 are the same: Dice is 0.5, the resemblance 1/3.
        (("--measure", "dice", "--threshold", "0.5"), 54, 25, 1),
        (("--measure", "dice", "--threshold", "0.51"), 54, 25, 0),
        # SimHashes that differ in 5 bits.
        (("--method", "simhash", "--distance", "5"), 400, 30, 1),
        (("--method", "simhash", "--distance", "4"), 400, 30, 0),
    ],
)
def test_the_options_say_what_is_near(
    dedup: Any, tmp_path: Path, options: tuple[str, ...], count: int, edits: int, near: int
) -> None:
    words = [f"w{number}" for number in range(count)]
    edited = [*words[: count - edits], *(f"e{number}" for number in range(edits))]
    rows = ({"id": name, "text": " ".join(text)} for name, text in (("a", words), ("b", edited)))
    file, out = tmp_path / "rows.jsonl", tmp_path / "out"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = dedup("bulk", str(file), "--out", str(out), "--workers", "0", "--json", *options)
    assert done.json() == json.loads((out / "summary.json").read_bytes())
    assert done.json()["near"] == near


def test_stop_words_that_leave_little_are_warned_of(
    dedup: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = ({"id": n, "text": f"{'this is the one of them ' * 5} number {n}"} for n in range(30))
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    scheme = {"canonical": {"language": "en", "stop_words": True}}
    arguments = ("bulk", str(file), "--out", str(tmp_path / "out"), "--workers", "0")
    done = dedup(*arguments, DEDUP_SCHEME=scheme)
    assert done.code == 0, done
    assert caplog.text.count("take more than half of the words") == 1


def interrupted(process: subprocess.Popen[str]) -> str:
    """Interrupt a process until it ends, and return what it has said.

    As a person does who presses Ctrl-C again: Python loses a signal that comes while it imports.
    """
    try:
        for _ in range(10):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=PATIENCE / 10)[1]
    finally:
        process.kill()
        process.wait()
    raise AssertionError("it does not end")


def test_an_interrupted_command_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "1", "html": "<p>hang"}) + "\n", encoding="utf-8")
    extractor = ("-s", "DEDUP_EXTRACTOR=tests.extraction.extractors.awkward")
    endless = (*extractor, "-s", "DEDUP_TIMEOUT=3600")
    command = [sys.executable, "-m", "scrapy", "dedup", "bulk", "rows.jsonl", "--out", "out"]
    process = subprocess.Popen(
        [*command, *endless],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background has the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert so_within(PATIENCE, lambda: any(tmp_path.glob("out/.bulk/signed")))
    said = interrupted(process)
    assert process.returncode == 2
    last = "scrapy dedup bulk: interrupted; give the same command again"
    assert said.splitlines()[-1] == last
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (("rows.jsonl",), "--out"),
        (("--out", "out"), "INPUT"),
        (("rows.jsonl", "--out", "out", "--threshold", "2"), "--threshold: takes"),
        (("rows.jsonl", "--out", "out", "--distance", "3"), "no effect with the method minhash"),
        (("rows.jsonl", "--out", "out", "--measure", "dice"), "give both"),
        (("none.jsonl", "--out", "out"), "none.jsonl: No such file"),
        (("rows.jsonl", "--out", "out", "--strict"), "rows.jsonl, line 11: not JSON (--strict)"),
        (("rows.jsonl", "--out", "out", "-s", "DEDUP_CONTAINMENT=0.9"), "DEDUP_CONTAINMENT"),
    ],
)
def test_what_is_wrong_is_said(
    dedup: Any, rows: Path, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], problem: str
) -> None:
    monkeypatch.chdir(rows.parent)
    done = dedup("bulk", *given)
    assert (done.code, problem in done.err) == (2, True), done
