"""A store in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import StaticPool

from shingling.errors import StoreError
from shingling.store.backends.base import MAX_WAIT_SECONDS, NOT_UTF8, Database, Trouble
from shingling.store.index.recent import Recent, RecentPostings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import URL, Connection, Engine, RowMapping, Table
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import ConnectionPoolEntry

    from shingling.store.backends.base import Committed, TextHash
    from shingling.store.index.postings import Postings

_T = TypeVar("_T")
BUSY_TIMEOUT_SECONDS = 1.0  # of one statement; then Database.write tries again
_RETRY_PAUSE_SECONDS = 0.02
_PAGE_BYTES = 8192  # of a new file; at SQLite's 4096, rows of 1 to 2 KB waste a tenth of it
_WAL_CHECKPOINT_BYTES = 1 << 25  # at SQLite's 4 MB, checkpoints cost half the insert rate
_CACHE_KIB = 8192
_HASHES_PER_STATEMENT = 256
_VALUES_PER_STATEMENT = (1, 8, 64, 256)
_SMALLEST_PAGE_BYTES = 512  # of any database
_FILES = "files"  # of a connection, in what the pool notes of it
_LOG = ("-wal", "-shm")


class SqliteDatabase(
    Database,
    dialect="sqlite",
    driver="pysqlite",
    example_url="sqlite:///file.db",
    several_writers=False,
):
    """One file, one writer at a time: each transaction that writes does so alone."""

    def __init__(self, url: URL) -> None:
        path = self.file_of(url)
        self.path = None if path is None else path.absolute()  # the working directory may change
        if self.path is not None:
            url = url.set(database=str(self.path))
        super().__init__(url)
        options: dict[str, Any] = {"connect_args": {"timeout": BUSY_TIMEOUT_SECONDS}}
        if self.path is None:
            options["poolclass"] = StaticPool
            options["connect_args"]["check_same_thread"] = False
        self.engine = create_engine(url, **options)
        self._reader = self.engine.execution_options(reading=True)
        # Its transactions fail at bytes that are no text, which takes less time than to look.
        self._writer: Engine = self.engine.execution_options(trusting=True)
        event.listen(self.engine, "connect", self._connected)
        event.listen(self.engine, "connect", self.note_damage)
        event.listen(self.engine, "begin", _begin)
        event.listen(self.engine, "commit", _require_files)
        event.listen(self.engine, "rollback", self._rolled_back)
        self._recent: dict[str, Recent] = {}

    @classmethod
    def check_url(cls, url: URL) -> None:
        """Accept a path only, or none: a store in memory.

        Raises:
            StoreError: it has parameters.
        """
        name = url.database or ""
        if url.query or name.startswith("file:") or "\0" in name:
            raise StoreError(f"a path with parameters is not supported; expected {cls.example_url}")

    @classmethod
    def file_of(cls, url: URL) -> Path | None:
        """File of a URL, or None for a database in memory."""
        name = url.database
        return None if not name or name == ":memory:" else Path(name)

    def is_there(self) -> bool:
        """Whether a store is there; the file is looked at without changing it.

        Raises:
            StoreError: the file is no SQLite database, or one of something else.
        """
        return self.path is not None and _check_file(self.path)

    def take_turn(self, connection: Connection, *, alone: bool) -> None:
        """Do nothing: transactions begin IMMEDIATE, so that writers take turns."""

    def lock(self, connection: Connection, keys: Sequence[int]) -> int:
        """Not called: nobody else writes."""
        raise NotImplementedError

    def committed_since(self, connection: Connection, last: int) -> Committed:
        """Not called: nobody else writes."""
        raise NotImplementedError

    def take_commit_turn(self, connection: Connection, last: int, ids: Sequence[int]) -> Committed:
        """Not called: nobody else writes."""
        raise NotImplementedError

    def postings(self, connection: Connection, table: Table) -> Postings:
        """Table of keys, together with its recent entries."""
        recent = self._recent.setdefault(table.name, Recent(table.name))
        return RecentPostings(connection, table, recent)

    def _connected(self, connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        if self.path is not None:
            record.info[_FILES] = {f"{self.path}": _identity(f"{self.path}")}
        _set_up(connection)

    def _rolled_back(self, _: Connection) -> None:
        """Forget recent entries that a transaction has not stored."""
        for recent in self._recent.values():
            recent.forget()

    def same_texts(
        self,
        connection: Connection,
        table: Table,
        hashes: Sequence[TextHash],
        scopes: Sequence[str],
        most: int,
    ) -> Iterator[RowMapping]:
        """Read the oldest pages of each hash, some hundred hashes in one statement."""
        for start in range(0, len(hashes), _HASHES_PER_STATEMENT):
            part = _filled_up(hashes[start : start + _HASHES_PER_STATEMENT])
            some_scopes = _filled_up(scopes)
            query = _same_texts(table.name, len(part), len(some_scopes))
            found = connection.exec_driver_sql(query, (*part, *some_scopes, most))
            yield from found.mappings()

    def allocate(self, connection: Connection, count: int) -> list[int]:
        """Take the ids after the highest one that was ever used."""
        used = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'pages'")) or 0
        return list(range(used + 1, used + 1 + count))

    def ids_restored(self, connection: Connection) -> None:
        """Do nothing: AUTOINCREMENT follows what is inserted."""

    def bytes(self, connection: Connection) -> int:
        """Size of the file and of its write-ahead log."""
        if self.path is None:
            query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            return int(connection.scalar(text(query)) or 0)
        return sum(file.stat().st_size for file in self._files())

    def _files(self) -> list[Path]:
        """Find the file and its write-ahead log, as far as they are there."""
        if self.path is None:
            return []
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return [file for file in files if file.exists()]

    def refuse_writes(self) -> None:
        """Have connections only answer queries."""
        event.listen(self.engine, "connect", _refuse_writes)

    def change_mark(self) -> object:
        """Sizes and times of the file and of its write-ahead log."""
        return [(one.st_size, one.st_mtime_ns) for one in map(Path.stat, self._files())]

    def vacuum(self) -> None:
        """Rewrite the file without free pages."""

        def once(_: bool) -> None:
            with self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("VACUUM").close()
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()

        with self._named_errors():
            retried(lambda: once(True))

    def become(self, other: Database) -> None:
        """Have the content of another file instead of one's own, all or nothing."""

        def copy() -> None:
            with self.engine.connect() as own, other.engine.connect() as sound:
                raw, source = own.connection.driver_connection, sound.connection.driver_connection
                assert raw is not None
                assert source is not None
                source.backup(raw)

        with self._named_errors():
            retried(copy)

    def trouble(self, error: DBAPIError) -> Trouble | None:
        """`AWAY` where another program has locked it; `CONFLICT` at bytes that are no text."""
        message = str(error.orig)
        if "decode to UTF-8" in message:
            self._writer = self.engine
            return Trouble.CONFLICT
        return Trouble.AWAY if "locked" in message else None

    def explained(self, message: str) -> str:
        """Message with its likely reason: SQLite writes even to a file that is only read."""
        return _explained(message)

    def begin_writing(self) -> AbstractContextManager[Connection]:
        """Begin a transaction that trusts texts to be texts, until one has failed at that."""
        return self._writer.begin()

    def begin_reading(self) -> Connection:
        """Connect so that a transaction is deferred, and sees one snapshot."""
        return self._reader.connect()


