"""Time to the first byte of the pages of an application that is served."""

from __future__ import annotations

import http.client
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

import psutil

from tests.support.processes import dedup_serve

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
