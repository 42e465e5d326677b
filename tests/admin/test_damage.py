"""Stores that are damaged behind their back: nothing is lost, damage is named, and mended."""

from __future__ import annotations

import os
import random
import re
import sqlite3
from contextlib import closing
from functools import cache
from typing import TYPE_CHECKING

import pytest

from shingling import Page, ShinglingError, Store
from shingling.admin.records import Header
from shingling.admin.transfer import export, restore
from shingling.errors import StoreError
from shingling.store.schema.tables import metadata
from shingling.store.session import Session
from tests.support.commands import dedup_command
from tests.support.invariants import ending, text, verify, words
from tests.support.stores import execute, is_postgres, sqlite_only, url_of

if TYPE_CHECKING:
    from collections.abc import Callable
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


# Statements, with what a check names; nothing: it is not looked at, or does no harm.
BOTH = {
    "a cut text": ("UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 7", {"text"}),
    "other texts": ("UPDATE texts SET zlib = substr(zlib, 9, 16) WHERE page_id < 20", {"text"}),
    "cut minima": ("UPDATE pages SET minima = substr(minima, 1, 300) WHERE id < 10", {"page"}),
    "a cut hash": ("UPDATE pages SET text_hash = substr(minima, 1, 5) WHERE id < 7", {"page"}),
    "another hash": ("UPDATE pages SET text_hash = substr(minima, 1, 16) WHERE id < 7", set[str]()),
    "the key of a URL": ("UPDATE pages SET url_key = substr(minima, 1, 9) WHERE id = 7", {"page"}),
    "a URL": ("UPDATE pages SET url = 'https://elsewhere.example/' WHERE id = 7", set[str]()),
    "a time": ("UPDATE pages SET first_seen = 1000000000000000000 WHERE id = 7", {"page"}),
    "a status": (
        "UPDATE pages SET status = 'odd', last_verdict = 'odd' WHERE id = 7",
        set[str](),
    ),
    "a status of another kind": ("UPDATE pages SET status = 'new' WHERE id = 8", set[str]()),
    "an original that is a duplicate": (
        "UPDATE pages SET original_id = 5 WHERE id = 8",
        {"orphan"},
    ),
    "its own original": (
        "UPDATE pages SET original_id = 4, status = 'near' WHERE id = 4",
        {"orphan"},
    ),
    "originals that follow each other": (
        "UPDATE pages SET original_id = 11 - id, resemblance = 1 WHERE id IN (4, 7)",
        {"orphan"},
    ),
    "a site": ("UPDATE site_blocks SET entries = substr(entries, 1, 5)", set[str]()),
    "keys of no page": ("INSERT INTO bands (key, page_id) VALUES (5, 999999)", {"orphan"}),
}
SQLITE = {
    "a number that is a text": ("UPDATE pages SET words = 'many' WHERE id = 7", {"page"}),
    "minima that are a text": ("UPDATE pages SET minima = 'x' WHERE id = 7", {"page"}),
    "a title that is no text": ("UPDATE pages SET title = x'00ff' WHERE id = 7", {"page"}),
    "a title in no encoding": ("UPDATE pages SET title = CAST(x'41ff' AS TEXT)", set[str]()),
    "a URL that is no text": ("UPDATE pages SET url = x'00ff' WHERE id = 7", {"page"}),
    "a text that is no bytes": ("UPDATE texts SET zlib = 'x' WHERE page_id = 7", {"text"}),
    "a deleted original": ("DELETE FROM pages WHERE id = 7", {"orphan"}),
    "recent keys that are cut off": ("UPDATE recent SET entries = x'0011'", set[str]()),
    "recent keys that are gone": ("DELETE FROM recent", set[str]()),
}
CASES = [
    *(pytest.param("sqlite", one, id=f"{name}-sqlite") for name, one in (BOTH | SQLITE).items()),
    *(pytest.param("postgres", one, id=f"{name}-postgres") for name, one in BOTH.items()),
]


