"""Stores that are damaged behind their back: no page is dropped for another one, and `check`."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from shingling.errors import StoreError
from tests.support.commands import dedup_command
from tests.support.invariants import ending, text, verify, words
from tests.support.stores import execute, is_postgres, sqlite_only, url_of

if TYPE_CHECKING:
    from pathlib import Path


PAGES = 60


@cache
def pages_of(site: str) -> list[Page]:
    """Twenty groups: a page, a page that is nearly the same, and a copy."""
    made = []
    for group in range(PAGES // 3):
        base = words(group, 150)
        for kind, own in enumerate((base, ending(base, group, 4), base)):
            url = f"https://{site}{kind}.example/{group}"
            made.append(Page(url, text(own), title=f"Page {group}", body_key=url.encode()[:16]))
    return made


GROUPS = {page.url: number // 3 for site in "ab" for number, page in enumerate(pages_of(site))}


def make(file: Path) -> None:
    """Make a store; in SQLite a copy of the one that was made first."""
    if is_postgres(file):
        fill(file)
        return
    if not _MADE:
        fill(file)
        _MADE.append(file.read_bytes())
    file.write_bytes(_MADE[0])


_MADE: list[bytes] = []


def fill(file: Path) -> None:
    with Store.open(url_of(file)) as store:
        run = store.start_run("made")
        store.check(pages_of("a"), run=run)
        store.finish_run(run, "finished")
        store.admin.review("https://a0.example/1", "https://a0.example/2", same=False)


def dropped_for_another(store: Store) -> list[tuple[str, str]]:
    """Decide pages one by one, as a crawl does, which keeps those whose decision fails.

    Returns:
        URLs of pages that follow one of another group, and of that one.
    """
    followed = {}
    for page in (*pages_of("b"), *pages_of("a")):
        with suppress(Exception):  # whatever a damaged row leads to
            [verdict] = store.check(page)
            followed[page.url] = verdict.original
    return [(url, to) for url, to in followed.items() if to in GROUPS and GROUPS[to] != GROUPS[url]]


DAMAGE = {
    "a cut text": "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 7",
    "cut minima": "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id < 10",
    "a cut hash": "UPDATE pages SET text_hash = substr(minima, 1, 5) WHERE id < 7",
    "another hash": "UPDATE pages SET text_hash = substr(minima, 1, 16) WHERE id < 7",
    "a URL": "UPDATE pages SET url = 'https://elsewhere.example/' WHERE id = 7",
    "a status": "UPDATE pages SET status = 'odd', last_verdict = 'odd' WHERE id = 7",
    "a site": "UPDATE site_blocks SET entries = substr(entries, 1, 5)",
}
CASES = [
    pytest.param(database, one, id=f"{name}-{database}")
    for name, one in DAMAGE.items()
    for database in ("sqlite", "postgres")
]


@pytest.mark.parametrize(("file", "statement"), CASES, indirect=["file"])
def test_no_page_is_dropped_for_another_one_because_of_a_damaged_row(
    file: Path, statement: str
) -> None:
    make(file)
    execute(file, statement)
    with Store.open(url_of(file)) as store:
        assert dropped_for_another(store) == []


@pytest.mark.parametrize("seed", range(30))
@sqlite_only
def test_a_file_that_is_damaged_at_random_drops_no_page_for_another_one(
    file: Path, seed: int
) -> None:
    make(file)
    choice, raw = random.Random(seed), bytearray(file.read_bytes())
    number = choice.choice([1, 10, 50, 512, 8192])
    start = choice.randrange(100, len(raw) - number)
    spread = number <= 50 and choice.random() < 0.5
    for at in range(start, start + number):
        raw[choice.randrange(100, len(raw)) if spread else at] = choice.randrange(256)
    file.write_bytes(raw)
    try:
        store = Store.open(url_of(file))
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017 (it may open)
        return
    with store:
        assert dropped_for_another(store) == []


# Statements, with what a check says.
WRONG = {
    "an original that is a duplicate": (
        "UPDATE pages SET original_id = 5 WHERE id = 8",
        "page 8 (https://a1.example/2): its original is missing, or no original of its scope",
    ),
    "a status": (
        "UPDATE pages SET status = 'new' WHERE id = 8",
        "page 8 (https://a1.example/2): status, original_id and resemblance contradict each other",
    ),
    "a resemblance": (
        "UPDATE pages SET resemblance = 1.5 WHERE id = 8",
        "page 8 (https://a1.example/2): status, original_id and resemblance contradict each other",
    ),
    "a text": (
        "UPDATE pages SET text_hash = substr(minima, 1, 16) WHERE id = 7",
        "page 9 (https://a2.example/2): no page of its group stands for its text",
    ),
    "a key that is missing": (
        "UPDATE pages SET minima = (SELECT minima FROM pages WHERE id = 10) WHERE id = 7",
        "bands: its keys are not those of the originals",
    ),
    "keys of no page": (
        "INSERT INTO bands (key, page_id) VALUES (5, 999999)",
        "bands: its keys are not those of the originals",
    ),
    "samples of no page": (
        "INSERT INTO samples (key, page_id) VALUES (5, 7)",
        "samples: its keys are not those of the originals",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_check_says_what_is_wrong_and_a_rebuild_mends_it(file: Path, case: str) -> None:
    statement, problem = WRONG[case]
    make(file)
    with Store.open(url_of(file)) as store:
        assert store.admin.check().is_sound
        execute(file, statement)
        assert problem in store.admin.check().problems
        store.admin.redecide()
    verify(file)


@sqlite_only
def test_a_check_says_what_sqlite_finds(file: Path) -> None:
    make(file)
    execute(file, "DELETE FROM recent", "DELETE FROM pages WHERE id = 7")
    with Store.open(url_of(file)) as store:
        findings = store.admin.check()
    assert (findings.pages, findings.is_sound) == (0, False)
    assert findings.problems == [
        "pages 8: not in pages",
        "pages 9: not in pages",
        "texts 7: not in pages",
    ]


def test_a_check_prints_what_it_finds(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(file)
    store = "--store", url_of(file)
    done = dedup_command(monkeypatch, "check", *store)
    assert (done.code, done.out) == (0, f"{PAGES} pages: no damage\n")
    execute(file, "UPDATE pages SET status = 'new' WHERE id = 5")
    done = dedup_command(monkeypatch, "check", *store)
    problem = "page 5 (https://a1.example/1): status, original_id and resemblance contradict each"
    assert done.code == 1
    assert done.out == (
        f"{problem} other\nrestore a backup, or run `scrapy dedup rebuild --decide`\n"
    )
    found = json.loads(dedup_command(monkeypatch, "check", "--json", *store).out)
    assert found == {"pages": PAGES, "problems": [f"{problem} other"], "sound": False}
    assert dedup_command(monkeypatch, "rebuild", "--decide", *store).code == 0
    assert dedup_command(monkeypatch, "check", "--json", *store).json()["sound"]
    missing = dedup_command(monkeypatch, "check", "--store", "sqlite:///nowhere/x.db")
    assert missing.code == 2


@pytest.mark.parametrize("command", ["status", "list", "check"])
@sqlite_only
def test_what_sqlite_says_of_a_damaged_file_is_one_line(
    file: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(file)
    raw = file.read_bytes()
    assert b"TABLE full_keys" in raw
    file.write_bytes(raw.replace(b"TABLE full_keys", b"TBALE full_keys"))
    done = dedup_command(monkeypatch, command, "--store", url_of(file))
    assert "damaged (malformed database schema" in done.refusal()
    assert "restore a backup" in done.refusal()
