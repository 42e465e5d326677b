"""A store is carried over to the next release: by its revisions, and by some that are made up."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

import shingling.store.backends.recent
import shingling.store.index
from shingling import Page, Rules, Store
from shingling.errors import StoreVersionError
from shingling.store.index import salted
from shingling.store.schema.migrate import HEAD
from tests.support.installed import ROOT
from tests.support.invariants import verify
from tests.support.pages import article
from tests.support.processes import ANEW, run_fork
from tests.support.stores import all_rows, execute, rows_of, sqlite_only, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from subprocess import CompletedProcess

    from shingling.arrays import Integers

_HEAD = int(HEAD[1:])
NEXT, AFTER_NEXT = f"r{_HEAD + 1:04}", f"r{_HEAD + 2:04}"
ADDED = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade():
    op.add_column("pages", sa.Column("note", sa.Text))
    op.execute("UPDATE pages SET note = 'page ' || url")
"""
ADDED_LATER = f"""
import sqlalchemy as sa
from alembic import op

revision = "{AFTER_NEXT}"
down_revision = "{NEXT}"


def upgrade():
    op.add_column("pages", sa.Column("length", sa.Integer))
    op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
"""
CHECK = """
from shingling import Page, Store

with Store.open(sys.argv[1]) as store:
    [verdict] = store.check([Page("copy", sys.argv[2])])
    print(store.status().revision, verdict.status, verdict.original)
"""
SCRAPY = """
from scrapy.cmdline import execute

execute()
"""
READ = """
from shingling.store.session import Session

Session.open(sys.argv[1], read_only=True)
"""
_TAKEN_BACK = (
    "DROP INDEX pages_scope",
    "ALTER TABLE site_blocks DROP COLUMN lines",
    "ALTER TABLE pages DROP COLUMN came_out",
    "ALTER TABLE texts DROP COLUMN last_change",
    "UPDATE alembic_version SET version_num = 'r0001'",
)
RULES = Rules(containment=0.9)  # samples are kept
SCOPES = ("", "one", "ünïcode " * 60)


@pytest.fixture
def filled(file: Path) -> Path:
    """Return a store of the first release with pages, a run and a review."""
    with Store.open(url_of(file)) as store:
        run = store.start_run("spider")
        near = article(1).replace("word", "term", 1)
        texts = {"a": article(1), "b": article(2), "a copy": article(1), "a near": f"{near} more"}
        store.check([Page(url, text, title=url) for url, text in texts.items()], run=run)
        store.finish_run(run, "finished")
        store.admin.review("a", "b", same=False, note="two")
    return of_first_release(file)


@pytest.fixture
def in_scopes(file: Path) -> Path:
    """Return a store of the first release with pages in three scopes; some were removed."""

    def salted_then(keys: Integers, scopes: list[str]) -> Integers:
        return salted(keys, scopes) if keys.ndim == 1 else keys  # samples only

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingling.store.index, "salted", salted_then)
        patch.setattr(shingling.store.backends.recent, "MAX_RECENT_ENTRIES", 300)
        with Store.open(url_of(file), rules=RULES) as store:
            for number in range(8):
                text = article(number)
                store.check([Page(f"{number}", text, scope=scope) for scope in SCOPES])
            store.admin.forget(["0", "6"])
    execute(file, "INSERT INTO full_keys (key) VALUES (7)")
    return of_first_release(file)


def of_first_release(file: Path) -> Path:
    """Take back what the revisions after the first one have added."""
    execute(file, *_TAKEN_BACK)
    return file


