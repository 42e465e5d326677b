"""Which database a URL names."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from shingling.errors import StoreError
from shingling.store.backends.postgres import PostgresDatabase
from shingling.store.backends.sqlite import SqliteDatabase

if TYPE_CHECKING:
    from sqlalchemy import URL

    from shingling.store.backends.base import Database

_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRES = ("postgresql", "postgresql+psycopg")


def parse_url(url: str) -> URL:
    """Return a database URL of a kind that the store supports.

    Raises:
        StoreError: any other.
    """
    parsed = None
    with suppress(ArgumentError, ValueError):
        parsed = make_url(url)
    if parsed is None:  # raised without its cause: SQLAlchemy 2.0 quotes the URL and its password
        raise StoreError("not a database URL; expected one like sqlite:///dedup.db")
    if parsed.drivername in _POSTGRES:
        return parsed
    if parsed.drivername not in _SQLITE:
        raise StoreError(
            f"database {parsed.drivername!r} is not supported; expected sqlite:///file.db or"
            " postgresql+psycopg://user@host/name"
        )
    name = parsed.database or ""
    if parsed.query or name.startswith("file:") or "\0" in name:
        raise StoreError("a path with parameters is not supported; expected sqlite:///file.db")
    return parsed


def database_of(url: URL) -> Database:
    """Return the database of a parsed URL; nothing is connected yet.

    Raises:
        StoreError: the URL lacks what the database needs, or its driver is not installed.
    """
    try:
        return PostgresDatabase(url) if url.drivername in _POSTGRES else SqliteDatabase(url)
    except SQLAlchemyError as error:
        where = url.render_as_string(hide_password=True)
        raise StoreError(f"{where}: {str(error).splitlines()[0]}") from error
