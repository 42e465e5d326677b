"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

A store is made if it is not there (about two minutes for a million pages), and stays if its URL is
given. What takes long to count is counted in the background: until it is there, a page says so, and
`ready` is the time until that page has its numbers. Times are those of a machine that does nothing
else.

    python -m benchmarks.web [--sizes N,N] [--databases sqlite,postgres] [--store URL] [--times N]
"""

from __future__ import annotations

import http.client
import tempfile
import time
from itertools import product
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from benchmarks.processes import memory_of
from benchmarks.report import Target, chosen, number, options_of, show
from benchmarks.store_growth import DATABASES, place
from benchmarks.web.stores import RUNS, fill
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
PAGES = {
    "all": "",
    "words": "words=harbour",
    "rare words": "words=articles/777/",
    "a site": "site=site7.example",
    "duplicates": "status=duplicate",
    "a run": f"run={RUNS}",
    "changed in a run": f"run={RUNS}&status=changed",
    "came": f"run={RUNS}&change=came",
    "moved": f"run={RUNS}&change=moved",
    "words in a run": f"run={RUNS}&words=harbour",
}
ORDERS = ("size", "resemblance", "date")
_MOST, _MEDIAN = 1000, 500  # milliseconds
_BUSY = 503


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


def pages_of(url: str, groups: str) -> Iterator[tuple[str, str]]:
    """Yield names and paths of all pages.

    Args:
        url: of the store.
        groups: the first list of groups, as a page.
    """
    for (name, values), order in product(FILTERS.items(), ORDERS):
        query = urlencode({**values, "order": order})
        yield f"groups, {name or 'all'}, {order}", f"/groups?{query}"
    yield from ((f"pages, {name}", f"/pages?{query}") for name, query in PAGES.items())
    yield from (("runs", "/runs"), ("run", f"/run?id={RUNS}"), ("CSV", "/pages.csv?size=1000"))
    yield from ((name, f"/{name}") for name in ("overview", "threshold", "reviews", "savings"))
    with Store.open(url) as store:
        page = next((page for page in store.pages(status="near") if store.text(page)), None)
        [skipped] = store.pages(status="skipped", limit=1)
    if page is not None:
        yield "page", f"/page?url={quote(page.url, safe='')}"
        yield "page that is skipped", f"/page?url={quote(skipped.url, safe='')}"
        yield "find a word", "/find?q=harbour"
        yield "group", f"/group?url={quote(str(page.original), safe='')}"
        yield "pair", f"/pair?{urlencode({'a': page.original, 'b': page.url})}"
    for name, before in (("pair of a list", '"row" href="'), ("largest group", 'r"><a href="')):
        _, found, rest = groups.partition(before)
        if found:
            yield name, rest.partition('"')[0].replace("&amp;", "&")
    yield "audit", "/audit"  # last: it goes on in the background


def paths(url: str, groups: str) -> Iterator[tuple[str, str]]:
    """Yield names and paths of all pages, each also as JSON."""
    for name, path in pages_of(url, groups):
        yield name, path
        if "/find" not in path and ".csv" not in path:
            page, mark, query = path.partition("?")
            yield f"{name}, JSON", f"{page}.json{mark}{query}"


class Timed(NamedTuple):
    """What a page took, in milliseconds: until it had all numbers, in the median, and at most."""

    name: str
    status: int
    ready: float
    median: float
    most: float


def timed(address: str, name: str, path: str, times: int) -> Timed:
    """Ask for a page until it is there, and then some times more."""
    asked, status, began = list[float](), _BUSY, time.perf_counter()
    while status == _BUSY and time.perf_counter() < began + 120:
        status, milliseconds, _ = ask(address, path)
        asked.append(milliseconds)
        if status == _BUSY:
            time.sleep(0.2)
    ready = 1000 * (time.perf_counter() - began)
    asked += [ask(address, path)[1] for _ in range(times - 1)]
    return Timed(name, status, ready, median(asked), max(asked))


def measure(url: str, folder: Path, times: int) -> list[Timed]:
    """Ask for all pages of a server."""
    with dedup_serve(folder, url, forked=False) as (process, address):
        status = _BUSY
        while status == _BUSY:
            status, _, groups = ask(address, "/groups")
        found = [timed(address, *one, times) for one in paths(url, groups)]
        print(f"memory of the server: {number(memory_of(process))} MB")
    return found


def run(url: str, size: int, folder: Path, times: int) -> None:
    """Measure a store, which is made if it is empty, and say whether a page takes too long."""
    with Store.open(url) as store:
        pages = store.status().pages
    if not pages:
        fill(url, size)
    with Store.open(url) as store:
        status = store.status()
        print(f"{status.url}: {status.pages:,} pages, {status.duplicates:,} duplicates", flush=True)
    found = measure(url, folder, times)
    show(
        ("page", "status", "ready", "median", "most"),
        ((one.name, one.status, *(f"{value:,.0f}" for value in one[2:])) for one in found),
    )
    print(Target("slowest answer, ms", max(one.most for one in found), _MOST))
    print(Target("slowest median, ms", max(one.median for one in found), _MEDIAN))
    print(Target("slowest page until all is counted, ms", max(one.ready for one in found), 5000))


def main() -> None:
    """Measure stores of all sizes in all databases."""
    parser = options_of(__doc__)
    parser.add_argument("--sizes", default="1000000", help="pages of the stores that are made")
    parser.add_argument("--databases", default="sqlite")
    parser.add_argument("--store", help="URL of a store, which stays, instead of these")
    parser.add_argument("--times", type=int, default=20, help="requests for each page")
    options = parser.parse_args()
    for name in chosen(parser, options.databases, DATABASES):
        for size in map(int, options.sizes.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)  # a PostgreSQL that root starts runs as another user
                if options.store:
                    run(options.store, size, Path(folder), options.times)
                    return
                with place(name, Path(folder)) as url:
                    run(url, size, Path(folder), options.times)


if __name__ == "__main__":
    main()
