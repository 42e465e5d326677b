"""Texts of known resemblance, and what must be true of every store at all times."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from shingling.admin.transfer import export
from shingling.sketch import Scheme, shingle_words
from shingling.store.index import Index, keys_of_sample
from shingling.store.schema.rows import Keyed, read_minima
from shingling.store.session import Session
from shingling.text import unpack
from tests.support.stores import is_postgres, rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Run: TypeAlias = Callable[[str], list[Any]]

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
    """Return the keys of a table with the ids of their pages, those on their way there as well."""
    return _entries(partial(rows_of, path), table, is_postgres(path))


def _entries(run: Run, table: str, on_postgres: bool) -> Counter[tuple[int, int]]:
    """Return the keys of a table; of what is appended twice the last one counts."""
    entries = Counter(run(f"SELECT key, page_id FROM {table}"))
    recent = f"SELECT entries FROM recent WHERE owner = '{table}' ORDER BY batch"
    recent_rows = run(recent)
    for (raw,) in recent_rows:
        for key, page_id in np.frombuffer(raw, "<i8").reshape(-1, 2).tolist():
            entries[key, abs(page_id)] = int(page_id > 0)
    assert not (recent_rows and on_postgres), "there is no log on PostgreSQL"
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


def verify(path: Path) -> None:
    """Check everything that must be true of a store between two transactions."""
    verify_rows(partial(rows_of, path), is_postgres(path))


def verify_rows(run: Run, on_postgres: bool = True) -> None:
    """Check a store that queries can be run in.

    Args:
        run: returns the rows that a query finds.
        on_postgres: whether it is one in PostgreSQL.
    """
    if on_postgres:
        assert run("SELECT conname FROM pg_constraint WHERE NOT convalidated") == []
    else:
        assert run("PRAGMA integrity_check") == [("ok",)]
    for table, column, other in _REFERENCES:
        assert run(_LOST.format(table=table, column=column, other=other)) == [(0,)]
    columns = "parameters, indexed, bands, rows, sampled"
    parameters, *stored = run(f"SELECT {columns} FROM scheme")[0]
    scheme, index = Scheme.from_json(parameters), Index.stored(*stored)
    pages = run(
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
            keyed = Keyed(scope, read_minima(raw), simhash % (1 << 64))
            indexed |= {(key, page_id) for key in index.keys([keyed])[0].tolist()}
            if index.sampled and zipped is not None and status != "skipped":
                shingled = shingle_words(scheme.canonical.words(unpack(zipped)), scheme)
                sampled |= {(key, page_id) for key in keys_of_sample(shingled, scope)}
        else:
            assert status in ("exact", "near")
            assert originals[head] == scope, "a star: the original is one, and of the same scope"
            assert 0 <= resemblance <= 1
    assert _entries(run, "bands", on_postgres) == Counter(indexed)
    assert _entries(run, "samples", on_postgres) == Counter(sampled)
    copies = (
        "SELECT count(*) FROM pages AS copy WHERE status = 'exact' AND NOT EXISTS (SELECT 1 FROM"
        " pages AS own WHERE coalesce(own.original_id, own.id) = copy.original_id"
        " AND own.text_hash = copy.text_hash AND own.status <> 'exact')"
    )
    assert run(copies) == [(0,)], "another page of the group stands for their text"
    repeated = "SELECT url_key, scope FROM pages GROUP BY url_key, scope HAVING count(*) > 1"
    assert run(repeated) == []


def is_whole(store: Path) -> bool:
    """Whether SQLite finds a store intact."""
    return rows_of(store, "PRAGMA integrity_check") == [("ok",)] and not rows_of(
        store, "PRAGMA foreign_key_check"
    )


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
