"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

The store is made if it is not there (about two minutes for a million pages), and stays. With
`--writing`, a process stores pages all the while, as a crawl does. Times are those of a machine
that does nothing else; `cpu` is the milliseconds of the server for a page.

    python -m benchmarks.web [--pages N] [--store URL] [--times N] [--only WORDS,...] [--writing]
        [--deep] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.web.stores import described, fill, some_pairs, writing
from shingling import Store
from tests.support.processes import dedup_serve

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

PAGES_DEEP = 50  # pages of a list that are gone through
FILTERS = {
    "": {},
    "near": {"status": "near"},
    "exact": {"status": "exact"},
    "site": {"site": "site7.example"},
    "resemblance": {"low": "0.7", "high": "0.9"},
    "run": {"run": "11"},
    "days": {"since": "2025-06-20", "until": "2025-06-25"},
    "reviewed": {"reviewed": "yes"},
    "not reviewed": {"reviewed": "no"},
    "words": {"words": "harbour"},
    "rare words": {"words": "articles/777"},
    "near, not reviewed": {"status": "near", "reviewed": "no", "high": "0.8"},
}
ORDERS = ("size", "resemblance", "date")


@dataclass(frozen=True)
class Timed:
    """Times to first byte of one page, in milliseconds, and CPU of the server for each."""

    name: str
    status: int
    milliseconds: list[float]
    cpu: list[float]

    def share(self, share: float) -> float:
        """Quantile of the times to first byte, but that of the first request."""
        ordered = sorted(self.milliseconds[1:] or self.milliseconds)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    @property
    def row(self) -> tuple[str, ...]:
        """Line of a table."""
        cpu = sorted(self.cpu)[len(self.cpu) // 2]
        first = self.milliseconds[0]
        times = (first, self.share(0.5), self.share(0.99), cpu)
        return self.name, str(self.status), *(f"{one:,.0f}" for one in times)


class Application:
    """`scrapy dedup serve` in a process of its own."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address = address
        self._process = psutil.Process(process.pid)
        parts = urlsplit(address)
        self._where = parts.hostname or "", parts.port or 0

    def ask(self, path: str) -> tuple[int, float, str]:
        """Status, milliseconds to the first byte, and the page."""
        connection = http.client.HTTPConnection(*self._where, timeout=120)
        try:
            connection.connect()
            began = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            taken = 1000 * (time.perf_counter() - began)
            return answer.status, taken, answer.read().decode()
        finally:
            connection.close()

    def time(self, name: str, path: str, times: int) -> Timed:
        """Ask for a page several times."""
        measured, cpu, status = [], [], 0
        for _ in range(times):
            before = self._cpu()
            status, taken, _ = self.ask(path)
            cpu.append(1000 * (self._cpu() - before))
            measured.append(taken)
        return Timed(name, status, measured, cpu)

    def memory(self) -> float:
        """Resident MB."""
        return float(self._process.memory_info().rss / 1e6)

    def _cpu(self) -> float:
        used = self._process.cpu_times()
        return float(used.user + used.system)


@contextmanager
def served(store: str, folder: Path, *options: str) -> Iterator[Application]:
    """Serve a store."""
    with dedup_serve(folder, store, *options) as (process, address):
        yield Application(address, process)


def paths_of_lists(chosen: Sequence[str] | None) -> Iterator[tuple[str, dict[str, str]]]:
    """Names and queries of lists of groups: each filter in each order."""
    for name, values in FILTERS.items():
        for order in ORDERS:
            shown = f"groups, {name or 'all'}, {order}"
            if chosen is None or any(one in shown for one in chosen):
                yield shown, {**values, "order": order}


def deep_path(application: Application, query: dict[str, str]) -> str | None:
    """Address of the last of many pages of a list, as links lead to it; None where it ends before.

    Cursors are read from the page: the value of `after` in the link to the next one.
    """
    path: str | None = f"/groups?{urlencode(query)}"
    for _ in range(PAGES_DEEP - 1):
        path = next_path(application.ask(path or "")[2])
        if path is None:
            return None
    return path


def next_path(page: str) -> str | None:
    """Link to the next page of a list."""
    _, found, rest = page.partition('<p class="more"><a href="')
    return rest.partition('"')[0].replace("&amp;", "&") if found else None


def paths_of_pages(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Names and addresses of the other pages."""
    yield "overview", "/overview"
    yield "threshold", "/threshold"
    yield "reviews", "/reviews"
    if pairs:
        a, b = pairs[0]
        yield "group", f"/group?url={quote(a, safe='')}"
        yield "pair", f"/pair?{urlencode({'a': a, 'b': b})}"


def largest_group(page: str) -> str | None:
    """Link to the members of the first group of a list."""
    _, found, rest = page.partition('<td class="number"><a href="')
    return rest.partition('"')[0].replace("&amp;", "&") if found else None


def targets(timed: Sequence[Timed]) -> list[str]:
    """Name what takes longer than it may: a page of groups 200 ms."""
    return [
        f"{one.name}: p99 is {one.share(0.99):,.0f} ms"
        for one in timed
        if one.name.startswith("groups") and one.share(0.99) > 200
    ]


def as_json(timed: Sequence[Timed]) -> list[dict[str, Any]]:
    """Figures for a file."""
    return [
        {"name": one.name, "p50": one.share(0.5), "p99": one.share(0.99), "cpu": one.cpu}
        for one in timed
    ]


def measure(options: argparse.Namespace, url: str, folder: Path) -> list[Timed]:
    """Ask for all pages."""
    only = options.only.split(",") if options.only else None
    timed: list[Timed] = []
    with served(url, folder) as application:
        for name, query in paths_of_lists(only):
            path = f"/groups?{urlencode(query)}"
            timed.append(application.time(name, path, options.times))
            if options.deep and (deep := deep_path(application, query)) is not None:
                timed.append(application.time(f"{name}, 50th page", deep, options.times))
        others = [*paths_of_pages(some_pairs(url, 1))]
        if largest := largest_group(application.ask("/groups")[2]):
            others.append(("group, the largest", largest))
        for name, path in others:
            if only is None or any(one in name for one in only):
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
