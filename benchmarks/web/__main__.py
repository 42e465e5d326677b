"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

The store is made if it is not there (about two minutes for a million pages), and stays. Times are
those of a machine that does nothing else; `cpu` is the milliseconds of the server for a page.

    python -m benchmarks.web [--pages N] [--store URL] [--times N]
"""

from __future__ import annotations

import argparse
import http.client
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.web.stores import fill, some_pairs
from shingling import Store
from tests.support.processes import dedup_serve

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence

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


def paths_of_lists() -> Iterator[tuple[str, str]]:
    """Names and addresses of lists of groups: each filter in each order."""
    for name, values in FILTERS.items():
        for order in ORDERS:
            yield (
                f"groups, {name or 'all'}, {order}",
                f"/groups?{urlencode({**values, 'order': order})}",
            )


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


def measure(url: str, folder: Path, times: int) -> list[Timed]:
    """Ask for all pages."""
    with served(url, folder) as application:
        paths = [*paths_of_lists(), *paths_of_pages(some_pairs(url, 1))]
        if largest := largest_group(application.ask("/groups")[2]):
            paths.append(("group, the largest", largest))
        timed = [application.time(name, path, times) for name, path in paths]
        print(f"memory of the server: {application.memory():,.0f} MB")
    return timed


def main() -> None:
    """Measure, and say which pages of groups take more than 200 ms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--store", help="URL of a database; the default is a file in a folder")
    parser.add_argument("--times", type=int, default=20, help="requests for each page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        url = options.store or f"sqlite:///{name}/dedup.db"
        with Store.open(url) as store:
            pages = store.status().pages
        if not pages:
            fill(url, options.pages)
        with Store.open(url) as store:
            status = store.status()
            print(f"{status.pages:,} pages, {status.duplicates:,} duplicates")
        timed = measure(url, Path(name), options.times)
    table = Table("page", "status", "first", "p50", "p99", "cpu", box=None)
    for one in timed:
        table.add_row(*one.row)
    Console(width=100).print(table)
    print(*targets(timed), sep="\n")


if __name__ == "__main__":
    main()
