"""A store is opened, made, brought up to date, or refused and left as it was."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from sqlalchemy import create_engine, make_url

from shingling import Page, Scheme, Store
from shingling.errors import (
    SchemeError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
)
from shingling.store.backends import BACKENDS, database_of, parse_url
from shingling.store.backends.base import Database
from shingling.store.model import DAY
from shingling.store.schema.migrate import HEAD, alembic_config
from shingling.text import Canonicaliser
from tests.store.children import open_each
from tests.support.installed import ROOT
from tests.support.invariants import text, verify, words
from tests.support.postgres import Database as SharedDatabase, connect, current_database
from tests.support.processes import Child, run_fork
from tests.support.stores import execute, is_postgres, postgres_only, rows_of, sqlite_only, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg import Connection

A = text(words("base"))


def made(file: Path, *, shingle_size: int = 5) -> Path:
    with Store.open(url_of(file), scheme=Scheme(shingle_size=shingle_size)) as store:
        store.check([Page("a", A)])
    return file


@contextmanager
def unchanged(file: Path) -> Iterator[None]:
    """Prove that the database, and what lies beside it, stay as they are."""
    before = contents(file)
    yield
    assert contents(file) == before


def contents(file: Path) -> dict[str, str]:
    """Return digests of all files, or of all tables, by name."""
    if is_postgres(file):
        names = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        return {
            name: hashlib.sha256(repr(rows_of(file, f'TABLE "{name}"')).encode()).hexdigest()
            for (name,) in rows_of(file, f"{names} AND relkind = 'r' ORDER BY 1")
        }
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(file.parent.iterdir())
    }


def test_a_store_keeps_its_pages_scheme_and_bands(file: Path) -> None:
    with Store.open(url_of(file), scheme=Scheme(shingle_size=3), threshold=0.5) as store:
        store.check([Page("a", A)])
        index = store.status().index
    with Store.open(url_of(file), threshold=0.9) as store:
        assert store.scheme == Scheme(shingle_size=3)
        assert store.status().index == index
        assert [page.url for page in store.pages()] == ["a"]
        [verdict] = store.check([Page("b", A)])
        assert verdict.original == "a"


def test_opening_a_store_again_changes_nothing(file: Path) -> None:
    made(file)
    assert is_postgres(file) or [*file.parent.iterdir()] == [file], "a closed store is one file"
    with unchanged(file):
        Store.open(url_of(file)).close()


def test_an_open_store_stays_where_it_is_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///here.db") as store:
        monkeypatch.chdir(elsewhere)
        store.check([Page("a", A), Page("b", text(words("b")))])
        assert [store.find(page.url)[0].id for page in store.pages()] == [1, 2]
        assert store.status().bytes > 0
    assert list(elsewhere.iterdir()) == []
    verify(tmp_path / "here.db")


@sqlite_only
@pytest.mark.parametrize("size", [0, 1], ids=["empty", "without tables"])
def test_a_file_without_tables_becomes_a_store(file: Path, size: int) -> None:
    file.touch()
    if size:
        execute(file, "PRAGMA user_version = 1")
    assert bool(file.stat().st_size) == bool(size)
    made(file)
    verify(file)


def test_a_store_in_memory_lives_until_it_is_closed() -> None:
    for _ in range(2):
        with Store.open("sqlite:///:memory:") as store:
            assert [v.status for v in store.check([Page("a", A), Page("b", A)])] == ["new", "exact"]
            assert store.status().bytes > 0


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nowhere.*the folder does not exist"):
        Store.open(url_of(tmp_path / "nowhere" / "dedup.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_clock_that_goes_back_changes_no_verdict_and_waits_for_nobody(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    with Store.open(url_of(file), original_max_age_days=1) as store:
        store.check([Page("a", A)], run=store.start_run("spider"))
        monkeypatch.setattr(time, "time", lambda: now - 3 * DAY)
        run = store.start_run("spider")
        verdicts = store.check([Page("a", A), Page("b", A)], run=run)
        told = [(one.status, one.original) for one in verdicts]
        assert told == [("unchanged", None), ("exact", "a")]
        store.finish_run(run, "finished")
        [page] = store.find("a")
        assert page.first_seen == page.last_seen, "the latest time that it was seen"
        assert store.runs()[0].outcome == "finished"
        assert store.admin.check().is_sound
    verify(file)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("sqlite", b"x", "not a"),
        ("sqlite", b"SQLite format 3\0" + b"junk" * 2000, "not a"),
        ("sqlite", bytes(4096), "not a"),
        ("sqlite", "cookies", "a database of something else"),
        ("sqlite", "alembic_version", "a database of something else"),
        ("postgres", "pages", r"tables of something else are there \(pages\)"),
        ("postgres", "alembic_version", r"tables of something else are there \(alembic_version\)"),
    ],
    indirect=["file"],
)
def test_what_is_no_store_is_refused_and_left_alone(
    file: Path, content: bytes | str, message: str
) -> None:
    """A file, or a database with a table of this name."""
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        execute(file, f"CREATE TABLE {content} (x text)")
    with unchanged(file), pytest.raises(StoreError, match=message):
        Store.open(url_of(file))


@postgres_only
def test_schemas_are_stores_of_their_own_beside_tables_of_other_names(file: Path) -> None:
    other = file.with_stem("other")
    execute(file, "CREATE TABLE cookies (x text)", "INSERT INTO cookies VALUES ('y')")
    with Store.open(url_of(file)) as store, Store.open(url_of(other), threshold=0.3) as second:
        store.check([Page("a", A)])
        assert [verdict.status for verdict in second.check([Page("b", A)])] == ["new"]
        assert store.status().pages == second.status().pages == 1
        assert store.status().index != second.status().index
    assert rows_of(file, "TABLE cookies") == [("y",)]
    verify(file)
    verify(other)


@pytest.mark.parametrize("revision", ["0001", "r9999"])
@pytest.mark.parametrize("create", [True, False])
def test_a_store_of_an_unknown_release_is_refused_and_left_alone(
    file: Path, revision: str, create: bool
) -> None:
    made(file)
    execute(file, f"UPDATE alembic_version SET version_num = '{revision}'")
    message = rf"has revision {revision}, .* install the release that has written the store"
    with unchanged(file), pytest.raises(StoreVersionError, match=message):
        Store.open(url_of(file), create=create)


def test_a_store_of_another_scheme_is_refused_and_left_alone(file: Path) -> None:
    made(file, shingle_size=3)
    message = r"DEDUP_SHINGLE_SIZE = 3, DEDUP_SCHEME = {}, .* DEDUP_SHINGLE_SIZE = 5"
    with unchanged(file), pytest.raises(SchemeError, match=message):
        Store.open(url_of(file), scheme=Scheme())


@pytest.mark.parametrize("there", [False, True])
def test_a_store_is_not_made_where_it_must_exist(file: Path, there: bool) -> None:
    if there and not is_postgres(file):
        file.touch()
    elif there:
        execute(file, "CREATE TABLE cookies (x text)")
    with unchanged(file), pytest.raises(StoreError, match="there is no store yet"):
        Store.open(url_of(file), create=False)


READ_ONLY = """
import os, sqlite3, sys
import alembic.command, alembic.script, shingling.admin.store_admin, shingling.store.backends.sqlite
from shingling import Page, Scheme, Store, sign
from shingling.errors import StoreError
from sqlalchemy.dialects.sqlite import pysqlite
sign("some text", Scheme())  # loads what nobody else may read, if Python belongs to root
if os.geteuid() == 0:  # to root nothing is read-only
    os.setuid(65534)
