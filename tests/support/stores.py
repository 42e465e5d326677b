"""Where tests keep their stores: in files of SQLite, and in schemas of a PostgreSQL server.

Either is named by a path: `dedup.db` is a file, `dedup.pg` stands for a schema of its own.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Store
from shingling.store.backends.postgres import LOCK_SALT, STORE_LOCK
from shingling.store.schema.tables import metadata
from tests.support.postgres import connect, current_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shingling.store.session import Session
    from tests.support.postgres import Database

ENDINGS = {"sqlite": ".db", "postgres": ".pg"}
sqlite_only = pytest.mark.parametrize("file", ["sqlite"], indirect=True)
postgres_only = pytest.mark.parametrize("file", ["postgres"], indirect=True)
both_databases = pytest.mark.parametrize("file", [*ENDINGS], indirect=True)
both_empty = pytest.mark.parametrize("empty", [*ENDINGS], indirect=True, scope="module")

_TABLES = ("texts", "bands", "samples", "pages", "full_keys", "reviews", "runs", "scheme")
_SITES = ("site_blocks", "url_rules")


def place_of(request: pytest.FixtureRequest, folder: Path) -> Iterator[Path]:
    """Yield where a fixture of the parameters `ENDINGS` can make a store, and remove it then."""
    path = folder / f"dedup{ENDINGS[request.param]}"
    if request.param == "sqlite":
        yield path
        return
    server: Database = request.getfixturevalue("postgres")
    yield path
    server.drop(folder)


def is_postgres(path: Path) -> bool:
    return path.suffix == ENDINGS["postgres"]


def url_of(path: Path, **options: str) -> str:
    """Return the URL of a store, with settings of the server."""
    if not is_postgres(path):
        return f"sqlite:///{path}"
    settings = {"search_path": current_database().schema(path), **options}
    shown = " ".join(f"-c{name}={value}" for name, value in settings.items())
    url = current_database().url.update_query_dict({"options": shown})
    return url.render_as_string(hide_password=False)


def session_of(store: Store) -> Session:
    """Return what an open store shares with the rooms, for what no public method tells."""
    return store._session


def rows_of(path: Path, query: str) -> list[Any]:
    """Rows that a query finds, as tuples of the same types in both databases."""
    if is_postgres(path):
        return current_database().run(query, current_database().schema(path))
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def all_rows(path: Path) -> dict[str, list[str]]:
    """Rows of every table of a store, by its name."""
    names = (*metadata.tables, "alembic_version")
    return {name: sorted(map(repr, rows_of(path, f"SELECT * FROM {name}"))) for name in names}


def originals(url: str) -> dict[str, str | None]:
    """Original of every page of a store, by its URL."""
    with Store.open(url, create=False) as store:
        return {page.url: page.original for page in store.pages()}


def execute(path: Path, *statements: str) -> None:
    """Change a store behind its back."""
    if is_postgres(path):
        for statement in statements:
            current_database().run(statement, current_database().schema(path))
        return
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold what nobody can write beside."""
    if is_postgres(file):
        with closing(connect(current_database().url)) as other, other.transaction():
            other.execute(f"SET LOCAL search_path = {current_database().schema(file)}")
            other.execute(f"SELECT pg_advisory_xact_lock({STORE_LOCK} # {LOCK_SALT})")
            yield
    else:
        with closing(sqlite3.connect(file, timeout=10)) as db:
            db.execute("BEGIN IMMEDIATE")
            yield


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
            *(f"DELETE FROM {table}" for table in (*_TABLES, *_SITES)),
            "INSERT INTO scheme SELECT * FROM scheme_then",
            "SELECT setval(pg_get_serial_sequence(t, 'id'), 1, false)"
            " FROM unnest(ARRAY['pages', 'runs']) AS t",
        )
        yield empty
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copy(empty, folder))