@pytest.mark.parametrize(("file", "case"), CASES, indirect=["file"])
def test_a_crawl_goes_on_over_damage_which_is_named_and_gone_after_a_rebuild(
    file: Path, case: tuple[str, set[str]]
) -> None:
    statement, kinds = case
    make(file)
    execute(file, statement)
    with Store.open(url_of(file)) as store:
        assert {*store.admin.check().found} >= kinds
        verdicts = store.check(pages_of("b"))
        assert {verdict.status for verdict in verdicts} <= {"new", "exact", "near"}
        found = [verdict for verdict in verdicts if verdict.status in ("exact", "near")]
        assert len(found) > 2 * PAGES / 3 - 20
        assert len(store.check(pages_of("a"))) == PAGES
        assert len(store.admin.reviews()) == 1
        store.admin.redecide()
        found_after = store.admin.check()
        assert found_after.is_sound, found_after
    verify(file)


@pytest.mark.parametrize("column", ["minima", "text_hash", "url_key"])
def test_a_page_whose_row_cannot_be_read_takes_its_place_when_it_is_crawled_again(
    file: Path, column: str
) -> None:
    make(file)
    execute(file, f"UPDATE pages SET {column} = substr({column}, 1, 5) WHERE id IN (4, 6)")
    with Store.open(url_of(file)) as store:
        assert store.admin.check().found == {"page": 2}
        assert [page.url for page in store.pages(limit=4)] == [
            page.url for page in (*pages_of("a")[:3], pages_of("a")[4])
        ][:3]
        assert store.find("https://a0.example/1") == []
        again = store.check(pages_of("a")[3:6])
        if column != "url_key":  # which nothing finds any more
            assert [one.page_id for one in again] == [4, 5, 6]
            assert store.admin.check().is_sound
            verify(file)
        store.admin.redecide()
        assert store.admin.check().is_sound
        groups = {page.original or page.url for page in store.pages() if page.url.endswith("/1")}
        assert len(groups) == 1
    verify(file)


def test_a_rebuild_leaves_out_what_cannot_be_read(file: Path) -> None:
    with Store.open(url_of(file)) as store:
        store.check(pages_of("a"))
        execute(file, "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id IN (4, 9)")
        execute(file, "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 13")
        assert store.admin.redecide().pages == PAGES - 2
        assert store.admin.check().is_sound
        assert store.find("https://a0.example/1") == []
        assert store.find("https://a2.example/1")[0].original == "https://a1.example/1"
        [without] = store.find(pages_of("a")[12].url)
        assert store.text(without) is None
        [again] = store.check(pages_of("a")[3:4])
        assert again.original == "https://a1.example/1"
    verify(file)