try:
    with Store.open("sqlite:///" + sys.argv[1]) as store:
        if "vacuum" in sys.argv:
            store.admin.vacuum()
        store.check([Page("b", "some text")])
except StoreError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("there", "folder", "doing"),
    [(False, 0o555, "check"), (True, 0o555, "check"), (True, 0o777, "vacuum")],
)
def test_a_store_that_cannot_be_written_is_refused_with_its_path(
    there: bool, folder: int, doing: str
) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        file = Path(name, "dedup.db")
        if there:
            made(file)
            file.chmod(0o444)
        before = contents(file)
        Path(name).chmod(folder)
        done = run_fork(ROOT, "-c", READ_ONLY, str(file), doing)
        Path(name).chmod(stat.S_IRWXU)
        assert done.stderr == ""
        assert done.stdout.startswith("refused:")
        assert str(file) in done.stdout
        assert "cannot be written" in done.stdout
        assert contents(file).get("dedup.db") == before.get("dedup.db")


READING = """
import os, sys
import alembic.command, alembic.script, shingling.store.backends.sqlite, shingling.store.queries
from shingling import Page, Store
from shingling.errors import StoreError
if os.geteuid() == 0:  # to root nothing is read-only
    os.setuid(65534)
with Store.open("sqlite:///" + sys.argv[1], create=False) as store:
    try:
        with store._session.reading():
            print("reads", flush=True)
            sys.stdin.read()
    except StoreError as error:
        print(error)
    print(store.find("a")[0].url, store.status().pages)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_store_in_a_folder_that_cannot_be_written_is_read_unless_others_write_meanwhile() -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        file = Path(name, "dedup.db")
        made(file)
        Path(name).chmod(0o555)
        reading = subprocess.Popen(
            [sys.executable, "-c", READING, str(file)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert reading.stdout is not None
        first = reading.stdout.readline()
        os.utime(file, ns=(1, 1))  # as of a file that somebody else has written
        rest, _ = reading.communicate("")
        Path(name).chmod(stat.S_IRWXU)
        assert contents(file).keys() == {"dedup.db"}
    assert first == "reads\n"
    assert "was deleted, moved, replaced or overwritten while it is open" in rest
    assert rest.endswith("\na 1\n")


@pytest.mark.parametrize(
    "url",
    [
        *("", "dedup:db", "sqlite+aiosqlite:///x.db", "postgresql+asyncpg://me@host/db"),
        *("sqlite:///a\0b.db", "sqlite:///x.db?timeout=abc", "sqlite:///file:shop.db?uri=true"),
    ],
)
def test_a_url_that_is_not_supported_is_refused_in_a_line(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as raised:
        Store.open(url)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("postgres")  # where it is absent, psycopg may be
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@localhost:1/db",
        "postgresql+psycopg://user:secret@/db?host=/nowhere",
        "postgresql+psycopg://localhost:1/db?user=user&password=secret",
        "postgresql+psycopg://user:secret@localhost:1/db?connect_timeout=soon",
    ],
)
def test_a_server_that_does_not_answer_is_an_error_at_once_without_the_password(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shingling.store.backends.base.time.sleep", pytest.fail)  # to try again
    with pytest.raises(StoreError, match=r"^postgresql") as raised:
        Store.open(url)
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.fixture
def crowded(postgres: SharedDatabase) -> Iterator[tuple[str, Connection]]:
    """URL of a database that lets one session in, and that session."""
    name, role = (f"{kind}_{uuid.uuid4().hex[:12]}" for kind in ("crowded", "role"))
    administration = postgres.administration
    administration.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{role}'")
    administration.execute(f"CREATE DATABASE {name} OWNER {role} CONNECTION LIMIT 1")
    url = postgres.url.set(username=role, password=role, database=name)
    session = connect(url)
    yield url.render_as_string(hide_password=False), session
    session.close()
    administration.execute(f"DROP DATABASE {name} WITH (FORCE)")
    administration.execute(f"DROP ROLE {role}")


def test_who_opens_a_store_waits_for_a_free_connection(
    crowded: tuple[str, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, session = crowded
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            session.close()

    monkeypatch.setattr("shingling.store.backends.base.time.sleep", wait)
    with Store.open(url) as store:
        assert [verdict.status for verdict in store.check([Page("a", A)])] == ["new"]
    assert len(waits) >= 3


def test_who_opens_a_store_gives_up_after_a_minute_without_a_free_connection(
    crowded: tuple[str, Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter(range(0, 1000, 20))
    monkeypatch.setattr("shingling.store.backends.base.time.monotonic", lambda: next(seconds))
    monkeypatch.setattr("shingling.store.backends.base.time.sleep", lambda _: None)
    with pytest.raises(StoreUnavailableError, match="too many connections") as raised:
        Store.open(crowded[0])
    assert f":{make_url(crowded[0]).password}@" not in str(raised.value)
    assert 60 < next(seconds) <= 140


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_keep_every_text_is_refused(
    postgres: SharedDatabase, encoding: str
) -> None:
    name = f"encoded_{uuid.uuid4().hex[:12]}"
    postgres.administration.execute(
        f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C'"
        " TEMPLATE template0"
    )
    try:
        url = postgres.url.set(database=name).render_as_string(hide_password=False)
        with pytest.raises(StoreError, match=f"is in {encoding}, a store needs UTF8; .* CREATE"):
            Store.open(url)
    finally:
        postgres.administration.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_texts_get_through_whatever_encoding_clients_are_to_have(
    postgres: SharedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    schema = postgres.schema(Path("/encoding"))
    url = postgres.url.update_query_dict({"options": f"-csearch_path={schema}"})
    with Store.open(url.render_as_string(hide_password=False)) as store:
        store.check([Page("http://a.example/", text="Ω" * 9, title="日本語")])
        [page] = store.find("http://a.example/")
        assert page.title == "日本語"
    postgres.drop(Path("/"))


@pytest.mark.parametrize("create", [False, True])
def test_a_missing_database_or_schema_is_an_error(postgres: SharedDatabase, create: bool) -> None:
    database = postgres.url.set(database="nowhere")
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        Store.open(database.render_as_string(hide_password=False), create=create)
    schema = postgres.url.update_query_dict({"options": "-csearch_path=nowhere"})
    with pytest.raises(StoreError, match=r"no store yet|no schema"):
        Store.open(schema.render_as_string(hide_password=False), create=create)


def test_processes_that_open_a_new_store_at_the_same_moment_make_one(file: Path) -> None:
    openers = [Child(open_each) for _ in range(4)]
    try:
        for opener in openers:
            assert opener.pipe.recv() == "ready"
        for turn in range(3):
            path = file.with_stem(f"{turn}")
            if turn == 2 and not is_postgres(file):  # once it is there, and empty
                with closing(sqlite3.connect(path)) as db:
                    db.execute("PRAGMA journal_mode = WAL")
            for opener in openers:
                opener.pipe.send(url_of(path))
            assert [opener.pipe.recv() for opener in openers] == [1] * 4
            assert rows_of(path, "SELECT count(*) FROM scheme") == [(1,)]
            assert rows_of(path, "SELECT count(*) FROM alembic_version") == [(1,)]
            verify(path)
    finally:
        for opener in openers:
            opener.pipe.send(None)
    assert [opener.end() for opener in openers] == [(0, [])] * 4


def migrated(file: Path) -> Path:
    """Have the migrations make the tables of a store, from the first to the last."""
    engine = create_engine(url_of(file))
    with engine.begin() as connection:
        command.upgrade(alembic_config(connection), "head")
    engine.dispose()
    return file


_SQL = re.compile(r"\w+|[^\w\s]")


def described(path: Path) -> list[tuple[str, ...]]:
    """Return the tables, constraints and indexes as the database spells them."""
    if not is_postgres(path):
        return rows_of(path, "SELECT name, sql FROM sqlite_master WHERE sql <> '' ORDER BY name")
    own = "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    rows = rows_of(
        path,
        "SELECT c.relname, attname, format_type(atttypid, atttypmod) || attnotnull,"
        " pg_get_expr(adbin, adrelid) FROM pg_class c JOIN pg_attribute ON attrelid = c.oid"
        f" LEFT JOIN pg_attrdef ON adrelid = c.oid AND adnum = attnum {own} AND attnum > 0"
        " UNION ALL SELECT c.relname, conname, pg_get_constraintdef(k.oid), '' FROM pg_class c"
        f" JOIN pg_constraint k ON conrelid = c.oid {own}"
        " UNION ALL SELECT c.relname, '', pg_get_indexdef(indexrelid), '' FROM pg_class c"
        f" JOIN pg_index ON indrelid = c.oid {own} ORDER BY 1, 2, 3",
    )
    schema = current_database().schema(path)
    return [tuple(str(value).replace(schema, "own") for value in row) for row in rows]


def test_the_migrations_make_the_tables_of_a_new_store(file: Path) -> None:
    made(file)
    other = migrated(file.with_stem("migrated"))
    found, wanted = (
        [(name, *map(_SQL.findall, parts)) for name, *parts in described(path)]
        for path in (other, file)
    )
    assert found == wanted
    for path in (other, file):
        assert rows_of(path, "SELECT version_num FROM alembic_version") == [(HEAD,)]


# What signed and extracted


def test_a_new_version_of_a_pack_is_warned_of(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("simplemma")
    scheme = Scheme(canonical=Canonicaliser(language="en", lemmas="simplemma"))
    Store.open(url_of(file), scheme=scheme).close()
    Store.open(url_of(file), scheme=scheme).close()
    assert caplog.messages == []
    execute(file, """UPDATE scheme SET packs = '{"simplemma": "0.1"}'""")
    Store.open(url_of(file), scheme=scheme).close()
    [message] = caplog.messages
    assert "made with simplemma 0.1, installed is" in message


# Databases that can hold a store


def test_a_database_that_is_listed_is_the_one_of_its_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = dict.fromkeys(Database.__abstractmethods__, lambda *_: None)
    made |= {"dialect": "mysql", "driver": "pymysql", "several_writers": True}
    made["example_url"] = "mysql+pymysql://user@host/name"
    made["__init__"] = lambda self, url: Database.__init__(self, url)
    third: Any = type("MySqlDatabase", (Database,), made)
    assert third(parse_url("sqlite:///a.db")).alone is False
    monkeypatch.setitem(BACKENDS, "mysql", lambda: third)
    for url in ("mysql://me@host/dedup", "mysql+pymysql://me@host/dedup"):
        assert type(database_of(parse_url(url))) is third
    with pytest.raises(StoreError, match=r"expected sqlite:.* or mysql\+pymysql://user@host/name"):
        parse_url("mysql+mysqldb://me@host/dedup")
