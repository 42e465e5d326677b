"""Texts of known resemblance, and what must be true of every store at all times."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.store.session import Session
from tests.support.stores import rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SIZE = 5  # words in a shingle of the default scheme
_LETTERS = str.maketrans("0123456789", "abcdefghij")


def words(seed: int | str, count: int = 100) -> list[str]:
    """Return distinct random words, without digits: a number says something of its own."""
    numbers = random.Random(seed).sample(range(10**7), count)
    return [f"w{number}".translate(_LETTERS) for number in numbers]


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

    Of what is appended twice the last one counts.
    """
    entries = Counter(rows_of(path, f"SELECT key, page_id FROM {table}"))
    recent = f"SELECT entries FROM recent WHERE owner = '{table}' ORDER BY batch"
    for (raw,) in rows_of(path, recent):
        for key, page_id in np.frombuffer(raw, "<i8").reshape(-1, 2).tolist():
            entries[key, abs(page_id)] = int(page_id > 0)
    return +entries


def verify(path: Path) -> None:
    """Check everything that must be true of a store between two transactions."""
    verify_store(url_of(path))


def verify_store(url: str) -> None:
    """Check a store by its URL."""
    from shingling.admin.check import check_store  # a copy of the package may be without this room

    with Session.open(url, create=False, read_only=True) as session:
        assert check_store(session, lambda *_: None).problems == []


def is_whole(store: Path) -> bool:
    """Whether SQLite finds a store intact."""
    return rows_of(store, "PRAGMA integrity_check") == [("ok",)] and not rows_of(
        store, "PRAGMA foreign_key_check"
    )


def dump(file: Path) -> dict[str, list[Any]]:
    """Content of a store, without its times, addresses and keys of bodies."""
    from shingling.admin.transfer import export

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
