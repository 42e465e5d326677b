"""A whole collection, from rows to the ids that stay: this, Spark and other tools.

Each gets the same file and all cores, in processes of its own, and looks for near-duplicates of
resemblance 0.5 and more in shingles of five words:

- this: `shingling.bulk.deduplicate`, every pair measured on its texts, and all its files written;
- spark: `shingling.bulk.spark` on this machine, from the same rows as Parquet (made before the
  clock); it must keep the rows that `this` keeps;
- datatrove: its four MinHash steps, 28 buckets of 3 hashes as ours, from the file cut in two (one
  part a task; before the clock), and a writer of what is kept;
- text-dedup: its command for MinHash, 28 bands of 3 hashes as ours;
- datasketch, rensa: 128 minima in a pool of processes, an index in the main one, a row that it
  finds another for goes;
- gaoya: its index, 42 bands of 3, likewise, but in one process.

Rows are made by `benchmarks.splice`: 300 words, 15 % made of an earlier row. The exact resemblance
of each to that row judges: of those from 0.5 on, which are removed (recall), and how many rows are
removed that are less alike, or were made of none. Memory is that of the tree of processes, shared
pages counted once (PSS).

    python -m benchmarks.bulk [--rows 100000] [--only this,spark,datatrove,...] [--data DIR]
        [--folder DIR]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.bulk_peers import PEERS, THRESHOLD
from benchmarks.data import data_folder
from benchmarks.processes import cpu_of, memory_of
from benchmarks.report import Target, chosen, number, options_of, show
from benchmarks.splice import Splicer
from shingling.bulk import Options, deduplicate
from shingling.similarity.measures import overlap
from shingling.sketch import fingerprint_set

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

_LOOK = 0.5  # seconds between two looks at the memory
_JUDGED = 200_000  # rows of which the exact resemblance is measured
# Rows, a figure of this, what it is to be, and whether at least.
_TARGETS = (
    (1_000_000, "rows/s", 8_000, True),
    (1_000_000, "peak MB", 1_500, False),
    (10_000_000, "peak MB", 6_000, False),
)


def this(file: Path, out: Path) -> None:
    """Write what this keeps."""
    options = Options(workers=len(os.sched_getaffinity(0)))
    print(json.dumps(deduplicate([str(file)], out, options).as_dict()))


def spark(file: Path, out: Path) -> None:
    """Write what this keeps on Spark."""
    from pyspark.sql import SparkSession

    from shingling.bulk.spark import deduplicate_parquet

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(out.with_suffix(".local")))
        .getOrCreate()
    )
    with session:
        deduplicate_parquet(session, [str(_parquet(file))], str(out / "result"), Options())


def _parquet(file: Path) -> Path:
    """Return the rows as Parquet; they are made of the JSON lines if they are not there yet."""
    made = file.with_suffix(".parquet")
    if not made.exists():
        from pyarrow import json as arrow_json, parquet

        parquet.write_table(arrow_json.read_json(file), made)
    return made


CONTESTANTS = {"this": this, "spark": spark}
PEERS_PYTHON = Path(sys.prefix) / "peers" / "bin" / "python"


def run(name: str, file: Path, folder: Path) -> dict[str, float]:
    """Run a contestant in a process of its own; return what it took."""
    out = folder / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if name in PEERS:
        script = Path(__file__).with_name("bulk_peers.py")
        command = [str(PEERS_PYTHON), str(script), name, str(file), str(out)]
    else:
        command = [sys.executable, "-m", "benchmarks.bulk", "--contestant", name]
        command += ["--file", str(file), "--folder", str(out)]
    began, peak = time.perf_counter(), 0.0
    cpu: dict[int, float] = {}  # of each process, as last seen: not all are waited for
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        while process.poll() is None:
            peak = max(peak, memory_of(process.pid))
            cpu |= cpu_of(process.pid)
            time.sleep(_LOOK)
    if process.returncode:
        raise SystemExit(f"{name} failed:\n" + (folder / f"{name}.log").read_text("utf-8")[-3000:])
    return {
        "seconds": time.perf_counter() - began,
        "CPU s": sum(cpu.values()),
        "peak MB": peak,
    }


def judge(splicer: Splicer, rows: int, kept: Iterable[str]) -> tuple[float, int]:
    """Return which share of the near-duplicates is removed, and how many rows are wrongly."""
    stays = bytearray(rows)
    for name in kept:
        stays[int(name)] = 1
    found = there = wrong = 0
    for at in range(rows):
        removed = not stays[at]
        if at % 20 not in (7, 13, 19) and not removed:
            continue
        text, source = splicer.row(at)
        resemblance = 0.0
        if source is not None:
            other = splicer.row(source)[0]
            resemblance = overlap(fingerprint_set(text), fingerprint_set(other)).resemblance
        there += resemblance >= THRESHOLD
        found += resemblance >= THRESHOLD and removed
        wrong += resemblance < THRESHOLD and removed
    return found / max(there, 1), wrong


def main() -> None:
    """Run the benchmark."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", default=",".join(("this", *PEERS)))
    parser.add_argument("--folder", type=Path, help="for the rows and all that is made of them")
    parser.add_argument("--contestant", help=SUPPRESS)
    parser.add_argument("--file", type=Path, help=SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        CONTESTANTS[options.contestant](options.file, options.folder)
        return
    names = chosen(parser, options.only, (*CONTESTANTS, *PEERS))
    if not PEERS_PYTHON.exists() and not PEERS.keys().isdisjoint(names):
        print(f"Other tools are left out: there is no {PEERS_PYTHON} (`make bench` makes it)")
        names = [name for name in names if name not in PEERS]
    with tempfile.TemporaryDirectory() as temporary:
        _compare(options, names, options.folder or Path(temporary))


def _compare(options: Namespace, names: Sequence[str], folder: Path) -> None:
    splicer = Splicer(data_folder(options.data))
    file = folder / f"rows_{options.rows}.jsonl"
    if not file.exists():
        splicer.write(file, range(options.rows))
    if "datatrove" in names:
        rows = range(options.rows)
        for part, half in enumerate((rows[: len(rows) // 2], rows[len(rows) // 2 :])):
            splicer.write(file.with_suffix(".parts") / f"{part}.jsonl", half)
    if "spark" in names:
        _parquet(file)
    figures: dict[str, dict[str, float]] = {}
    for name in names:
        figures[name] = run(name, file, folder)
        figures[name]["rows/s"] = options.rows / figures[name]["seconds"]
        if options.rows <= _JUDGED:
            kept = _kept(name, folder)
            if name == "spark" and "this" in names and {*kept} != {*_kept("this", folder)}:
                raise SystemExit("Spark keeps other rows")
            recall, wrong = judge(splicer, options.rows, kept)
            figures[name] |= {"recall": recall, "wrongly removed": wrong, "kept": len(kept)}
    _show(options.rows, file.stat().st_size / options.rows, figures)


def _kept(name: str, folder: Path) -> list[str]:
    """Return the ids that a contestant keeps."""
    if name == "spark":
        from pyarrow import parquet

        kept: list[str] = parquet.read_table(folder / name / "result" / "kept")["id"].to_pylist()
        return kept
    found = []
    for part in [*(folder / name).glob("kept.jsonl"), *(folder / name).glob("kept/*.jsonl")]:
        with part.open(encoding="utf-8") as lines:
            found += [json.loads(line)["id"] for line in lines]
    return found


def _show(rows: int, size: float, figures: dict[str, dict[str, float]]) -> None:
    names = [*next(iter(figures.values()))]
    show(
        ("", *names),
        ((name, *(number(own[one]) for one in names)) for name, own in figures.items()),
        f"{rows:,} rows of {size:,.0f} bytes, {os.cpu_count()} cores",
    )
    own = figures.pop("this", None)
    if own is None:
        return
    for name, other in figures.items():
        print(f"this / {name}: {other['seconds'] / own['seconds']:.1f} times as fast")
    for size_of, name, limit, at_least in _TARGETS:
        if size_of == rows:
            print(Target(name, own[name], limit, at_least))


if __name__ == "__main__":
    main()
