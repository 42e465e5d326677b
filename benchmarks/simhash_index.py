"""What one look-up in the index of SimHashes costs, and how much it looks at.

A table like the store's is filled with random SimHashes, among which some differ in 0 to 7 bits
from those that are looked up. Beside it: 4 blocks of 16 bits, as the PyPI package `simhash`
indexes them, and a scan of all.

    python -m benchmarks.simhash_index [--signatures 1000000] [--bits 64] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from shingling.sketch import Halves, Keys

Values: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]

QUERIES = 1000
BATCH = 500  # keys in one statement, as in the store


def flip(values: Values, chance: np.random.Generator, bits: int) -> Values:
    """Return values of which each differs in 0 to 7 bits, chosen by chance."""
    flipped = values.copy()
    for place in range(len(values)):
        for bit in chance.choice(bits, chance.integers(0, 8), replace=False):
            flipped[place] ^= np.uint64(1 << int(bit))
    return flipped


def blocks(values: Values, bits: int) -> Keys:
    """Return the keys of 4 blocks of a quarter of the bits each: int64[n, 4]."""
    width = bits // 4
    return np.stack(
        [
            ((values >> np.uint64(width * place)) & np.uint64((1 << width) - 1)).astype(np.int64)
            + (place << 40)
            for place in range(4)
        ],
        axis=1,
    )


def fill(database: sqlite3.Connection, keys: Keys) -> float:
    """Store keys in their order, and return the seconds that it took."""
    start = time.perf_counter()
    database.execute(
        "CREATE TABLE bands (key INTEGER, page INTEGER, PRIMARY KEY (key, page)) WITHOUT ROWID"
    )
    pages = np.repeat(np.arange(len(keys)), keys.shape[1])
    order = np.argsort(keys.reshape(-1), kind="stable")
    rows = zip(keys.reshape(-1)[order].tolist(), pages[order].tolist(), strict=True)
    with database:
        database.executemany("INSERT INTO bands VALUES (?, ?)", rows)
    return time.perf_counter() - start


def look_up(database: sqlite3.Connection, probes: list[int]) -> set[int]:
    """Return the pages under some keys."""
    found: set[int] = set()
    for start in range(0, len(probes), BATCH):
        part = probes[start : start + BATCH]
        marks = ", ".join("?" * len(part))
        query = f"SELECT page FROM bands WHERE key IN ({marks})"  # noqa: S608 (only marks)
        rows = database.execute(query, part)
        found.update(page for (page,) in rows)
    return found


def measure(
    file: Path, stored: Values, queries: Values, keys: Keys, probes: Keys, distance: int
) -> dict[str, float]:
    """Return what look-ups within a distance find, inspect and cost."""
    wanted = found = inspected = 0
    times = []
    with closing(sqlite3.connect(file)) as database:
        seconds = fill(database, keys)
        for query, own in zip(queries, probes, strict=True):
            start = time.perf_counter()
            candidates = look_up(database, own.tolist())
            times.append(time.perf_counter() - start)
            within = set(np.flatnonzero(np.bitwise_count(stored ^ query) <= distance).tolist())
            inspected += len(candidates)
            wanted += len(within)
            found += len(within & candidates)
    return {
        "recall": found / wanted,
        "inspected": inspected / len(queries),
        "milliseconds": 1000 * float(np.median(times)),
        "keys looked up": probes.shape[1],
        "bytes a signature": file.stat().st_size / len(stored),
        "fill seconds": seconds,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signatures", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, choices=[32, 64], default=64)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    chance = np.random.default_rng(1)
    stored = chance.integers(0, 2**options.bits, options.signatures, np.uint64)
    queries = flip(stored[:QUERIES], chance, options.bits)
    halves = Halves(options.bits)
    own = halves.keys(stored.tolist())
    quarters = blocks(stored, options.bits), blocks(queries, options.bits)
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for distance in (1, 3, 5):
            probes = halves.probes(queries.tolist(), distance)
            file = Path(folder) / f"halves{distance}.db"
            rows[f"halves, {distance} bits"] = measure(file, stored, queries, own, probes, distance)
        file = Path(folder) / "blocks.db"
        rows["4 blocks, 3 bits"] = measure(file, stored, queries, *quarters, 3)
    start = time.perf_counter()
    for query in queries[:20]:
        np.flatnonzero(np.bitwise_count(stored ^ query) <= 3)
    scan = 1000 * (time.perf_counter() - start) / 20
    rows["scan in memory"] = {"recall": 1, "inspected": len(stored), "milliseconds": scan}
    columns = ["recall", "inspected", "milliseconds", "keys looked up", "bytes a signature"]
    table = Table("index", *columns, box=None)
    for name, row in rows.items():
        table.add_row(name, *(f"{row[column]:,.3g}" if column in row else "" for column in columns))
    console = Console(width=110)
    console.print(f"{len(stored):,} SimHashes of {options.bits} bits, {QUERIES:,} look-ups")
    console.print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
