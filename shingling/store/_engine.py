"""Open the database of a store: look before touching it, then connect."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool

from shingling.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy import URL, Connection, Engine

_T = TypeVar("_T")
_BUSY_SECONDS = 30
_PAUSE = 0.02  # seconds
_WAL_PAGES = 8192  # 32 MB; at SQLite's 1000, checkpoints cost half the insert rate
_CACHE_KIB = 65536


def parse_url(url: str) -> URL:
    """Return a database URL of a kind that the store supports.

    Raises:
        StoreError: any other.
    """
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise StoreError("not a database URL; expected one like sqlite:///dedup.db") from error
    if backend != "sqlite" or parsed.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise StoreError(
            f"database {parsed.drivername!r} is not supported; expected sqlite:///file.db"
        )
    name = parsed.database or ""
    if parsed.query or name.startswith("file:") or "\0" in name:
        raise StoreError("a path with parameters is not supported; expected sqlite:///file.db")
    return parsed


def sqlite_path(url: URL) -> Path | None:
    """Return the file of a SQLite URL, or None for a database in memory."""
    name = url.database
    if not name or name == ":memory:":
        return None
    return Path(name)


def check_file(path: Path) -> bool:
    """Return whether a SQLite store is there; look at the file without changing it.

    Raises:
        StoreError: the file is no SQLite database, or one of something else.
    """
    try:
        if not path.exists() or path.stat().st_size == 0:
            if not path.parent.is_dir():
                raise StoreError(f"{path}: the folder does not exist")
            return False
        with path.open("rb") as file:
            if file.read(16) != b"SQLite format 3\0":
                raise StoreError(f"{path}: not a SQLite database")
        tables = patiently(lambda: _tables(path))
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path}: {error}") from error
    if tables and not {"alembic_version", "scheme", "pages"} <= tables:
        raise StoreError(f"{path}: a database of something else, not a signature store")
    return bool(tables)


def _tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}


def connect(url: URL) -> Engine:
    """Return an engine whose transactions begin IMMEDIATE, so that writers take turns."""
    options: dict[str, Any] = {"connect_args": {"timeout": _BUSY_SECONDS}}
    if sqlite_path(url) is None:
        options["poolclass"] = StaticPool
        options["connect_args"]["check_same_thread"] = False
    engine = create_engine(url, **options)
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by `_begin`, not by the driver
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"wal_autocheckpoint={_WAL_PAGES}",
        f"cache_size=-{_CACHE_KIB}",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def patiently(action: Callable[[], _T]) -> _T:
    """Do something, again while the database is locked, for as long as a writer would wait.

    SQLite itself does not wait where a file becomes a WAL database, or where the last
    connection to one is being closed.
    """
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            return action()
        except (OperationalError, sqlite3.OperationalError) as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)


@contextmanager
def named_errors(where: str) -> Iterator[None]:
    """Turn a database's errors into a `StoreError` of one line."""
    try:
        yield
    except DBAPIError as error:
        raise StoreError(f"{where}: {error.orig}") from error
    except (SQLAlchemyError, NoSuchModuleError, sqlite3.Error, OSError) as error:
        raise StoreError(f"{where}: {str(error).splitlines()[0]}") from error
