"""Large stores to look at, written row by row without being decided: in a minute, not in hours.

Pages are made of their numbers alone. About half of them are duplicates: groups are of two pages
or of thousands, as of a shop's templates, and of one site or several. Signatures have the size of
real ones, and those of near-duplicates resemble their originals'. The tables of keys stay empty,
and so do templates of sites: nothing that is shown reads them.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import text

from benchmarks.growth_pages import SCHEME, text_of
from shingling import Page, Signature, Store
from shingling.sketch import FUNCTIONS
from shingling.store.schema.rows import COLUMNS, Row, url_key
from shingling.store.schema.tables import insert_rows, pages as pages_table, reviews, texts
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from shingling.store.model import Status


PAGES_AT_ONCE = 20_000
SITES = 2000  # the n-th has a share of about 1 / n of the pages
RUNS = 20
EVERY_TEXT = 50  # groups of which the first of so many have texts
TEXTS = 200  # different ones
REVIEWS = 1000
_DUPLICATES = 0.5  # share of pages
_EXACT, _SKIPPED = 0.25, 0.02  # share of duplicates, and of originals
_FIRST_SECOND = 1_750_000_000
_SECONDS_PER_RUN = 86_400
_WORDS = (
    *("harbour", "board", "ferry", "terminal", "council", "budget", "railway", "museum", "school"),
    *("festival", "storm", "bridge", "election", "hospital", "market", "library", "stadium"),
    *("airport", "forest", "reservoir"),
)
# The last two runs of a spider have met nearly all pages, and have moved some to other groups.
_MET_AGAIN = text(
    "INSERT INTO verdicts (run_id, page_id, verdict, status, reason, original_id, resemblance)"
    " SELECT :run, id, CASE WHEN id % 50 = 0 THEN 'changed' ELSE 'unchanged' END, status,"
    " reason, CASE WHEN id % 100 = :run THEN NULL ELSE original_id END, resemblance FROM pages"
    " WHERE id % 200 <> :run"
)


def fill(url: str, number: int) -> None:
    """Make a store of so many pages."""
    with Store.open(url) as store:
        if store.status().pages:
            raise SystemExit(f"{store.url} holds pages already: name an empty database")
        begun = [
            store.start_run(f"spider {run % 4}", {"DEDUP_THRESHOLD": 0.8}) for run in range(RUNS)
        ]
    with Session.open(url) as session:
        database = session.database
        random = np.random.default_rng(7)
        originals: dict[int, Page] = {}  # by their ids
        reviewed: list[dict[str, Any]] = []
        for start in range(0, number, PAGES_AT_ONCE):
            rows = [*_rows(random, originals, start, min(start + PAGES_AT_ONCE, number), number)]
            with database.writing() as connection:
                insert_rows(connection, pages_table, COLUMNS, [row.values() for row in rows])
                _insert_texts(connection, rows)
                if len(reviewed) < REVIEWS:
                    found = _reviews(rows, originals, max(3, number // REVIEWS // 2))
                    insert = [one for one in found if one["a_key"] != one["b_key"]]
                    connection.execute(reviews.insert(), insert)
                    reviewed += insert
        with database.writing() as connection:
            database.ids_restored(connection)
            for run in (RUNS - 4, RUNS):  # of one spider
                connection.execute(_MET_AGAIN, {"run": run})
    with Store.open(url) as store:
        for one in begun:
            store.finish_run(one, "finished")
        store.admin.vacuum()


def _rows(
    random: np.random.Generator, originals: dict[int, Page], start: int, end: int, number: int
) -> Iterator[Row]:
    count, ids = end - start, [*originals]
    is_duplicate = random.random(count) < _DUPLICATES
    # Most copy any original; the others one of the few that thousands copy.
    popular = random.random(count) < 0.3
    places = random.random(count)
    skewed = random.random(count) ** 6
    resemblances = 0.5 + 0.5 * random.random(count)
    kinds = random.random(count)
    sites = np.minimum(np.exp(random.random(count) * np.log(SITES)), SITES - 1).astype(int)
    minima = random.integers(0, 1 << 32, (count, FUNCTIONS), dtype=np.uint32)
    rest = random.integers(0, 1 << 63, (count, 4), dtype=np.uint64)
    for at in range(count):
        page_id = start + at + 1
        run = page_id * RUNS // (number + 1)
        words = 300 + int(rest[at, 3]) % 1200
        text_hash = rest[at, 1:3].tobytes()
        signature = Signature(minima[at], int(rest[at, 0]), text_hash, words, SCHEME.id)
        original, resemblance = None, None
        status: Status = "new"
        if is_duplicate[at] and len(ids) > 100:
            original = ids[
                int(skewed[at] * 2000) % len(ids) if popular[at] else int(places[at] * len(ids))
            ]
            copied = originals[original].signature
            assert copied is not None
            status, resemblance = "near", float(resemblances[at])
            same = round(resemblance * FUNCTIONS)
            shared = np.concatenate((copied.minima[:same], minima[at, same:]))
            signature = replace(signature, minima=shared)
            if kinds[at] < _EXACT:
                signature, status, resemblance = copied, "exact", 1.0
        elif kinds[at] < _SKIPPED:
            status, signature = "skipped", replace(signature, words=5)
        title = " ".join(_WORDS[int(place)] for place in rest[at].view(np.uint8)[:6] % len(_WORDS))
        page = Page(
            f"https://site{sites[at]}.example/articles/{page_id}/words-of-a-title.html",
            signature=signature,
            title=f"{title.capitalize()} {page_id}",
            language="en",
            fetched=_FIRST_SECOND + page_id * RUNS * _SECONDS_PER_RUN // number,
        )
        row = Row.of(page, signature, page_id, run + 1)
        row.status = row.last_verdict = status
        row.original_id = original
        row.resemblance = row.containment = resemblance
        if original is None:
            ids.append(page_id)
            originals[page_id] = page
        yield row


@cache
def _compressed(number: int) -> bytes:
    return zlib.compress(text_of(number)[1].encode())


def _insert_texts(connection: Connection, rows: list[Row]) -> None:
    kept = [row for row in rows if (row.original_id or row.id) % EVERY_TEXT == 0]
    texts_of = [
        (row.id, _compressed((row.id if row.is_original else row.id + 1) % TEXTS)) for row in kept
    ]
    insert_rows(connection, texts, ("page_id", "zlib"), texts_of)


def _reviews(rows: list[Row], originals: dict[int, Page], every: int) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row.original_id is None or row.id % every:
            continue
        ends = sorted((url_key(url), url) for url in (row.url, originals[row.original_id].url))
        yield {
            "a_key": ends[0][0],
            "b_key": ends[1][0],
            "a_url": ends[0][1],
            "b_url": ends[1][1],
            "same": row.status == "exact" or (row.resemblance or 0) > 0.8,
            "note": None,
            "created": row.last_seen,
        }
