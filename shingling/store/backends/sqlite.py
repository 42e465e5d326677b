"""A store in a SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event, text
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool, StaticPool

from shingling.errors import StoreError
from shingling.store.backends.base import MAX_WAIT_SECONDS, Database, RetryReason
from shingling.store.schema.tables import fetch_rows, temporary

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL, Connection, Table
    from sqlalchemy.exc import DBAPIError

    from shingling.store.backends.base import Postings
    from shingling.store.backends.recent import Recent

_T = TypeVar("_T")
BUSY_TIMEOUT_SECONDS = 1.0  # of one statement; then Database.write tries again
_RETRY_PAUSE_SECONDS = 0.02
_PAGE_BYTES = 8192  # of a new file; at SQLite's 4096, rows of 1 to 2 KB waste a tenth of it
_WAL_PAGES = 4096  # between checkpoints; at SQLite's 1000, they cost half the insert rate
_CACHE_KIB = 8192
_SMALLEST_PAGE_BYTES = 512  # of any database
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'pages'"
_FILES = "files"  # of a connection, in what the pool notes of it


class SqliteDatabase(Database):
    """One file, one writer at a time: each transaction that writes does so alone."""

    dialect, driver = "sqlite", "pysqlite"
    example_url = "sqlite:///file.db"
    several_writers = False
    _mode = "mode=ro"  # in which a file is looked at

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
        # Even to read, SQLite makes files beside the store, which tell it what others write.
        elif not os.access(self.path.parent, os.W_OK) and not _identity(f"{self.path}-wal"):
            self._mode = "immutable=1"
            url = url.set(database=self.path.as_uri(), query={"immutable": "1", "uri": "true"})
            options["poolclass"] = NullPool  # what one has read may no longer be so for the next
        self.engine = create_engine(url, **options)
        self.reader = self.trial = self.engine.execution_options(reading=True)
        event.listen(self.engine, "connect", _set_up)
        if self.path is not None:
            event.listen(self.engine, "begin", self._require_files)
            event.listen(self.engine, "commit", self._require_files)
        event.listen(self.engine, "begin", self._begin)
        event.listen(self.engine, "rollback", self._rolled_back)
        self._recent: dict[str, Recent] = {}
        self._has_written = False  # since the last checkpoint

    @classmethod
    def check_url(cls, url: URL) -> None:
        """Accept a path only, or none: a store in memory.

        Raises:
            StoreError: it has a host, or parameters.
        """
        name = url.database or ""
        if url.host or url.username or url.query or name.startswith("file:") or "\0" in name:
            raise StoreError(
                f"nothing but a path is supported, behind three slashes: {cls.example_url}"
            )

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
        if self.path is None:
            return False
        try:
            if not self.path.exists() or self.path.stat().st_size == 0:
                if not self.path.parent.is_dir():
                    raise StoreError(f"{self.path}: the folder does not exist")
                return False
            if self.path.is_dir():
                raise StoreError(f"{self.path}: a directory, not a SQLite database")
            # Nothing but SQLite opens the file: to close it releases the locks of all connections.
            if self.path.stat().st_size < _SMALLEST_PAGE_BYTES:
                raise StoreError(f"{self.path}: not a SQLite database")
            tables = retried(partial(_tables, f"{self.path.as_uri()}?{self._mode}"))
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"{self.path}: {self.explained(str(error))}") from error
        if tables and not {"alembic_version", "scheme", "pages"} <= tables:
            raise StoreError(f"{self.path}: a database of something else, not a signature store")
        return bool(tables)

    def postings(self, connection: Connection, table: Table) -> Postings:
        """Table of keys, together with its recent entries if it stays."""
        from shingling.store.backends.recent import Recent, RecentPostings, SqlitePostings

        if table.metadata is temporary:
            return SqlitePostings(connection, table)
        recent = self._recent.setdefault(table.name, Recent(table.name))
        return RecentPostings(connection, table, recent)

    def _require_files(self, connection: Connection) -> None:
        """Check that the files of a connection are where they were.

        SQLite goes on writing into a file that has been deleted; what is stored there is lost when
        the last connection is closed.

        Raises:
            StoreError: one was deleted, moved or replaced, or written while it is only read.
        """
        known: dict[str, tuple[int, int, int]] = connection.info.setdefault(_FILES, {})
        for ending in ("", "-wal", "-shm"):
            file = f"{self.path}{ending}"
            identity = _identity(file, with_time=self._mode == "immutable=1")
            if identity != known.get(file, identity):
                raise StoreError(
                    f"{file}: the file was deleted, moved, replaced or overwritten while it is open"
                    f"; if another store was put there, delete {self.path}-wal and {self.path}-shm"
                )
            if identity is not None:
                known[file] = identity

    def _begin(self, connection: Connection) -> None:
        is_reading = connection.get_execution_options().get("reading")
        connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")
        self._has_written = self._has_written or not is_reading

    def _rolled_back(self, _: Connection) -> None:
        """Forget recent entries that a transaction has not stored."""
        for recent in self._recent.values():
            recent.forget()

    def allocate(self, connection: Connection, count: int) -> list[int]:
        """Take the ids after the highest one that was ever used."""
        ((used,),) = fetch_rows(connection, _LAST_ID) or [(0,)]
        return list(range(used + 1, used + 1 + count))

    def ids_restored(self, connection: Connection) -> None:
        """Do nothing: AUTOINCREMENT follows what is inserted."""

    def bytes(self, connection: Connection) -> int:
        """Size of the file and of its write-ahead log."""
        if self.path is None:
            query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            return int(connection.scalar(text(query)) or 0)
        log = self.path.with_name(self.path.name + "-wal")
        return sum(file.stat().st_size for file in (self.path, log) if file.exists())

    def backup(self, file: str) -> None:
        """Copy the store as it is at this moment; others may write meanwhile."""
        with (
            self._named_errors(),
            self.reader.connect() as source,
            closing(sqlite3.connect(file)) as copy,
        ):
            opened: sqlite3.Connection = source.connection.driver_connection  # type: ignore[assignment]
            opened.backup(copy)

    def checkpoint(self) -> None:
        """Bring what is in the write-ahead log into the file, as far as readers let it."""
        if self.path is not None and self._has_written:
            self._has_written = False
            with suppress(SQLAlchemyError, StoreError), self.reader.connect() as connection:
                for statement in ("COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    connection.exec_driver_sql(statement).close()

    def close(self) -> None:
        """Close all connections; what was written is in the file, if others have it open too."""
        self.checkpoint()
        super().close()

    def refuse_writes(self) -> None:
        """Have connections only answer queries."""
        event.listen(self.engine, "connect", _refuse_writes)

    def vacuum(self) -> None:
        """Rewrite the file without free pages."""

        def once() -> None:
            with self.engine.connect() as connection:
                # In no transaction: what SQLAlchemy has begun is ended.
                for statement in ("COMMIT", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                    connection.exec_driver_sql(statement).close()

        with self._named_errors():
            retried(once)

    def retry_reason(self, error: DBAPIError) -> RetryReason | None:
        """`UNAVAILABLE` if another program has locked it."""
        return RetryReason.UNAVAILABLE if "locked" in str(error.orig) else None

    def explained(self, message: str) -> str:
        """Message with its likely reason: SQLite writes even to a file that is only read."""
        if "malformed" in message:
            return f"damaged ({message}): restore a backup"
        if message in ("unable to open database file", "attempt to write a readonly database"):
            return f"{message}: it, or its folder, cannot be written"
        return "not a SQLite database" if message == "file is not a database" else message


def _tables(uri: str) -> set[str]:
    with closing(sqlite3.connect(uri, uri=True)) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`, not by the driver
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}").close()  # before the file is made
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"wal_autocheckpoint={_WAL_PAGES}",
        f"journal_size_limit={_WAL_PAGES * _PAGE_BYTES}",  # after a large transaction
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _refuse_writes(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA query_only=ON").close()


def _identity(file: str, *, with_time: bool = False) -> tuple[int, int, int] | None:
    """Device and number of a file, and when it was written; None if there is none."""
    try:
        status = os.stat(file)  # noqa: PTH116 (some times a batch)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns if with_time else 0


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