def without_added(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out the columns that later revisions have added at the end, which are empty."""
    tables = "site_blocks", "texts"
    shorter = {name: [row.removesuffix(", None)") + ")" for row in rows[name]] for name in tables}
    return {**rows, **shorter}


@pytest.fixture
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Run a program as in the next release, which has these revisions more."""

    def run(revisions: list[str], code: str, *arguments: str) -> CompletedProcess[str]:
        folder = tmp_path_factory.mktemp("release")
        (folder / "shingling").mkdir()
        for path in (ROOT / "shingling").iterdir():
            if path.name != "migrations":
                (folder / "shingling" / path.name).symlink_to(path)
        shutil.copytree(ROOT / "migrations", folder / "migrations")
        for name, revision in zip((NEXT, AFTER_NEXT), revisions, strict=False):
            (folder / "migrations" / "versions" / f"{name}_next.py").write_text(revision)
        return run_fork(folder, "-c", ANEW + code, *arguments)

    return run


def test_a_store_is_carried_over_by_the_command_upgrade(filled: Path, release: Any) -> None:
    before = all_rows(filled)
    command = ("dedup", "upgrade", "--store", url_of(filled))
    done = release([ADDED, ADDED_LATER], SCRAPY, *command)
    shown = f"the store is up to date (revision {AFTER_NEXT})\n"
    assert (done.returncode, done.stdout) == (0, shown)
    query = "SELECT url, note, length FROM pages ORDER BY id LIMIT 2"
    assert rows_of(filled, query) == [("a", "page a", None), ("b", "page b", None)]
    with pytest.raises(StoreVersionError, match=f"has revision {AFTER_NEXT}"):
        Store.open(url_of(filled))
    assert rows_of(filled, "SELECT * FROM notes") == []
    columns = ("ALTER TABLE pages DROP COLUMN note", "ALTER TABLE pages DROP COLUMN length")
    execute(filled, *columns, *_TAKEN_BACK)
    assert all_rows(filled) == before


@sqlite_only
def test_a_store_of_an_earlier_release_is_not_opened_read_only(filled: Path, release: Any) -> None:
    before = all_rows(filled)
    done = release([ADDED], READ, url_of(filled))
    assert "it is of an earlier release, and cannot be brought up to date" in done.stderr
    assert all_rows(filled) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_upgrade_that_is_killed_leaves_the_store_as_it_was_and_can_be_repeated(
    in_scopes: Path, release: Any
) -> None:
    before = all_rows(in_scopes)
    for ended, status, said in (
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("raise ValueError('this one fails')", 1, "this one fails"),
    ):
        failing = f"{ADDED_LATER}    {ended}\n"
        done = release([ADDED, failing], CHECK, url_of(in_scopes), article(1))
        assert done.returncode == status
        assert said in done.stderr
        assert all_rows(in_scopes) == before
    with Store.open(url_of(in_scopes)) as store:
        assert store.status().revision == HEAD
    done = release([ADDED, ADDED_LATER], CHECK, url_of(in_scopes), article(1))
    assert (done.stdout, done.stderr) == (f"{AFTER_NEXT} exact 1\n", "")
    command = ("dedup", "check", "--store", url_of(in_scopes))
    checked = release([ADDED, ADDED_LATER], SCRAPY, *command)
    assert checked.returncode == 0, checked


def test_keys_of_pages_with_a_scope_are_made_anew_and_they_are_found(in_scopes: Path) -> None:
    before = all_rows(in_scopes)
    with Store.open(url_of(in_scopes), rules=RULES) as store:
        after = without_added(all_rows(in_scopes))
        changed = {name for name, rows in after.items() if rows != before[name]}
        logs = set() if in_scopes.suffix == ".pg" else {"recent", "logs"}
        assert changed == {"alembic_version", "pages", "bands", "full_keys", *logs}
        verify(in_scopes)
        for scope in SCOPES:
            pages = [
                Page(f"near {number}", f"{article(number)} more", scope=scope)
                for number in range(8)
            ]
            found = [verdict.original for verdict in store.check(pages)]
            assert found == [None, *"12345", None, "7"]
    verify(in_scopes)


def test_a_store_without_scopes_gets_no_other_keys(filled: Path) -> None:
    before = all_rows(filled)
    Store.open(url_of(filled)).close()
    after = without_added(all_rows(filled))
    assert after["alembic_version"] == [f"('{HEAD}',)"]
    changed = {name for name, rows in after.items() if rows != before[name]}
    assert changed == {"alembic_version", "pages"}


def test_an_item_has_come_out_if_a_stored_verdict_shows_that_it_was_kept(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(url_of(file)) as store:

        def crawl(*paths: str, ends: bool = True, edited: str = "") -> None:
            run = store.start_run("spider", is_crawl=True)
            for path in paths:
                number = int(path[0]) + 90 * (path == edited)
                store.check(Page(path, article(number)), run=run)
            if ends:
                store.finish_run(run, "finished")

        crawl("1", "2", "2 copy", "3", "3 copy", "4", "4 copy", "5")
        crawl("1", "2", "2 copy", "3", "4", "4 copy", "5", edited="2")
        store.admin.forget("3")
        store.admin.review("4", "4 copy", same=False)
        crawl("4 copy", "6", ends=False)
        store.admin.note_gone("5")
        crawl("7")
    of_first_release(file)
    with caplog.at_level("INFO", "shingling.store"):
        Store.open(url_of(file)).close()
    query = "SELECT url, came_out FROM pages WHERE original_id IS NULL ORDER BY url"
    assert rows_of(file, query) == [
        *(("1", 1), ("2", 2)),
        *((path, None) for path in ("2 copy", "3 copy")),
        *(("4", 1), ("4 copy", None), ("5", None), ("6", None), ("7", 4)),
    ]
    assert "the items of 5 pages have come out: if these are met again, they come" in caplog.text
