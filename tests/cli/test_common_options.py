"""Options that commands have in common: `--store`, `--limit` and those of Scrapy."""

from __future__ import annotations

import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store
from shingling.cli.all_commands import all_commands
from tests.support.pages import article

if TYPE_CHECKING:
    from pathlib import Path


PAGES = 25
"""Pages of the store; each has a copy on another site."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("made") / "t.db"
    with Store.open(f"sqlite:///{file}") as store:
        for site in ("a.example", "b.example"):
            store.check([Page(f"https://{site}/{n}", article(n)) for n in range(PAGES)])
    return file


@pytest.fixture(autouse=True)
def _folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that has a store in `t.db`, and an empty folder `sub`."""
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    shutil.copy(made, tmp_path)


@pytest.mark.parametrize("name", all_commands())
def test_every_command_shows_the_options_of_scrapy_and_an_example(dedup: Any, name: str) -> None:
    shown = dedup(name, "-h").out
    for option in ("--logfile", "-L", "--nolog", "--profile", "--pidfile", "-s", "--set", "--pdb"):
        assert re.search(rf"^  (-\w( [A-Z=]+)?, )?{option}(,? |$)", shown, re.MULTILINE), option
    assert f"example: scrapy dedup {name}" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("status", "--json", "--set=DEDUP_STORE_URL=sqlite:///t.db"),
        (
            *("-s", "DEDUP_STORE_URL=sqlite:///none.db", "status", "--json"),
            *("-s", "DEDUP_STORE_URL=sqlite:///t.db", "-s", "DEDUP_THRESHOLD=.4"),
        ),
    ],
)
def test_settings_stand_before_or_after_a_command(dedup: Any, arguments: tuple[str, ...]) -> None:
    assert dedup(*arguments).json()["pages"] == 2 * PAGES


def test_scrapys_other_options_act_after_a_command(dedup: Any, tmp_path: Path) -> None:
    done = dedup(
        *("status", "--store", "t.db", "--profile", "profile", "--pidfile", "pid"),
        *("-L", "INFO", "--logfile", "log"),
    )
    assert done.code == 0
    assert int((tmp_path / "pid").read_text()) == os.getpid()
    assert (tmp_path / "profile").stat().st_size


def test_a_file_is_looked_for_in_the_working_folder_a_url_in_the_project(
    dedup: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\n")
    monkeypatch.chdir(tmp_path / "sub")
    assert dedup("status", "--store", "sqlite:///t.db").code == 0
    assert dedup("status", "--store", "../t.db").code == 0
    refusal = dedup("status", "--store", "t.db").refusal()
    assert f"{tmp_path}/sub/t.db: there is no store yet" in refusal


@pytest.mark.parametrize(
    ("store", "problem"),
    [
        ("typing mistake.db", "there is no store yet"),
        ("nowhere/t.db", "the folder does not exist"),
        ("sub", "a directory, not a SQLite database"),
        (":memory:", "not a database URL"),
        ("postgresql:/me:secret@host/db", "not a database URL"),
        ("me:secret@host/db", "not a database URL"),
    ],
)
def test_a_mistyped_store_is_said_and_not_made(
    dedup: Any, tmp_path: Path, store: str, problem: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    for command in ("status", "list", "check", "upgrade"):
        refusal = dedup(command, f"--store={store}").refusal()
        assert problem in refusal
        assert "secret" not in refusal
    assert sorted(tmp_path.rglob("*")) == before


def test_a_store_is_made_in_the_file_that_is_imported_into(dedup: Any, tmp_path: Path) -> None:
    assert dedup("export", "all.jsonl", "--store", "t.db").code == 0
    assert dedup("import", "all.jsonl", "--store", "a copy.db").code == 0
    assert (tmp_path / "a copy.db").is_file()
    assert dedup("status", "--json", "--store", "a copy.db").json()["pages"] == 2 * PAGES


def test_a_file_in_the_settings_is_refused_with_its_url(dedup: Any) -> None:
    refusal = dedup("status", DEDUP_STORE_URL="t.db").refusal()
    assert "DEDUP_STORE_URL is not accepted (a file is written sqlite:///t.db)" in refusal


@pytest.mark.parametrize(
    "command", [("list",), ("groups",), ("similar", "https://a.example/1", "--distance", "64")]
)
def test_twenty_are_listed_and_more_are_told_of(dedup: Any, command: tuple[str, ...]) -> None:
    where = ("--store", "t.db")
    cut = dedup(*command, *where)
    assert cut.code == 0
    assert cut.out.splitlines()[-1] == "… and more: --limit is 20"
    one = dedup(*command, *where, "--limit", "1")
    assert one.out.splitlines()[-1] == "… and more: --limit is 1"
    assert len(one.out.splitlines()) == 3
    whole = dedup(*command, *where, "--limit", "50")
    assert "and more" not in whole.out
    assert len(whole.out.splitlines()) >= 2 * PAGES
    for_programs = dedup(*command, *where, "--json", "--limit", "1")
    assert len(for_programs.json()) == 1
    assert for_programs.err == "… and more: --limit is 1\n"
