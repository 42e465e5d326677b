"""Texts of known resemblance, and what must be true of every store at all times."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.admin.transfer import export
from shingling.sketch import Scheme, shingle_words
from shingling.store.index.keys import Index
from shingling.store.index.lookup import keys_of_sample
from shingling.store.schema.rows import Keyed, read_minima
from shingling.store.session import Session
from shingling.text import unpack
from tests.support.stores import is_postgres, rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.postgres import Server

SIZE = 5  # words in a shingle of the default scheme


def words(seed: int | str, count: int = 100) -> list[str]:
    """Return distinct random words."""
    return [f"w{number}" for number in random.Random(seed).sample(range(10**7), count)]


def ending(base: Sequence[str], seed: int | str, count: int) -> list[str]:
    """Return the words with the last ones replaced: exactly `count` shingles change."""
    return [*base[: len(base) - count], *words(f"end {seed}", count)]


def beginning(base: Sequence[str], seed: int | str, count: int) -> list[str]:
    """Return the words with the first ones replaced: exactly `count` shingles change."""
    return [*words(f"begin {seed}", count), *base[count:]]


def text(parts: Sequence[str]) -> str:
    return " ".join(parts)


def shingles(main_text: str) -> set[tuple[str, ...]]:
    """Return the shingles of a text of plain words, as Python sees them."""
    parts = main_text.split()
    return {tuple(parts[at : at + SIZE]) for at in range(max(len(parts) - SIZE + 1, 1))}


def jaccard(a: str, b: str) -> float:
    first, second = shingles(a), shingles(b)
    return len(first & second) / len(first | second)


def containment(a: str, b: str) -> float:
    first, second = shingles(a), shingles(b)
    return len(first & second) / min(len(first), len(second))


def groups_of(path: Path) -> dict[str, tuple[str | None, float | None, str]]:
    """Return original, resemblance and text hash of every stored page, by URL and scope."""
    query = (
        "SELECT p.scope || p.url, o.url, p.resemblance, p.text_hash"
        " FROM pages p LEFT JOIN pages o ON p.original_id = o.id"
    )
    return {
        name: (original, like, text_hash.hex())
        for name, original, like, text_hash in rows_of(path, query)
    }


def entries_of(path: Path, table: str) -> Counter[tuple[int, int]]:
    """Return the keys of a table with the ids of their pages, those on their way there as well.

    Of what is appended twice the last one counts: a damaged page is written again with all
    its keys.
    """
    entries = Counter(rows_of(path, f"SELECT key, page_id FROM {table}"))  # noqa: S608
    recent = f"SELECT slice, entries FROM recent WHERE owner = '{table}' ORDER BY batch"  # noqa: S608
    recent_rows = rows_of(path, recent)
    for place, raw in recent_rows:
        for key, page_id in np.frombuffer(raw, "<i8").reshape(-1, 2).tolist():
            assert (key + 2**63) // 2**58 == place
            entries[key, abs(page_id)] = int(page_id > 0)
    assert not (recent_rows and is_postgres(path)), "there is no log on PostgreSQL"
    return +entries


# Rows whose column names a row of another table that is not there.
_REFERENCES = (
    ("pages", "original_id", "pages"),
    ("pages", "run_id", "runs"),
    ("texts", "page_id", "pages"),
)
_LOST = (
    "SELECT count(*) FROM {table} AS own LEFT JOIN {other} AS other ON own.{column} = other.id"
    " WHERE own.{column} IS NOT NULL AND other.id IS NULL"
)


def verify(path: Path, *, rebuilding: bool = False) -> None:
    """Check everything that must be true of a store between two transactions.

    Args:
        path: of the store.
        rebuilding: whether a rebuild has begun and not ended.
    """
    if is_postgres(path):
        assert rows_of(path, "SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
    else:
        assert rows_of(path, "PRAGMA integrity_check") == [("ok",)]
    for table, column, other in _REFERENCES:
        assert rows_of(path, _LOST.format(table=table, column=column, other=other)) == [(0,)]
    if not rebuilding:
        assert rows_of(path, "SELECT rebuilding FROM scheme") == [(None,)]
        assert rows_of(path, "SELECT id FROM next_pages") == []
        assert rows_of(path, "SELECT key FROM full_keys WHERE owner LIKE 'next%'") == []
        assert not entries_of(path, "next_bands")
        assert not entries_of(path, "next_samples")
    columns = "parameters, indexed, bands, rows, sampled"
    parameters, *stored = rows_of(path, f"SELECT {columns} FROM scheme")[0]  # noqa: S608
    scheme, index = Scheme.from_json(parameters), Index.stored(*stored)
    pages = rows_of(
        path,
        "SELECT id, original_id, status, minima, simhash, scope, resemblance, words, zlib,"
        " compared_id FROM pages LEFT JOIN texts ON page_id = id",
    )
    originals = {page_id: scope for page_id, head, _, _, _, scope, *_ in pages if head is None}
    indexed: set[tuple[int, int]] = set()
    sampled: set[tuple[int, int]] = set()
    for page_id, head, status, raw, simhash, scope, resemblance, length, zipped, other in pages:
        if head is None:
            assert status in ("new", "skipped")
            assert resemblance is None or other is not None
            if length < scheme.min_comparable_words:
                continue
            keyed = Keyed(read_minima(raw), simhash % (1 << 64))
            indexed |= {(key, page_id) for key in index.keys([keyed])[0]}
            if index.sampled and zipped is not None and status != "skipped":
                shingled = shingle_words(scheme.canonical.words(unpack(zipped)), scheme)
                sampled |= {(key, page_id) for key in keys_of_sample(shingled, scope)}
        else:
            assert status in ("exact", "near")
            assert originals[head] == scope, "a star: the original is one, and of the same scope"
            assert 0 <= resemblance <= 1
    assert entries_of(path, "bands") == Counter(indexed)
    assert entries_of(path, "samples") == Counter(sampled)
    copies = (
        "SELECT count(*) FROM pages AS copy WHERE status = 'exact' AND NOT EXISTS (SELECT 1 FROM"
        " pages AS own WHERE coalesce(own.original_id, own.id) = copy.original_id"
        " AND own.text_hash = copy.text_hash AND own.status <> 'exact')"
    )
    assert rows_of(path, copies) == [(0,)], "another page of the group stands for their text"
    repeated = "SELECT url_key, scope FROM pages GROUP BY url_key, scope HAVING count(*) > 1"
    assert rows_of(path, repeated) == []


def is_whole(store: Path) -> bool:
    """Whether SQLite finds a store intact."""
    return rows_of(store, "PRAGMA integrity_check") == [("ok",)] and not rows_of(
        store, "PRAGMA foreign_key_check"
    )


MUST_FIND_NOTHING = {
    "a duplicate whose original is not there, is none, or is of another scope": """
        SELECT page.url FROM pages AS page LEFT JOIN pages AS original
        ON original.id = page.original_id
        WHERE page.original_id IS NOT NULL AND
        (original.id IS NULL OR original.original_id IS NOT NULL OR original.scope <> page.scope)
    """,
    "a page that does not stand where its original says": """
        SELECT url FROM pages WHERE (status IN ('exact', 'near')) <> (original_id IS NOT NULL)
        OR (resemblance IS NOT NULL) <> (original_id IS NOT NULL)
    """,
    "an original that lacks bands, or a duplicate that has some": """
        SELECT url, count(key) FROM pages LEFT JOIN bands ON page_id = id GROUP BY id
        HAVING count(key) <> CASE WHEN original_id IS NULL AND words >= 5
        THEN (SELECT bands FROM scheme) ELSE 0 END
    """,
    "bands of no page": """
        SELECT page_id FROM bands LEFT JOIN pages ON id = page_id WHERE id IS NULL
    """,
    "a page without its text, or a text without its page": """
        SELECT url, page_id FROM pages FULL JOIN texts ON page_id = id
        WHERE id IS NULL OR page_id IS NULL AND status <> 'exact'
    """,
    "a page that is stored twice": """
        SELECT url_key, scope FROM pages GROUP BY url_key, scope HAVING count(*) > 1
    """,
    "a page of no run": """
        SELECT url FROM pages LEFT JOIN runs ON runs.id = run_id WHERE runs.id IS NULL
    """,
    "a constraint that was not checked": """
        SELECT conname FROM pg_constraint WHERE NOT convalidated
    """,
}
"""Statements that find what is half-written in a store that crawls have made."""

# What runs have counted, and what they have stored, is written together.
COUNTS = """
    SELECT runs.id, counts, count(pages.id) FROM runs LEFT JOIN pages ON run_id = runs.id
    GROUP BY runs.id HAVING count(pages.id) <> coalesce((counts::json ->> 'new')::int, 0)
    + coalesce((counts::json ->> 'exact')::int, 0) + coalesce((counts::json ->> 'near')::int, 0)
    + coalesce((counts::json ->> 'skipped')::int, 0)
"""


def broken(server: Server, database: str, *, counts: bool = True) -> list[str]:
    """List the faults of a store between two transactions.

    Args:
        server: that has the database.
        database: with the store.
        counts: whether every page has a text and none has changed, and every verdict has arrived.
    """
    queries = {**MUST_FIND_NOTHING, **({"counts of other pages": COUNTS} if counts else {})}
    found = {name: server.run(query, database) for name, query in queries.items()}
    return [f"{name}: {rows[:3]}" for name, rows in found.items() if rows]


def dump(file: Path) -> dict[str, list[Any]]:
    """Content of a store, without its times, addresses and keys of bodies."""
    queries = {
        "pages": "SELECT id, title, language, words, text_hash, minima, simhash, status,"
        " last_verdict, original_id, resemblance, containment FROM pages ORDER BY id",
        "texts": "SELECT page_id, zlib FROM texts ORDER BY page_id",
    }
    with closing(sqlite3.connect(file)) as db:
        held = {name: db.execute(query).fetchall() for name, query in queries.items()}
    with Session.open(url_of(file), create=False) as session:
        templates = [record.fields for record in export(session) if record.kind == "template"]
    return {**held, "bands": [entries_of(file, "bands")], "templates": templates}
