"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

The store is made if it is not there (about two minutes for a million pages), and stays. Times are
those of a machine that does nothing else; `cpu` is the milliseconds of the server for a page.

    python -m benchmarks.web [--pages N] [--store URL] [--times N]
"""

from __future__ import annotations

import http.client
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import psutil

from benchmarks.report import Target, number, options_of, show
from benchmarks.web.stores import fill, some_pairs
from shingling import Store
from tests.support.processes import dedup_serve

if TYPE_CHECKING:
    from collections.abc import Iterator

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
_MOST = 200  # milliseconds of a list of groups


class Timed(NamedTuple):
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
    def row(self) -> tuple[object, ...]:
        """Line of a table."""
        cpu = sorted(self.cpu)[len(self.cpu) // 2]
        times = (self.milliseconds[0], self.share(0.5), self.share(0.99), cpu)
        return self.name, self.status, *(f"{one:,.0f}" for one in times)


def ask(address: str, path: str) -> tuple[int, float, str]:
    """Status, milliseconds to the first byte, and the page."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    try:
        connection.connect()
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        taken = 1000 * (time.perf_counter() - began)
        return answer.status, taken, answer.read().decode()
    finally:
        connection.close()


def paths(url: str, groups: str) -> Iterator[tuple[str, str]]:
    """Names and paths of all pages.

    Args:
        url: of the store.
        groups: the first list of groups, as a page.
    """
    for (name, values), order in product(FILTERS.items(), ORDERS):
        query = urlencode({**values, "order": order})
        yield f"groups, {name or 'all'}, {order}", f"/groups?{query}"
    yield from (("overview", "/overview"), ("threshold", "/threshold"), ("reviews", "/reviews"))
    for a, b in some_pairs(url, 1):
        yield "group", f"/group?url={quote(a, safe='')}"
        yield "pair", f"/pair?{urlencode({'a': a, 'b': b})}"
    _, found, rest = groups.partition('<td class="number"><a href="')
    if found:
        yield "group, the largest", rest.partition('"')[0].replace("&amp;", "&")


def measure(url: str, folder: Path, times: int) -> Iterator[Timed]:
    """Ask for all pages, each several times."""
    with dedup_serve(folder, url) as (process, address):
        server = psutil.Process(process.pid)
        for name, path in paths(url, ask(address, "/groups")[2]):
            timed = Timed(name, 0, [], [])
            for _ in range(times):
                before = server.cpu_times()
                status, taken, _ = ask(address, path)
                after = server.cpu_times()
                used = after.user + after.system - before.user - before.system
                timed.cpu.append(1000 * used)
                timed.milliseconds.append(taken)
            yield timed._replace(status=status)
        print(f"memory of the server: {number(server.memory_info().rss / 1e6)} MB")


def main() -> None:
    """Measure, and say whether a list of groups takes too long."""
    parser = options_of(__doc__)
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
        timed = [*measure(url, Path(name), options.times)]
    show(("page", "status", "first", "p50", "p99", "cpu"), (one.row for one in timed))
    worst = max(one.share(0.99) for one in timed if one.name.startswith("groups"))
    print(Target("p99 of the slowest list of groups, ms", worst, _MOST))


if __name__ == "__main__":
    main()
