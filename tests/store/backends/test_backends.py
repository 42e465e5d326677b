"""What a database must define to hold a store, and which databases are supported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shingling.errors import StoreError
from shingling.store import parse_url
from shingling.store.backends.base import Database
from shingling.store.backends.engine import BACKENDS, database_of, file_of
from shingling.store.backends.postgres import PostgresDatabase
from shingling.store.backends.sqlite import SqliteDatabase

NAMES: dict[str, Any] = {
    "dialect": "mysql",
    "driver": "pymysql",
    "example_url": "mysql+pymysql://user@host/name",
    "several_writers": True,
}
METHODS: dict[str, Any] = dict.fromkeys(Database.__abstractmethods__, lambda *_: None)


def test_a_database_that_is_listed_is_the_one_of_its_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    made = METHODS | NAMES | {"__init__": lambda self, url: Database.__init__(self, url)}
    third: Any = type("MySqlDatabase", (Database,), made)
    assert third(parse_url("sqlite:///a.db")).alone is False
    monkeypatch.setitem(BACKENDS, "mysql", lambda: third)
    for url in ("mysql://me@host/dedup", "mysql+pymysql://me@host/dedup"):
        assert type(database_of(parse_url(url))) is third
    with pytest.raises(StoreError, match=r"expected sqlite:.* or mysql\+pymysql://user@host/name"):
        parse_url("mysql+mysqldb://me@host/dedup")


@pytest.mark.parametrize(
    ("url", "kind", "file"),
    [
        ("sqlite:///a.db", SqliteDatabase, Path("a.db")),
        ("sqlite+pysqlite:////a.db", SqliteDatabase, Path("/a.db")),
        ("sqlite://", SqliteDatabase, None),
        ("postgresql://me@host/dedup", PostgresDatabase, None),
        ("postgresql+psycopg://me@host/dedup", PostgresDatabase, None),
    ],
)
def test_the_url_names_the_database(url: str, kind: type[Database], file: Path | None) -> None:
    if kind is PostgresDatabase:
        pytest.importorskip("psycopg", reason="PostgreSQL needs psycopg 3")
    parsed = parse_url(url)
    database = database_of(parsed)
    assert type(database) is kind
    assert file_of(parsed) == file
    assert database.alone is not database.several_writers
    database.close()
