"""The databases that a store can be kept in, and the one that a URL names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from shingling.errors import StoreError
from shingling.store.backends.secrets import Secrets, parse_database_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import URL

    from shingling.store.backends.base import Database


def _sqlite() -> type[Database]:
    from shingling.store.backends.sqlite import SqliteDatabase

    return SqliteDatabase


def _postgresql() -> type[Database]:
    from shingling.store.backends.postgres import PostgresDatabase

    return PostgresDatabase


BACKENDS: dict[str, Callable[[], type[Database]]] = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
}
"""Databases that can hold a store, by SQLAlchemy's name of their dialect.

Each is imported when a URL names it: a crawl needs one of them.
"""


def parse_url(url: str) -> URL:
    """Parse the URL of a database that can hold a store.

    Raises:
        StoreError: it is no such URL; the message shows those that are supported.
    """
    parsed = parse_database_url(url)
    if parsed is None:
        raise StoreError(
            "not a database URL (in a password, @ is written %40); expected one like"
            " sqlite:///dedup.db"
        )
    _backend_of(parsed).check_url(parsed)
    return parsed


def is_file_name(place: str) -> bool:
    """Whether a store is named by the path of a file; with a colon, it may be half a URL."""
    return ":" not in os.path.splitdrive(place)[1]


def url_of_file(path: str | os.PathLike[str]) -> str:
    """URL of the store in a file; a relative path starts at the working directory."""
    from sqlalchemy import URL

    return URL.create("sqlite", database=str(Path.cwd() / path)).render_as_string()


def file_of(url: URL) -> Path | None:
    """File that the store of a parsed URL is kept in, or None: it is on a server, or in memory."""
    return _backend_of(url).file_of(url)


def database_of(url: URL) -> Database:
    """Database of a parsed URL; nothing is connected yet.

    Raises:
        StoreError: the driver of the database is not installed.
    """
    backend: Callable[[URL], Database] = _backend_of(url)
    return backend(url)


def shown_url(url: str) -> str:
    """URL of a database without its secrets.

    Raises:
        StoreError: it is no URL of a database that can hold a store.
    """
    return Secrets.of(parse_url(url)).shown


def _backend_of(url: URL) -> type[Database]:
    dialect, _, driver = url.drivername.partition("+")
    backend = BACKENDS[dialect]() if dialect in BACKENDS else None
    if backend is None or driver not in ("", backend.driver):
        expected = " or ".join(backend_of().example_url for backend_of in BACKENDS.values())
        raise StoreError(f"database {url.drivername!r} is not supported; expected {expected}")
    return backend
