"""What stores of millions of pages cost: rates of several writers, look-ups, bytes and memory.

A store of each size is restored from records, as `scrapy dedup import` does it, because deciding
every page takes hours. A restored page has the minima that a page of `benchmarks.growth_pages`
would have: of each of the 84 functions the least of its site's template and of 240 random shingles.
So as many pages share a key as in a store that was crawled. Then writers, each in a process of its
own, check new pages of the same sites in batches, all at once. The rate is that of all together;
their pages are made before the clock runs.

    python -m benchmarks.store_millions [--sizes 100000,1000000,3000000] [--databases sqlite]
        [--writers 1] [--checked 20000] [--folder DIR]
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections import Counter
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.growth_pages import OWN_WORDS, SCHEME, SITES, template_of, text_of, text_pages
from benchmarks.report import chosen, number, options_of, show
from benchmarks.store_growth import (
    BATCH,
    DATABASES,
    LOOK_UPS,
    NOT_STORED,
    RSS_UNIT,
    bytes_of,
    look_up_ms,
    place,
)
from shingling import Rules, Store, sign
from shingling.admin.transfer import export, restore
from shingling.bulk.options import Options
from shingling.bulk.store_records import header_and_run, page_record
from shingling.sketch import FUNCTIONS
from shingling.store.index import Index
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.synchronize import Barrier

    from shingling.admin.records import Record

COLUMNS = ("pages/s", "CPU ms a page", "look-up ms", "bytes a page", "writer MB", "restored/s")
_TEXTS = 1000  # different ones, which restored pages share: their texts are not read again
_LEARNED = 40 * BATCH  # pages that the templates of the sites are learned from
_FIRST_CHECKED = 1 << 36  # number of the first page that is checked
_NOW = 1_700_000_000


def _pages(pages: int) -> Iterator[Record]:
    """Yield so many originals."""
    random = np.random.default_rng(5)
    templates = [sign(template_of(site), SCHEME).minima for site in range(SITES)]
    texts = [text_of(at) for at in range(_TEXTS)]
    for first in range(1, pages + 1, BATCH):
        size = min(BATCH, pages + 1 - first)
        least = 1 - random.random((size, FUNCTIONS)) ** (1 / OWN_WORDS)
        own = (least * (1 << 32)).astype("<u4")
        for page, minima in enumerate(own, first):
            title, text = texts[page % _TEXTS]
            fields = {
                "id": page,
                "status": "new",
                "url": f"https://site{page % SITES}.example/stored/{page}/words-of-a-title.html",
                "words": OWN_WORDS + 55,
                "text_hash": random.bytes(16),
                "simhash": int(random.integers(1 << 63)),
                "minima": np.minimum(minima, templates[page % SITES]).tobytes(),
                "text": text,
                "title": title,
                "language": "en",
            }
            yield page_record(fields, _NOW)


def _learned_templates() -> Iterator[Record]:
    """Yield the templates that a crawl of the sites has learned."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'learned.db'}"
        with Store.open(url) as store:
            for first in range(0, _LEARNED, BATCH):
                store.check(text_pages(range(first, first + BATCH)))
        with Session.open(url, create=False) as session:
            yield from (record for record in export(session) if record.kind == "template")


def fill(url: str, pages: int) -> float:
    """Restore a store, and return how many pages of it a second."""
    index = Index.for_rules(Rules(), SCHEME)
    header, run = header_and_run(Options(scheme=SCHEME), index, Counter(new=pages), _NOW)
    start = time.perf_counter()
    with Session.open(url) as session:
        restore(session, header, chain([run], _pages(pages), _learned_templates()))
    return pages / (time.perf_counter() - start)


def write(url: str, first: int, pages: int, start: Barrier) -> dict[str, float]:
    """Check pages in batches, once all writers are ready; the first batch is a warm-up."""
    batches = [
        text_pages(range(at, min(at + BATCH, first + pages)))
        for at in range(first - BATCH, first + pages, BATCH)
    ]
    with Store.open(url) as store:
        store.check(batches.pop(0))
        start.wait()
        began, cpu = time.time(), time.process_time()
        for batch in batches:
            store.check(batch)
        return {
            "began": began,
            "ended": time.time(),
            "cpu": time.process_time() - cpu,
            "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT / 1e6,
        }


def measure(name: str, size: int, writers: int, checked: int, folder: Path) -> dict[str, Any]:
    """Measure one size of one database."""
    with place(name, folder) as url:
        restored = fill(url, size)
        context = get_context("spawn")
        each = checked // writers
        with context.Manager() as manager, context.Pool(writers) as pool:
            barrier = manager.Barrier(writers)
            jobs = [
                (url, _FIRST_CHECKED + writer * 2 * checked, each, barrier)
                for writer in range(writers)
            ]
            done = pool.starmap(write, jobs, chunksize=1)
        seconds = max(one["ended"] for one in done) - min(one["began"] for one in done)
        others = text_pages(range(NOT_STORED, NOT_STORED + LOOK_UPS + 1))
        with Store.open(url) as store:
            look_up, stored_bytes = look_up_ms(store, others), bytes_of(store)
        return {
            "pages": size,
            "database": name,
            "pages/s": writers * each / seconds,
            "CPU ms a page": 1000 * sum(one["cpu"] for one in done) / (writers * each),
            "look-up ms": look_up,
            "bytes a page": stored_bytes / (size + writers * (each + BATCH)),
            "writer MB": max(one["MB"] for one in done),
            "restored/s": restored,
        }


def main() -> None:
    """Print the table."""
    parser = options_of(__doc__)
    parser.add_argument("--sizes", default="100000,1000000,3000000")
    parser.add_argument("--databases", default="sqlite")
    parser.add_argument("--writers", type=int, default=1)
    parser.add_argument("--checked", type=int, default=20_000, help="pages, by all writers")
    parser.add_argument("--folder", type=Path, help="where databases are made for the while")
    options = parser.parse_args()
    rows = []
    for name in chosen(parser, options.databases, DATABASES):
        for size in map(int, options.sizes.split(",")):
            with tempfile.TemporaryDirectory(dir=options.folder) as own:
                Path(own).chmod(0o755)  # a PostgreSQL that root starts runs as another user
                rows.append(measure(name, size, options.writers, options.checked, Path(own)))
            print(f"{name}: {size:,} pages, {rows[-1]['pages/s']:,.0f}/s", flush=True)
    show(
        ("pages", "database", *COLUMNS),
        (
            (f"{row['pages']:,}", row["database"], *(number(row[one]) for one in COLUMNS))
            for row in rows
        ),
    )
    print(f"{options.writers} writers, batches of {BATCH}")


if __name__ == "__main__":
    main()
