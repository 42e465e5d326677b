"""Time to the first byte of every page of `scrapy dedup serve`, with a million pages stored.

The store is made if it is not there (about two minutes for a million pages), and stays. Times are
those of a machine that does nothing else.

    python -m benchmarks.web [--pages N] [--store URL] [--times N]
"""

from __future__ import annotations

import http.client
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

from benchmarks.processes import memory_of
from benchmarks.report import Target, number, options_of, show
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
_MOST = 200  # milliseconds of a list of groups


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
    yield from ((f"pages, {name}", f"/pages?{query}") for name, query in PAGES.items())
    yield from (("runs", "/runs"), ("run", f"/run?id={RUNS}"), ("CSV", "/pages.csv?size=1000"))
    yield from (("overview", "/overview"), ("threshold", "/threshold"), ("reviews", "/reviews"))
    with Store.open(url) as store:
        page = next((page for page in store.pages(status="near") if store.text(page)), None)
        [skipped] = store.pages(status="skipped", limit=1)
    if page is not None:
        yield "page", f"/page?url={quote(page.url, safe='')}"
        yield "page that is skipped", f"/page?url={quote(skipped.url, safe='')}"
        yield "find a word", "/find?q=harbour"
        yield "group", f"/group?url={quote(str(page.original), safe='')}"
        yield "pair", f"/pair?{urlencode({'a': page.original, 'b': page.url})}"
    _, found, rest = groups.partition('<td class="number"><a href="')
    if found:
        yield "group, the largest", rest.partition('"')[0].replace("&amp;", "&")


def measure(url: str, folder: Path, times: int) -> Iterator[tuple[str, int, float, float]]:
    """Ask for all pages several times: name, status, median and p99, without the first time."""
    with dedup_serve(folder, url, forked=False) as (process, address):
        for name, path in paths(url, ask(address, "/groups")[2]):
            asked = [ask(address, path) for _ in range(times)]
            taken = sorted(milliseconds for _, milliseconds, _ in asked[1:])
            at = [min(int(share * len(taken)), len(taken) - 1) for share in (0.5, 0.99)]
            yield name, asked[-1][0], taken[at[0]], taken[at[1]]
        print(f"memory of the server: {number(memory_of(process))} MB")


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
    show(
        ("page", "status", "p50", "p99"),
        ((name, status, f"{p50:,.0f}", f"{p99:,.0f}") for name, status, p50, p99 in timed),
    )
    worst = max(p99 for name, _, _, p99 in timed if name.startswith("groups"))
    print(Target("p99 of the slowest list of groups, ms", worst, _MOST))


if __name__ == "__main__":
    main()
