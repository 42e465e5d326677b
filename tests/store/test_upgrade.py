"""Stores of earlier releases, brought up to date with all that they hold."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from shingling import Page, Rules, Scheme, Store
from shingling.sketch import Banding
from shingling.store._migrate import HEAD
from shingling.text import Canonicaliser

from .databases import execute
from .invariants import entries_of, rows_of, text, url_of, verify

FIXTURES = Path(__file__).with_name("fixtures")
_PAGES = "SELECT id, url, title, words, text_hash, minima, simhash, status, original_id FROM pages"


def restored(name: str, tmp_path: Path) -> Path:
    """Return a store as an earlier release wrote it, in WAL mode as all are."""
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript((FIXTURES / name).read_text(encoding="utf-8"))
        db.execute("PRAGMA journal_mode = WAL")
    return file


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a store as revision 0001 wrote it."""
    return restored("r0001.sql", tmp_path)


def test_a_store_of_revision_0001_keeps_all_that_it_holds(old: Path) -> None:
    before = rows_of(old, _PAGES), rows_of(old, "SELECT * FROM bands ORDER BY key")
    with Store.open(url_of(old)) as store:
        assert store.scheme == Scheme()
        assert store.index.keys_of == Banding(14, 6)
        assert not store.index.sampled
        assert [page.status for page in store.pages()] == ["new", "near", "exact", "new", "skipped"]
        assert store.runs()[0]["counts"] == {"new": 2, "near": 1, "exact": 1, "skipped": 1}
        [verdict] = store.check(
            [Page("https://example.org/copy", text(words_of("b")))], threshold=0.8
        )
        assert (verdict.status, verdict.original) == ("exact", "https://example.org/b")
        assert store.forget(["https://example.org/copy"]) == 1
    assert (rows_of(old, _PAGES), rows_of(old, "SELECT * FROM bands ORDER BY key")) == before
    verify(old)


def test_a_store_of_revision_0002_keeps_all_that_it_holds(tmp_path: Path) -> None:
    old = restored("r0002.sql", tmp_path)
    assert rows_of(old, "SELECT version_num FROM alembic_version") == [("0002",)]
    entries = [entries_of_table(old, table) for table in ("bands", "samples")]
    before = rows_of(old, _PAGES)
    assert [row[7] for row in before] == ["new", "near", "exact", "new", "near", "skipped"]
    rules = Rules(threshold=0.8, containment=0.9)
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert store.index.sampled
        assert rows_of(old, _PAGES) == before
        [verdict] = store.check(
            [Page("https://example.org/piece 2", text(words_of("b")[10:55]))], rules=rules
        )
        assert (verdict.status, verdict.reason) == ("near", "piece")
        assert store.forget(["https://example.org/piece 2"], rules=rules) == 1
        assert store.runs()[0]["counts"] == {"new": 2, "near": 2, "exact": 1, "skipped": 1}
    assert [entries_of(old, table) for table in ("bands", "samples")] == entries
    verify(old)


def test_a_store_of_revision_0003_keeps_all_that_it_holds_and_learns_templates(
    tmp_path: Path,
) -> None:
    old = restored("r0003.sql", tmp_path)
    assert rows_of(old, "SELECT version_num FROM alembic_version") == [("0003",)]
    before = rows_of(old, _PAGES)
    footer = " ".join(words_of("footer")[:40])
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert rows_of(old, _PAGES) == before
        assert [word.same for word in store.reviews()] == [False]
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
    tmp_path: Path,
) -> None:
    old = restored("r0004.sql", tmp_path)
    assert rows_of(old, "SELECT version_num FROM alembic_version") == [("0004",)]
    kept = [_PAGES, "SELECT * FROM site_blocks", "SELECT page_id, zlib FROM texts ORDER BY page_id"]
    before = [rows_of(old, query) for query in kept]
    with Store.open(url_of(old)) as store:
        assert rows_of(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
        assert [rows_of(old, query) for query in kept] == before
        assert store.by_body([b"k" * 16]) == {}
        same = Page(
            "https://example.org/a",
            text(words_of("a")),
            title="A",
            language="en",
            body_key=b"k" * 16,
        )
        assert [verdict.status for verdict in store.check([same], threshold=0.8)] == ["unchanged"]
        [(key, page)] = store.by_body([b"k" * 16, b"x" * 16]).items()
        assert (key, page.url, page.text) == (b"k" * 16, same.url, same.text)
        assert page.signature == store.signature(store.find(same.url)[0])
    verify(old)


def entries_of_table(file: Path, table: str) -> Counter[tuple[int, int]]:
    return Counter(rows_of(file, f"SELECT key, page_id FROM {table}"))  # noqa: S608 (our own tables)


def test_an_old_store_can_be_rebuilt_for_every_method(old: Path) -> None:
    with Store.open(url_of(old)) as store:
        for rules in (Rules(method="simhash", containment=0.9), Rules(method="megashingle")):
            store.rebuild(rules=rules)
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
