"""A whole collection by SimHash: rate, memory, and agreement with comparing every pair.

Rows are made by `benchmarks.splice`: 300 words, and 10 % are an earlier row again. In 5 % more,
1 to 6 words are replaced, so that most of their SimHashes lie 0 to 5 bits from that of their
source. All rows are signed once more to judge: each row of a sample is compared with every row
before it that was kept. It has to be removed if and only if one of them lies within the distance.
Memory is that of the tree of processes, shared pages counted once (PSS).

    python -m benchmarks.bulk_simhash [--rows 100000] [--distance 3] [--sample 20000] [--data DIR]
        [--folder DIR] [--memory BYTES] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.bulk import tree_mb
from benchmarks.data import data_folder
from benchmarks.splice import Splicer
from shingling import Rules
from shingling.bulk import DEFAULT_MEMORY_BYTES, Options, Progress, deduplicate
from shingling.sketch import Scheme, sign

_LOOK = 0.5  # seconds between two looks at the memory
_MAX_REPLACED = 6  # words


def write(file: Path, rows: int, splicer: Splicer) -> None:
    """Write rows as JSON lines of `id` and `text`."""
    with file.open("w", encoding="utf-8") as out:
        for number in range(rows):
            source = None
            if number >= 20 and number % 20 in (13, 19):
                rnd = random.Random(number)
                source = rnd.randrange(number - number % 20)
            text = splicer.row(number if source is None else source)[0]
            if source is not None and number % 20 == 13:
                words = text.split()
                for _ in range(rnd.randint(1, _MAX_REPLACED)):
                    words[rnd.randrange(len(words))] = f"w{rnd.randrange(10**6)}"
                text = " ".join(words)
            out.write(f'{{"id": "{number}", "text": {json.dumps(text, ensure_ascii=False)}}}\n')


def run(file: Path, out: Path, options: argparse.Namespace) -> dict[str, float]:
    """Deduplicate in a process of its own: seconds, CPU seconds and peak memory in MB."""
    command = [sys.executable, "-m", "benchmarks.bulk_simhash", "--distance", str(options.distance)]
    command += ["--memory", str(options.memory), "--file", str(file), "--out", str(out)]
    began, peak = time.perf_counter(), 0.0
    before = _cpu_seconds_of_children()
    process = subprocess.Popen(command)
    while process.poll() is None:
        peak = max(peak, tree_mb(process.pid))
        time.sleep(_LOOK)
    if process.returncode:
        raise SystemExit("the run failed")
    return {
        "seconds": time.perf_counter() - began,
        "CPU seconds": _cpu_seconds_of_children() - before,
        "peak MB": peak,
    }


def _cpu_seconds_of_children() -> float:
    """CPU seconds of all processes that were waited for, with their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simhash_of_line(line: str) -> int:
    """Return the SimHash of a row."""
    return sign(json.loads(line)["text"], Scheme()).simhash


def judge(file: Path, out: Path, distance: int, sample: int) -> dict[str, float]:
    """Compare a sample of the rows with every row before it that was kept."""
    with get_context("spawn").Pool() as pool, file.open(encoding="utf-8") as lines:
        simhashes = np.fromiter(pool.imap(simhash_of_line, lines, 1000), np.uint64)
    is_kept = np.zeros(len(simhashes), bool)
    with (out / "kept.jsonl").open(encoding="utf-8") as lines:
        is_kept[[int(json.loads(line)["id"]) for line in lines]] = True
    kept = np.flatnonzero(is_kept)
    chance = np.random.default_rng(1)
    rows = np.arange(len(simhashes))
    if len(rows) > sample:
        rows = np.sort(chance.choice(rows, sample, replace=False))
    there = found = wrong = 0
    for row in rows.tolist():
        before = kept[: np.searchsorted(kept, row)]
        near = bool((np.bitwise_count(simhashes[before] ^ simhashes[row]) <= distance).any())
        there += near
        found += near and not is_kept[row]
        wrong += not near and not is_kept[row]
    return {"near in sample": there, "recall": found / max(there, 1), "wrongly removed": wrong}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--distance", type=int, default=3)
    parser.add_argument("--sample", type=int, default=20_000, help="rows that are judged")
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--folder", type=Path, help="for the rows and all that is made of them")
    parser.add_argument("--memory", type=int, default=DEFAULT_MEMORY_BYTES, help="bytes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file:
        _deduplicate(options)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"simhash_rows_{options.rows}.jsonl"
        if not file.exists():
            write(file, options.rows, Splicer(data_folder(options.data)))
        out = folder / f"simhash_{options.rows}_{options.distance}"
        figures = run(file, out, options)
        summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
        figures |= {name: summary[name] for name in ("exact", "near")}
        figures |= judge(file, out, options.distance, options.sample)
    figures["rows/s"] = options.rows / figures["seconds"]
    table = Table(*figures, box=None)
    table.add_row(
        *(f"{value:,.4f}" if value <= 1 else f"{value:,.0f}" for value in figures.values())
    )
    heading = f"{options.rows:,} rows, distance {options.distance}, {os.cpu_count()} cores"
    Console(width=120).print(heading, table, sep="\n")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _deduplicate(options: argparse.Namespace) -> None:
    """Deduplicate, and print the seconds of each phase."""
    began: dict[str, float] = {}

    def note(step: Progress) -> None:
        began.setdefault(step.phase, time.perf_counter())

    rules = Rules(method="simhash", simhash_distance=options.distance)
    chosen = Options(rules, workers=len(os.sched_getaffinity(0)), memory=options.memory)
    deduplicate([str(options.file)], options.out, chosen, restart=True, progress=note)
    times = [*began.values(), time.perf_counter()]
    for phase, start, end in zip(began, times, times[1:], strict=False):
        print(f"{phase} {end - start:,.1f} s")


if __name__ == "__main__":
    main()
