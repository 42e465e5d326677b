"""How a store is opened, created, upgraded and refused."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from shingling import Page, Scheme, Store, sign
from shingling.errors import BandingError, SchemeError, StoreError, StoreVersionError
from shingling.store._migrate import HEAD, alembic_config, upgrade
from shingling.store._tables import metadata
from tests.crawling import article
from tests.store.invariants import verify

if TYPE_CHECKING:
    from pathlib import Path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def made(path: Path) -> str:
    url = f"sqlite:///{path}"
    with Store.open(url) as store:
        store.check([Page("https://a.example/", article(1))])
    return url


def test_a_store_is_made_and_found_again(tmp_path: Path) -> None:
    url = made(tmp_path / "dedup.db")
    with Store.open(url, create=False) as store:
        assert store.status()["pages"] == 1
        assert store.check([Page("https://a.example/", article(1))])[0].status == "unchanged"
    verify(tmp_path / "dedup.db")
    assert [file.name for file in tmp_path.iterdir()] == ["dedup.db"], "no side files are left"


def test_a_relative_path_starts_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Store.open("sqlite:///here.db").close()
    assert (tmp_path / "here.db").is_file()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "dedup.db").touch()
    made(tmp_path / "dedup.db")
    verify(tmp_path / "dedup.db")


def test_a_store_in_memory_works() -> None:
    with Store.open("sqlite://") as store:
        assert store.check([Page("https://a.example/", article(1))])[0].status == "new"
        assert store.status()["bytes"] > 0


def test_what_is_not_there_is_not_made_unless_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store yet"):
        Store.open(f"sqlite:///{tmp_path / 'none.db'}", create=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="folder does not exist"):
        Store.open(f"sqlite:///{tmp_path / 'no' / 'none.db'}")


@pytest.mark.parametrize(
    "content", [b"just some text, long enough to be read", b"SQLite", b"\0" * 5000]
)
def test_a_file_that_is_no_database_is_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="not a SQLite database"):
        Store.open(f"sqlite:///{path}")
    assert path.read_bytes() == content


def test_a_damaged_database_gets_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    made(path)
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 4096)
    before = digest(path)
    with pytest.raises(StoreError):
        Store.open(f"sqlite:///{path}").status()
    assert digest(path) == before


def test_a_database_of_something_else_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE pages (id INTEGER)")
    before = digest(path)
    with pytest.raises(StoreError, match="a database of something else"):
        Store.open(f"sqlite:///{path}")
    assert digest(path) == before


def test_a_store_of_another_scheme_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    url = made(path)
    before = digest(path)
    with pytest.raises(SchemeError, match="DEDUP_SHINGLE_SIZE"):
        Store.open(url, scheme=Scheme(shingle_size=3))
    assert digest(path) == before
    other = sign(article(2), Scheme(shingle_size=3))
    with Store.open(url) as store:
        with pytest.raises(SchemeError):
            store.check([Page("b", article(2), other)])
        with pytest.raises(SchemeError):
            store.similar(other)


def test_a_newer_store_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    url = made(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE alembic_version SET version_num = '9999'")
        db.commit()
    before = digest(path)
    with pytest.raises(StoreVersionError, match=r"revision 9999.*pip install -U"):
        Store.open(url)
    assert digest(path) == before


@pytest.mark.parametrize(
    "url",
    ["", "dedup.db", "http://a.example/", "mysql://u:secret@host/db", "oracle://", "sqlite//x"],
)
def test_other_databases_are_refused_and_passwords_not_repeated(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_written_gets_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "dedup.db"
    made(path)
    before = digest(path)
    code = (
        "import sys\nfrom shingling import Page, Store\nfrom shingling.errors import StoreError\n"
        "import sqlite3, shingling.store._engine as engine\n"
        # Permissions do not hold back root, a read-only connection does.
        "setup = engine._set_up\n"
        "def read_only(connection, record):\n"
        "    connection.isolation_level = None\n"
        "    connection.execute('PRAGMA query_only=ON')\n"
        "engine._set_up = read_only\n"
        f"store = Store.open('sqlite:///{path}')\n"
        "assert store.status()['pages'] == 1\n"
        "try:\n    store.check([Page('b', 'some words to be stored here')])\n"
        "except StoreError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "readonly database" in done.stdout
    assert digest(path) == before


def test_processes_that_open_a_new_store_at_the_same_moment_make_it_once(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom shingling import Page, Store\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        f"store = Store.open('sqlite:///{tmp_path / 'dedup.db'}')\n"
        "store.check([Page(f'https://a.example/{sys.argv[1]}', 'one two three four five six')])\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(4)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    with Store.open(f"sqlite:///{tmp_path / 'dedup.db'}") as store:
        status = store.status()
    assert (status["pages"], status["originals"], status["exact"]) == (4, 1, 3)
    verify(tmp_path / "dedup.db")


def test_the_migrations_make_the_tables_that_the_store_uses() -> None:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        assert upgrade(connection) == (None, HEAD)
        script = ScriptDirectory.from_config(alembic_config(connection))
        assert script.get_current_head() == HEAD
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert upgrade(connection) == (HEAD, HEAD)
    engine.dispose()


def test_a_threshold_below_the_bands_names_the_command_that_makes_new_ones(tmp_path: Path) -> None:
    url = made(tmp_path / "dedup.db")
    words = article(1).split()
    words[20:300:21] = ["edited"] * len(words[20:300:21])
    reworked = Page("https://b.example/", " ".join(words))
    with Store.open(url) as store:
        with pytest.raises(BandingError, match=r"scrapy dedup rebuild --threshold 0\.5"):
            store.check([reworked], 0.5)
        for wrong in (0, -1, 1.1):
            with pytest.raises(BandingError, match="is not accepted"):
                store.check([reworked], wrong)
        store.rebuild(0.5)
        [verdict] = store.check([reworked], 0.5)
        assert verdict.status == "near"
    verify(tmp_path / "dedup.db")
    with Store.open(f"sqlite:///{tmp_path / 'new.db'}", threshold=0.5) as store:
        store.check([Page("https://a.example/", article(1)), reworked], 0.5)
    rows = []
    for name in ("dedup.db", "new.db"):
        with closing(sqlite3.connect(tmp_path / name)) as db:
            rows.append(db.execute("SELECT key, page_id FROM bands ORDER BY 1, 2").fetchall())
    assert rows[0] == rows[1]
