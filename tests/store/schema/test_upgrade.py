"""Stores of earlier releases, brought up to date with all that they hold, on both databases."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from sqlalchemy import Connection, MetaData, create_engine, insert, select

from shingling import Page, Rules, Scheme, Store
from shingling.sketch import Banding
from shingling.store.admin.queries import pages_by_body
from shingling.store.schema.migrate import HEAD, alembic_config
from shingling.text import Canonicaliser
from tests.support.invariants import entries_of, text, verify
from tests.support.stores import execute, is_postgres, rows_of, url_of

FIXTURES = Path(__file__).with_name("fixtures")
_PAGES = "SELECT id, url, title, words, text_hash, minima, simhash, status, original_id FROM pages"


def restored(revision: str, file: Path, fixture: str | None = None) -> Path:
    """Return a store as an earlier release wrote it."""
    dump = file.with_name("dump.db") if is_postgres(file) else file
    with closing(sqlite3.connect(dump)) as db:
        name = f"{fixture or f'r{revision}'}.sql"
        db.executescript((FIXTURES / name).read_text(encoding="utf-8"))
        db.execute("PRAGMA journal_mode = WAL")  # as that of every store
    if is_postgres(file):
        source, target = create_engine(f"sqlite:///{dump}"), create_engine(url_of(file))
        with source.connect() as old, target.begin() as new:
            command.upgrade(alembic_config(new), revision)
            copy(old, new)
        source.dispose()
        target.dispose()
    assert rows_of(file, "SELECT version_num FROM alembic_version") == [(revision,)]
    return file


def copy(old: Connection, new: Connection) -> None:
    """Copy the rows of a store from SQLite to the tables of its revision on PostgreSQL.

    There keys are never on their way: what SQLite holds of them in `recent` goes where it belongs.
    """
    there, here = MetaData(), MetaData()
    there.reflect(old)
    here.reflect(new)
    for table in here.sorted_tables:
        rows = [dict(row) for row in old.execute(select(there.tables[table.name])).mappings()]
        if table.name == "alembic_version" or not rows:
            continue
        if table.name == "recent":
            for row in rows:
                entries = np.frombuffer(row["entries"], "<i8").reshape(-1, 2).tolist()
                keys = [{"key": key, "page_id": page_id} for key, page_id in entries]
                new.execute(insert(here.tables[row["owner"]]), keys)
        elif table.name != "logs":
            new.execute(insert(table), rows)
    for name in {"pages", "runs", "site_blocks"} & set(here.tables):
        last = f"pg_get_serial_sequence('{name}', 'id'), (SELECT max(id) FROM {name})"  # noqa: S608
        new.exec_driver_sql(f"SELECT setval({last})")


@pytest.fixture
def old(file: Path) -> Path:
    """Return a store as revision 0001 wrote it."""
    return restored("0001", file)


def test_a_store_of_revision_0001_keeps_all_that_it_holds(old: Path) -> None:
    before = rows_of(old, _PAGES), rows_of(old, "SELECT * FROM bands ORDER BY key")
    with Store.open(url_of(old)) as store:
        assert store.scheme == Scheme()
        assert store._session.index.keys_of == Banding(14, 6)
        assert not store._session.index.sampled
        assert [page.status for page in store.pages()] == ["new", "near", "exact", "new", "skipped"]
        assert store.runs()[0].counts == {"new": 2, "near": 1, "exact": 1, "skipped": 1}
        [verdict] = store.check(
            [Page("https://example.org/copy", text(words_of("b")))], threshold=0.8
        )
        assert (verdict.status, verdict.original) == ("exact", "https://example.org/b")
        assert store.admin.forget(["https://example.org/copy"]) == 1
    assert (rows_of(old, _PAGES), rows_of(old, "SELECT * FROM bands ORDER BY key")) == before
    verify(old)


def test_a_store_of_revision_0002_keeps_all_that_it_holds(file: Path) -> None:
    old = restored("0002", file)
    entries = [entries_of_table(old, table) for table in ("bands", "samples")]
    before = rows_of(old, _PAGES)
    assert [row[7] for row in before] == ["new", "near", "exact", "new", "near", "skipped"]
    rules = Rules(threshold=0.8, containment=0.9)
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert store._session.index.sampled
        assert rows_of(old, _PAGES) == before
        [verdict] = store.check(
            [Page("https://example.org/piece 2", text(words_of("b")[10:55]))], rules=rules
        )
        assert (verdict.status, verdict.reason) == ("near", "piece")
        assert store.admin.forget(["https://example.org/piece 2"], rules=rules) == 1
        assert store.runs()[0].counts == {"new": 2, "near": 2, "exact": 1, "skipped": 1}
    assert [entries_of(old, table) for table in ("bands", "samples")] == entries
    verify(old)


def test_a_store_of_revision_0003_keeps_all_that_it_holds_and_learns_templates(
    file: Path,
) -> None:
    old = restored("0003", file)
    before = rows_of(old, _PAGES)
    footer = " ".join(words_of("footer")[:40])
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert rows_of(old, _PAGES) == before
        assert [word.same for word in store.admin.reviews()] == [False]
        pages = [
            Page(
                f"https://example.org/{name}", f"{text(words_of(name)[:30])}\n{footer}", title=name
            )
            for name in ("third", "fourth")
        ]
        verdicts = store.check(pages, threshold=0.8)
        assert [verdict.status for verdict in verdicts] == ["new", "new"]
        assert verdicts[0].template == 0.0
        assert verdicts[1].template == pytest.approx(0.57, abs=0.03)
    verify(old)


def test_a_store_of_revision_0004_keeps_all_that_it_holds_and_learns_bodies(
    file: Path,
) -> None:
    old = restored("0004", file)
    kept = [_PAGES, "SELECT * FROM site_blocks", "SELECT page_id, zlib FROM texts ORDER BY page_id"]
    before = [rows_of(old, query) for query in kept]
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert [rows_of(old, query) for query in kept] == before
        assert pages_by_body(store._session, [b"k" * 16]) == {}
        same = Page(
            "https://example.org/a",
            text(words_of("a")),
            title="A",
            language="en",
            body_key=b"k" * 16,
        )
        assert [verdict.status for verdict in store.check([same], threshold=0.8)] == ["unchanged"]
        [(key, page)] = pages_by_body(store._session, [b"k" * 16, b"x" * 16]).items()
        assert (key, page.url, page.main_text) == (b"k" * 16, same.url, same.main_text)
        assert page.signature == store.signature(store.find(same.url)[0])
    verify(old)


def entries_of_table(file: Path, table: str) -> Counter[tuple[int, int]]:
    return Counter(rows_of(file, f"SELECT key, page_id FROM {table}"))  # noqa: S608 (our own tables)


def test_an_old_store_can_be_rebuilt_for_every_method(old: Path) -> None:
    with Store.open(url_of(old)) as store:
        for rules in (Rules(method="simhash", containment=0.9), Rules(method="megashingle")):
            store.admin.rebuild(rules=rules)
            verify(old)
            [verdict] = store.check(
                [Page("https://example.org/a", text(words_of("a")))], rules=rules
            )
            assert verdict.status == "unchanged"


def words_of(seed: str) -> list[str]:
    """Return the words that the fixture was made of."""
    return [f"w{number}" for number in random.Random(seed).sample(range(10**6), 60)]


def test_another_version_of_a_language_pack_is_warned_of(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("simplemma")
    scheme = Scheme(canonical=Canonicaliser(language="en", lemmas="simplemma"))
    Store.open(url_of(file), scheme=scheme).close()
    Store.open(url_of(file), scheme=scheme).close()
    assert caplog.messages == []
    execute(file, """UPDATE scheme SET packs = '{"simplemma": "0.1"}'""")
    Store.open(url_of(file), scheme=scheme).close()
    [message] = caplog.messages
    assert "made with simplemma 0.1, installed is" in message


@pytest.mark.parametrize(("noted", "known"), [("{}", ()), ('{"extractor": "mine"}', ("mine",))])
def test_the_last_crawl_of_an_old_store_says_what_extracted_its_texts(
    file: Path, noted: str, known: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    restored("0005", file)
    execute(file, f"UPDATE runs SET settings = '{noted}'")  # noqa: S608
    with Store.open(url_of(file)) as store:
        assert store.status().extractors == known
        store._session.compare_by("mine")
        assert store.status().extractors == ("mine",)
    assert "texts were extracted by" not in caplog.text


def test_another_extractor_is_noted_and_warned_of_once(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Store.open(url_of(file)) as store:
        for name in ("first", "first", "second", "second"):
            store._session.compare_by(name)
        [message] = caplog.messages
        assert "extracted by first, those of this crawl are by second" in message
        assert store.status().extractors == ("first", "second")
        store._session.compare_by("first", dry_run=True)
        assert store.status().extractors == ("first", "second")
        store._session.compare_by("first")
        assert store.status().extractors == ("second", "first")