def _filled_up(values: Sequence[_T]) -> list[_T]:
    """Values with the last one repeated, so that there are few different statements."""
    number = next((size for size in _VALUES_PER_STATEMENT if size >= len(values)), len(values))
    return [*values, *[values[-1]] * (number - len(values))]


@lru_cache(64)
def _same_texts(table: str, hashes: int, scopes: int) -> str:
    # The condition on the status is spelled as in the index, which is not used otherwise.
    return (
        f"WITH given(hash) AS (VALUES {', '.join(['(?)'] * hashes)})"  # noqa: S608 (our names)
        f" SELECT page.* FROM (SELECT DISTINCT hash FROM given) AS one"
        f" JOIN {table} AS page ON page.id IN ("
        f" SELECT id FROM {table} AS twin WHERE twin.text_hash = one.hash"
        f" AND twin.status <> 'exact' AND twin.scope IN ({', '.join(['?'] * scopes)})"
        f" ORDER BY twin.id LIMIT ?)"
    )


def _check_file(path: Path) -> bool:
    try:
        if not path.exists() or path.stat().st_size == 0:
            if not path.parent.is_dir():
                raise StoreError(f"{path}: the folder does not exist")
            return False
        if path.is_dir():
            raise StoreError(f"{path}: a directory, not a SQLite database")
        # Nothing but SQLite opens the file: to close it releases the locks of all connections.
        if path.stat().st_size < _SMALLEST_PAGE_BYTES:
            raise StoreError(f"{path}: not a SQLite database")
        tables = retried(lambda: _tables(path))
    except UnicodeDecodeError as error:
        raise StoreError(f"{path}: {_explained(NOT_UTF8)}") from error
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path}: {_explained(str(error))}") from error
    if tables and not {"alembic_version", "scheme", "pages"} <= tables:
        raise StoreError(f"{path}: a database of something else, not a signature store")
    return bool(tables)


