"""A store is carried over to the next release: by revisions that these tests make up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.errors import StoreVersionError
from shingling.store.schema.migrate import HEAD
from tests.support.installed import ROOT
from tests.support.pages import article
from tests.support.stores import all_rows, execute, rows_of, sqlite_only, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ADDED = """
import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"


def upgrade():
    op.add_column("pages", sa.Column("note", sa.Text))
    op.execute("UPDATE pages SET note = 'page ' || url")
"""
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"


def upgrade():
    op.add_column("pages", sa.Column("length", sa.Integer))
    op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True))
"""
CHECK = """
import sys
from shingling import Page, Store

with Store.open(sys.argv[1]) as store:
    [verdict] = store.check([Page("copy", sys.argv[2])])
    print(store.status().revision, store.status().pages, verdict.status, verdict.original)
"""
READ = """
import sys
from shingling.store.session import Session

Session.open(sys.argv[1], read_only=True)
"""


@pytest.fixture
def filled(file: Path) -> Path:
    """Return a store of this release with pages, a run and a review."""
    with Store.open(url_of(file)) as store:
        run = store.start_run("spider")
        near = article(1).replace("word", "term", 1)
        texts = {"a": article(1), "b": article(2), "a copy": article(1), "a near": f"{near} more"}
        store.check([Page(url, text, title=url) for url, text in texts.items()], run=run)
        store.finish_run(run, "finished")
        store.admin.review("a", "b", same=False, note="two")
    return file


@pytest.fixture
def release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Run Python as in the next release, which has these revisions more."""

    def run(revisions: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp("release")
        (folder / "shingling").mkdir()
        for path in (ROOT / "shingling").iterdir():
            if path.name != "migrations":
                (folder / "shingling" / path.name).symlink_to(path)
        shutil.copytree(ROOT / "migrations", folder / "migrations")
        for number, revision in enumerate(revisions, 2):
            (folder / "migrations" / "versions" / f"r{number:04}_next.py").write_text(revision)
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
        )

    return run


def test_a_store_is_carried_over_by_the_command_upgrade(filled: Path, release: Any) -> None:
    before = all_rows(filled)
    command = ("-m", "scrapy", "dedup", "upgrade", "--store", url_of(filled))
    done = release([ADDED, NEXT], *command)
    assert (done.returncode, done.stdout) == (0, "the store is up to date (revision r0003)\n")
    query = "SELECT url, note, length FROM pages ORDER BY id LIMIT 2"
    assert rows_of(filled, query) == [("a", "page a", None), ("b", "page b", None)]
    with pytest.raises(StoreVersionError, match="has revision r0003"):
        Store.open(url_of(filled))
    assert rows_of(filled, "SELECT * FROM notes") == []
    columns = ("ALTER TABLE pages DROP COLUMN note", "ALTER TABLE pages DROP COLUMN length")
    execute(filled, *columns, f"UPDATE alembic_version SET version_num = '{HEAD}'")
    assert all_rows(filled) == before


@sqlite_only
def test_a_store_of_an_earlier_release_is_not_opened_read_only(filled: Path, release: Any) -> None:
    before = all_rows(filled)
    done = release([ADDED], "-c", READ, url_of(filled))
    assert "it is of an earlier release, and cannot be brought up to date" in done.stderr
    assert all_rows(filled) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_an_upgrade_that_is_killed_leaves_the_store_as_it_was_and_can_be_repeated(
    filled: Path, release: Any
) -> None:
    before = all_rows(filled)
    for ended, status, said in (
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("raise ValueError('this one fails')", 1, "this one fails"),
    ):
        done = release([ADDED, f"{NEXT}    {ended}\n"], "-c", CHECK, url_of(filled), article(1))
        assert done.returncode == status
        assert said in done.stderr
        assert all_rows(filled) == before
    with Store.open(url_of(filled)) as store:
        assert store.status().revision == HEAD
    done = release([ADDED, NEXT], "-c", CHECK, url_of(filled), article(1))
    assert (done.stdout, done.stderr) == ("r0003 5 exact a\n", "")
