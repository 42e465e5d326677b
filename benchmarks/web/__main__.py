"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

The store is made if it is not there (about two minutes for a million pages), and stays. With
`--writing`, a process stores pages all the while, as a crawl does. Times are those of a machine
that does nothing else; `cpu` is the milliseconds of the server for a page.

    python -m benchmarks.web [--pages N] [--store URL] [--times N] [--only WORDS,...] [--writing]
        [--deep] [--minutes N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table

from benchmarks.web.stores import described, fill, some_pairs
from benchmarks.web.times import (
    as_json,
    deep_path,
    largest_group,
    paths_of_lists,
    paths_of_pages,
    served,
    targets,
)
from benchmarks.web.writer import writing
from shingling import Store

if TYPE_CHECKING:
    from benchmarks.web.times import Timed


def measure(options: argparse.Namespace, url: str, folder: Path) -> list[Timed]:
    """Ask for all pages."""
    only = options.only.split(",") if options.only else None
    until = time.monotonic() + 60 * options.minutes
    timed: list[Timed] = []
    with served(url, folder) as application:
        for name, query in paths_of_lists(only):
            if time.monotonic() > until:
                break
            path = f"/groups?{urlencode(query)}"
            timed.append(application.time(name, path, options.times))
            if options.deep and (deep := deep_path(application, query)) is not None:
                timed.append(application.time(f"{name}, 50th page", deep, options.times))
        others = [*paths_of_pages(some_pairs(url, 1))]
        if largest := largest_group(application.ask("/groups")[2]):
            others.append(("group, the largest", largest))
        for name, path in others:
            if time.monotonic() <= until and (only is None or any(one in name for one in only)):
                timed.append(application.time(name, path, options.times))
        print(f"memory of the server: {application.memory():,.0f} MB")
    return timed


def main() -> None:
    """Measure, and say which pages of groups take more than 200 ms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--store", help="URL of a database; the default is a file in a folder")
    parser.add_argument("--times", type=int, default=20, help="requests for each page")
    parser.add_argument("--only", help="names of pages, or parts of them")
    parser.add_argument("--writing", action="store_true", help="while pages are stored")
    parser.add_argument("--deep", action="store_true", help="also the 50th page of each list")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        url = options.store or f"sqlite:///{name}/dedup.db"
        with Store.open(url) as store:
            pages = store.status().pages
        if not pages:
            began = time.perf_counter()
            fill(url, options.pages)
            print(f"filled in {time.perf_counter() - began:,.0f} s")
        print(described(url))
        if options.writing:
            with writing(url):
                timed = measure(options, url, Path(name))
        else:
            timed = measure(options, url, Path(name))
    table = Table("page", "status", "first", "p50", "p99", "cpu", box=None)
    for one in timed:
        table.add_row(*one.row)
    Console(width=100).print(table)
    print(*targets(timed), sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps(as_json(timed), indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