def _explained(message: str) -> str:
    if message == "unable to open database file":
        return f"{message}: it, or its folder, cannot be written"
    if "malformed" in message:
        return f"damaged ({message}): run `scrapy dedup check --repair`, or restore a backup"
    return "not a SQLite database" if message == "file is not a database" else message


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}


def _set_up(connection: sqlite3.Connection) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`, not by the driver
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}").close()  # before the file is made
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"wal_autocheckpoint={_WAL_CHECKPOINT_BYTES // page_bytes}",
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _refuse_writes(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA query_only=ON").close()


def _begin(connection: Connection) -> None:
    _require_files(connection, in_transaction=False)
    options = connection.get_execution_options()
    raw = connection.connection.driver_connection
    assert raw is not None
    # In a damaged file, bytes that are no text must not end the reading of all others.
    raw.text_factory = str if options.get("trusting") else _text
    connection.exec_driver_sql("BEGIN" if options.get("reading") else "BEGIN IMMEDIATE")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _require_files(connection: Connection, *, in_transaction: bool = True) -> None:
    """Check that the files of a connection are where they were.

    SQLite goes on writing into a file that has been deleted; what is stored there is lost when the
    last connection is closed.

    Args:
        connection: to the store.
        in_transaction: whether it has all of its files open.

    Raises:
        StoreError: one was deleted, moved or replaced.
    """
    files: dict[str, tuple[int, int] | None] = connection.info.get(_FILES, {})
    if in_transaction and len(files) == 1:
        logs = {f"{file}{end}": _identity(f"{file}{end}") for file in files for end in _LOG}
        files.update({file: identity for file, identity in logs.items() if identity})
    for file, identity in files.items():
        if _identity(file) != identity:
            raise StoreError(f"{file}: the file was deleted, moved or replaced while it is open")


def _identity(file: str) -> tuple[int, int] | None:
    """Device and number of a file; None where there is none."""
    try:
        found = os.stat(file)  # noqa: PTH116 (some times a batch)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def retried(action: Callable[[], _T]) -> _T:
    """Do something, again while the database is locked, as long as a writer waits.

    SQLite itself does not wait when a file becomes a WAL database, or when the last
    connection to one is being closed.
    """
    until = time.monotonic() + MAX_WAIT_SECONDS
    while True:
        try:
            return action()
        except (OperationalError, sqlite3.OperationalError) as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_RETRY_PAUSE_SECONDS)
