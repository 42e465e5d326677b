"""Texts of known resemblance, and what must be true of every store at all times."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from shingling.sketch import Scheme, shingles_of
from shingling.store.decide.texts import unzip
from shingling.store.index.keys import Index
from shingling.store.index.lookup import keys_of_sample
from shingling.store.schema.rows import Keyed, read_minima

from .databases import is_postgres, rows_of, url_of

__all__ = ["rows_of", "url_of"]

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
    entries = Counter(rows_of(path, f"SELECT key, page_id FROM {table}"))  # noqa: S608
    recent = f"SELECT slice, entries FROM recent WHERE owner = '{table}' ORDER BY batch"  # noqa: S608
    recent_rows = rows_of(path, recent)
    for place, raw in recent_rows:
        for key, page_id in np.frombuffer(raw, "<i8").reshape(-1, 2).tolist():
            assert (key + 2**63) // 2**58 == place
            entries[key, abs(page_id)] += 1 if page_id > 0 else -1
    assert set(entries.values()) <= {0, 1}
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
        "SELECT id, original_id, status, minima, simhash, scope, resemblance, words, zlib"
        " FROM pages LEFT JOIN texts ON page_id = id",
    )
    originals = {page_id: scope for page_id, head, _, _, _, scope, *_ in pages if head is None}
    indexed: set[tuple[int, int]] = set()
    sampled: set[tuple[int, int]] = set()
    for page_id, head, status, raw, simhash, scope, resemblance, length, zipped in pages:
        if head is None:
            assert status in ("new", "skipped")
            assert resemblance is None
            if length < scheme.fewest_words:
                continue
            keyed = Keyed(read_minima(raw), simhash % (1 << 64))
            indexed |= {(key, page_id) for key in index.keys([keyed])[0]}
            if index.sampled and zipped is not None and status != "skipped":
                shingled = shingles_of(scheme.canonical.words(unzip(zipped)), scheme)
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