def test_an_export_leaves_out_what_cannot_be_read_and_one_warning_says_so(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make(file)
    execute(file, "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id = 6")
    execute(file, "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id = 7")
    execute(file, "UPDATE runs SET counts = 'no', started = -1000000000000000000")
    other = file.with_stem("other")
    with Session.open(url_of(file)) as session, Session.open(url_of(other)) as into:
        records = export(session)
        restored = restore(into, Header.from_record(next(records)), records)
        assert restored is not None
        assert (restored["page"], restored["run"], restored["review"]) == (PAGES - 1, 0, 1)
        assert session.database.damage.number == 3
    [warning] = [one.getMessage() for one in caplog.records if "cannot be read" in one.getMessage()]
    assert "run 1 cannot be read and is skipped" in warning
    with Store.open(url_of(other)) as store:
        assert store.admin.check().is_sound
        assert store.text(store.find(pages_of("a")[6].url)[0]) is None
    verify(other)


COMMANDS = {
    "check": (("check",), {1}),
    "status": (("status",), {0}),
    "list": (("list",), {0}),
    "list --json": (("list", "--json"), {0}),
    "groups": (("groups",), {0}),
    "show": (("show", "https://a0.example/2", "--text"), {1}),
    "similar": (("similar", "https://a0.example/2"), {0, 1, 2}),
    "similar, all": (("similar", "https://a0.example/3", "--threshold", "0.01"), {0}),
    "similar, distance": (("similar", "https://a0.example/3", "--distance", "9"), {0}),
    "compare": (("compare", "https://a0.example/2", "https://a1.example/2"), {0, 2}),
    "export": (("export",), {2}),
    "rebuild": (("rebuild", "--threshold", "0.8"), {0}),
    "rebuild --decide": (("rebuild", "--decide", "--dry-run"), {0}),
    "forget": (("forget", "https://a1.example/2", "--yes"), {0}),
}


@pytest.mark.parametrize(("arguments", "codes"), COMMANDS.values(), ids=COMMANDS)
@sqlite_only
def test_commands_say_in_a_line_what_is_damaged(
    file: Path, arguments: tuple[str, ...], codes: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(file)
    for statement in (
        "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id = 7",
        "UPDATE texts SET zlib = substr(zlib, 1, 60) WHERE page_id IN (7, 13)",
        "UPDATE pages SET title = x'ff', first_seen = 'now' WHERE id = 9",
        "UPDATE pages SET words = 9, simhash = 'x' WHERE id = 15",
        "UPDATE runs SET counts = '[', started = 'now'",
        "DELETE FROM pages WHERE id = 16",
    ):
        execute(file, statement)
    done = dedup_command(monkeypatch, *arguments, "--store", url_of(file))
    assert done.code in codes, done
    assert "Traceback" not in done.err
    named = ("cannot be read", "left out", "damaged", "is not stored", "nor stored")
    assert all(any(one in line for one in named) for line in done.err.splitlines()), done.err
    if arguments == ("export",):
        assert len(done.out.splitlines()) > PAGES - 4
        assert done.err.count("\n") == 2
        assert "run 1 cannot be read and is skipped" in done.err


def test_a_check_prints_what_it_finds(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(file)
    store = "--store", url_of(file)
    done = dedup_command(monkeypatch, "check", *store)
    assert (done.code, done.out) == (0, f"{PAGES} pages: no damage\n")
    execute(file, "UPDATE pages SET minima = substr(minima, 1, 300) WHERE id = 5")
    done = dedup_command(monkeypatch, "check", *store)
    assert done.code == 1
    assert "page: page 5 (https://a1.example/1)\n" in done.out
    assert "restore a backup, or run `scrapy dedup rebuild --decide`" in done.out
    assert dedup_command(monkeypatch, "rebuild", "--decide", *store).code == 0
    assert dedup_command(monkeypatch, "check", "--json", *store).json()["sound"]
    missing = dedup_command(monkeypatch, "check", "--store", "sqlite:///nowhere/x.db")
    assert missing.code == 2


@sqlite_only
def test_a_store_cut_off_tells_the_way_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (4096, 8704, 9216, 20_000):  # SQLite reads some of the missing values as NULL
        file.unlink(missing_ok=True)
        make(file)
        with Store.open(url_of(file)) as store:
            execute(file, "PRAGMA wal_checkpoint(TRUNCATE)")
            os.truncate(file, size)
            with pytest.raises(StoreError, match=r"damaged|disk I/O error"):
                store.check(pages_of("b"))
        done = dedup_command(monkeypatch, "rebuild", "--decide", "--store", url_of(file))
        assert re.search("restore a backup|disk I/O error", done.refusal())


def test_a_store_whose_scheme_is_damaged_is_refused_in_a_line(file: Path) -> None:
    make(file)
    execute(file, "UPDATE scheme SET parameters = '['")
    with pytest.raises(ShinglingError), Store.open(url_of(file)) as store:
        store.check(pages_of("b"))


SCHEMAS = 12  # each with one byte that is no UTF-8
TORN = [*range(SCHEMAS), b"TABLE \xffull_keys", b"TABLE \x00ull_keys", b"TBALE full_keys"]
DOORS: list[Callable[[Store], object]] = [
    Store.status,
    lambda store: [*store.pages(), *store.groups(), *store.runs()],
    lambda store: store.check(pages_of("b")),
    lambda store: store.admin.check(),
]


@pytest.mark.parametrize("torn", TORN, ids=ascii)
@sqlite_only
def test_a_schema_that_cannot_be_read_is_said_to_be_damaged_by_every_door(
    file: Path, torn: int | bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(file)
    raw = file.read_bytes()
    if isinstance(torn, int):
        places = [found.start() for found in re.finditer(rb"CREATE (?:TABLE|INDEX|UNIQUE)", raw)]
        at = places[torn * len(places) // SCHEMAS] + 16
        raw = raw[:at] + b"\xff" + raw[at + 1 :]
    else:
        assert b"TABLE full_keys" in raw
        raw = raw.replace(b"TABLE full_keys", torn)
    for command in ("status", "list", "check"):
        file.write_bytes(raw)
        done = dedup_command(monkeypatch, command, "--store", url_of(file))
        assert "damaged (malformed" in done.refusal()
    for door in DOORS:
        file.write_bytes(raw)
        with (
            pytest.raises(StoreError, match="restore a backup") as raised,
            Store.open(url_of(file)) as store,
        ):
            door(store)
        assert str(file) in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("column", ["extractors", "b_url", "written"])
@sqlite_only
def test_a_column_of_another_name_is_said_to_be_damaged_with_the_way_out(
    file: Path, column: str
) -> None:
    make(file)
    raw, name = file.read_bytes(), f"\t{column} ".encode()
    assert name in raw
    file.write_bytes(raw.replace(name, f"\t{column[:-1]}_ ".encode()))
    with pytest.raises(StoreError, match="restore a backup"), Store.open(url_of(file)) as store:
        [*export(store._session), store.check(pages_of("b"))]


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
    except StoreError as error:  # without its schema, there is nothing to read it by
        assert "restore a backup" in str(error)  # noqa: PT017 (it may open)
        return
    group_of = {
        page.url: number // 3 for site in ("a", "b") for number, page in enumerate(pages_of(site))
    }
    with store:
        found = store.admin.check()
        try:
            verdicts = store.check(pages_of("b"))
            store.admin.redecide()
        except StoreError:
            assert found.found["database"]
            return
        for page, verdict in zip(pages_of("b"), verdicts, strict=True):
            if verdict.is_duplicate and verdict.original in group_of:
                assert group_of[verdict.original] == group_of[page.url], "dropped for another one"


TABLES = ("pages", "texts", "site_blocks", "recent", "runs", "reviews")
PLACES = [
    (table, column.name)
    for table in TABLES
    for column in metadata.tables[table].columns
    if table == "reviews" or not column.primary_key
]


def flip(raw: object, choice: random.Random) -> object:
    """Another value in the place of one: bytes that are flipped, cut off, or of another type."""
    kind = choice.randrange(4)
    if kind == 0 or raw is None:
        return choice.choice(["x", b"\xff\x00", -1, 1 << 62, 0.5, ""])
    data = bytearray(raw if isinstance(raw, bytes) else str(raw).encode())
    if kind == 1 and data:
        for _ in range(choice.randrange(1, 4)):
            data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    elif data:
        del data[choice.randrange(len(data)) :]
    return bytes(data) if isinstance(raw, bytes) else data.decode(errors="ignore")


@pytest.mark.parametrize("seed", range(12))
def test_random_damage_raises_nothing_but_named_errors(tmp_path: Path, seed: int) -> None:
    choice = random.Random(seed)
    file = tmp_path / "dedup.db"
    make(file)
    with closing(sqlite3.connect(file)) as db, db:
        for _ in range(choice.randrange(1, 12)):
            table, column = choice.choice(PLACES)
            name = "batch" if table == "recent" else "rowid"
            rows = db.execute(f"SELECT {name}, {column} FROM {table}").fetchall()
            if rows:
                place, raw = choice.choice(rows)
                change = f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {name} = ?"
                db.execute(change, (flip(raw, choice), place))
    with Store.open(url_of(file)) as store:
        assert len(store.check(pages_of("b"), dry_run=choice.random() < 0.5)) == PAGES
        assert len(store.check(pages_of("a"), dry_run=choice.random() < 0.5)) == PAGES
        list(store.pages())
        list(store.groups())
        store.runs()
        store.admin.reviews()
        [*export(store._session)]
        store.admin.check()
        store.admin.redecide()
        found = store.admin.check()
        assert {*found.found} <= {"database"}, found
