"""What Spark takes for a collection: task seconds and bytes for each million rows.

The rows are those of `benchmarks.bulk`, as Parquet. Spark runs on this machine (`local[*]`), and
its event log tells, summed over all tasks, the seconds that they ran (a core has one task at a
time, so that a cluster needs so many seconds divided by its cores, at best), and the bytes that
they wrote to shuffles and to the work folder. Beside it `shingling.bulk.deduplicate` on the same
rows, whose result has to be the same.

    python -m benchmarks.bulk_spark [--rows 200000] [--data DIR] [--folder DIR] [--cores N]
        [--driver-memory 4g] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.splice import Splicer
from shingling.bulk import Options, deduplicate
from shingling.bulk.spark import deduplicate_parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

_BATCH = 20_000  # rows


def parquet(splicer: Splicer, rows: int, file: Path) -> None:
    """Write rows, unless they are there."""
    if file.exists():
        return
    schema = pa.schema([("id", pa.string()), ("text", pa.string())])
    part = file.with_suffix(".part")
    with pq.ParquetWriter(part, schema) as writer:
        for start in range(0, rows, _BATCH):
            numbers = range(start, min(start + _BATCH, rows))
            texts = [splicer.row(number)[0] for number in numbers]
            writer.write_table(pa.table([[str(one) for one in numbers], texts], schema))
    part.replace(file)


def by_spark(file: Path, folder: Path, cores: int, memory: str) -> dict[str, float]:
    """Return what a run took, summed over its tasks."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    events, out = folder / "events", folder / "spark"
    for old in (events, out):
        shutil.rmtree(old, ignore_errors=True)
    events.mkdir()
    session = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.driver.memory", memory)
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", events.as_uri())
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.local.dir", str(folder / "local"))
        .getOrCreate()
    )
    began = time.perf_counter()
    with session:
        summary = deduplicate_parquet(session, [str(file)], str(out), Options())
    seconds = time.perf_counter() - began
    totals = Counter[str]()
    for task in _tasks(events):
        totals.update(task)
    return {"seconds": seconds, "kept": summary.unique, **totals}


def _tasks(folder: Path) -> Iterator[dict[str, float]]:
    """Yield what each task of an event log took."""
    for file in folder.rglob("events_*"):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                event: dict[str, Any] = json.loads(line)
                metrics = event.get("Task Metrics")
                if event["Event"] != "SparkListenerTaskEnd" or not metrics:
                    continue
                yield {
                    "tasks": 1,
                    "task seconds": metrics["Executor Run Time"] / 1000,
                    "shuffle MB": metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"] / 1e6,
                    "written MB": metrics["Output Metrics"]["Bytes Written"] / 1e6,
                    "spilled MB": metrics["Disk Bytes Spilled"] / 1e6,
                }


def by_bulk(file: Path, folder: Path, cores: int) -> dict[str, float]:
    """Return what a run on this machine alone takes."""
    out = folder / "bulk"
    shutil.rmtree(out, ignore_errors=True)
    began = time.perf_counter()
    summary = deduplicate([str(file)], out, Options(workers=cores))
    return {"seconds": time.perf_counter() - began, "kept": summary.unique}


def same(folder: Path) -> bool:
    """Return whether both removed the same rows for the same originals."""
    removed = pq.read_table(folder / "spark" / "removed", columns=["id", "original"])
    spark = dict(zip(*(column.to_pylist() for column in removed.columns), strict=True))
    with (folder / "bulk" / "removed.jsonl").open(encoding="utf-8") as lines:
        bulk = {row["id"]: row["original"] for row in map(json.loads, lines)}
    return spark == bulk


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--folder", type=Path, help="for the rows and all that is made of them")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"rows_{options.rows}.parquet"
        parquet(Splicer(data_folder(options.data)), options.rows, file)
        figures = {
            "spark": by_spark(file, folder, options.cores, options.driver_memory),
            "bulk": by_bulk(file, folder, options.cores),
        }
        if not same(folder):
            raise SystemExit("Spark and bulk give different results")
        _show(options.rows, file.stat().st_size, figures)
    if options.json:
        result = {"rows": options.rows, "figures": figures}
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


def _show(rows: int, size: int, figures: dict[str, dict[str, float]]) -> None:
    table = Table("", "all", "a million rows", box=None)
    millions = rows / 1e6
    for name, own in figures.items():
        for what, number in own.items():
            table.add_row(f"{name}: {what}", f"{number:,.0f}", f"{number / millions:,.0f}")
    head = f"{rows:,} rows, {size / 1e6:,.0f} MB of Parquet, {os.cpu_count()} cores"
    Console(width=100).print(head, table, "the same rows go, for the same originals", sep="\n")


if __name__ == "__main__":
    main()
