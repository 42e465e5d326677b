"""Passwords of databases are shown nowhere: in no message, file, traceback, log or run."""

from __future__ import annotations

import json
import sqlite3
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from scrapy.settings import Settings
from sqlalchemy import URL, make_url

from shingling import Store
from shingling.bulk import Options, deduplicate
from shingling.errors import BulkError, ShinglingError, StoreError
from shingling.plugin.settings import DedupSettings
from shingling.store.backends.secrets import Secrets, parse_database_url
from tests.support.commands import dedup_command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = "S3CRET"  # noqa: S105 (none)
"""What has to be nowhere."""

POSTGRES_URLS = [
    f"postgresql+psycopg://u:{SECRET}@/x?host=/nowhere",
    f"postgresql+psycopg:///x?host=/nowhere&password={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&PASSWORD={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&pasword={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&password=a&password={SECRET}",
    f"postgresql+psycopg:///x?host=/nowhere&sslpassword={SECRET}&sslkey={SECRET}.pem",
    f"postgresql+psycopg:///x?host=/nowhere&service={SECRET}",
    f"postgresql+psycopg://u:p@ss:{SECRET}@host/db",
    f"postgresql+psycopg://u:p@{SECRET}@host/db",
    f"postgresql+psycopg://u:p@{SECRET}/x@host/db",
    f"postgresql+psycopg://u:p@{SECRET}?x@host/db",
    f"postgresql+psycopg://u:p/{SECRET}@nowhere.invalid/db",
    f"postgresql+psycopg://u:{SECRET}%40%2F@nowhere.invalid/db",
    f"postgresql+psycopg://u:{SECRET}@[::1/db",
    f"postgresql+psycopg://u:{SECRET}@localhost:1x/db",
]
OTHER_URLS = [
    f"sqlite+pysqlcipher://:{SECRET}@/x.db",
    f"sqlite://u:{SECRET}@/x.db",
    f"sqlite://u:{SECRET}@host/x.db",
    f"postgres://u:{SECRET}@h/d",
    f"mysql+pymysql://u:{SECRET}@127.0.0.1:1/d",
    f"mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BPWD%3D{SECRET}",
    f"post gres://u:{SECRET}@h/d",
]
URLS = POSTGRES_URLS + OTHER_URLS


@pytest.mark.parametrize("url", [*URLS, f"sqlite:///x.db?key={SECRET}"])
def test_no_error_shows_a_secret(url: str, tmp_path: Path) -> None:
    options = Options(query="SELECT id, text FROM rows", workers=0)
    ways: list[Callable[[], object]] = [partial(Store.open, url)]
    if url in URLS:  # the other one is that of a file
        ways.append(partial(deduplicate, [url], tmp_path, options))
    for fail in ways:
        with pytest.raises((StoreError, BulkError)) as raised:
            fail()
        assert SECRET not in "".join(traceback.format_exception(raised.value))
        assert SECRET not in repr(raised.value)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET in path.read_text()] == []


@pytest.mark.parametrize("url", URLS)
def test_a_command_shows_no_secret(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bulk = ("bulk", url, "--out", "out", "--workers", "0")
    for arguments in (
        ("status", "--store", url),
        ("status", f"--stroe={url}"),
        ("status", url),
        (*bulk, "--query", "SELECT id, text FROM rows"),
        bulk,
    ):
        done = dedup_command(monkeypatch, *arguments)
        assert done.code == 2, arguments
        assert SECRET not in done.out + done.err


def test_a_query_shows_no_secret_where_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        connection.execute("CREATE TABLE rows (name TEXT, text TEXT)")
        text = " ".join(f"word{number}" for number in range(100))
        connection.executemany(
            "INSERT INTO rows VALUES (?, ?)", [("a", text), ("b", text), ("c", None)]
        )
    url = f"sqlite:///file:{tmp_path / 'rows.db'}?uri=true&vfs_key={SECRET}"
    query = f"SELECT text FROM rows WHERE '{SECRET}' != ''"  # noqa: S608 (ours)
    store = f"sqlite:///{tmp_path / 'store.db'}"
    done = dedup_command(
        monkeypatch,
        *("bulk", url, "--query", query, "--out", str(tmp_path / "out"), "--workers", "0"),
        *("--into-store", "--store", store),
    )
    assert done.code == 0, done
    assert "bad rows" in done.out
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"removed.jsonl", "bad.jsonl", "summary.json"}
    for path in written:
        assert SECRET.encode() not in path.read_bytes(), path
    assert SECRET not in done.out + done.err


def test_an_interrupted_run_is_continued_only_with_the_same_query() -> None:
    one, other = (Options(query=query).as_dict() for query in ("SELECT 1", "SELECT 2"))
    assert one != other
    assert one == Options(query="SELECT 1").as_dict()
    assert "SELECT" not in json.dumps(one)


def test_settings_are_shown_without_the_url_of_the_store() -> None:
    settings = DedupSettings.from_settings(
        Settings({"DEDUP_STORE_URL": POSTGRES_URLS[1]}), crawl=False
    )
    assert SECRET not in repr(settings)
    assert SECRET not in repr(replace(settings, workers=0))
    assert SECRET not in settings.store_url_without_password


def test_what_is_no_secret_is_shown() -> None:
    url = "postgresql+psycopg://me@h:5/db?options=-csearch_path%3Ddedup&sslmode=require&x=y"
    parsed = parse_database_url(url)
    assert parsed is not None
    assert Secrets.of(parsed).shown == url.replace("x=y", "x=***")
    path = parse_database_url("sqlite:////a@b@c/x.db")
    assert path is not None
    assert path.database == "/a@b@c/x.db"


@given(st.text(min_size=4), st.text(), st.text())
def test_a_secret_is_hidden_in_every_text(password: str, before: str, after: str) -> None:
    url = URL.create("postgresql+psycopg", "me", password, "host", database="db")
    secrets = Secrets.of(url)
    assert password not in secrets.hide(f"{before}{password}{after}").replace("***", "")
    assert password not in repr(secrets) or password in secrets.shown


def test_an_error_is_a_cause_only_where_it_shows_no_secret() -> None:
    secrets = Secrets.of(make_url(f"postgresql+psycopg://u:{SECRET}@host/db"))
    harmless, telling = OSError("no route"), OSError("no route")
    telling.__cause__ = ValueError(f"password={SECRET}")
    assert secrets.cause(harmless) is harmless
    assert secrets.cause(telling) is None


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (f"see postgresql://u:{SECRET}@h/d", "see postgresql://u:***@h/d"),
        (f"see ://u:p@ss:{SECRET}@h/d", "see ://u:***@h/d"),
        (f"DSN host=h password={SECRET} user=u", "DSN host=h password=*** user=u"),
        ("https://a.example:80/x", "https://a.example:80/x"),
    ],
)
def test_no_message_of_an_error_has_a_password(message: str, shown: str) -> None:
    assert str(ShinglingError(message)) == shown
