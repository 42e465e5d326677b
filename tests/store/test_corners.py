"""Corners of the store that were once wrong."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store
from shingling.errors import ShinglingError, StoreError
from tests.store.invariants import ending, jaccard, rows_of, text, url_of, verify, words

if TYPE_CHECKING:
    from collections.abc import Iterator

BASE = words("base")
A, NEAR, OTHER = text(BASE), text(ending(BASE, "near", 5)), text(words("other"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(url_of(tmp_path / "dedup.db")) as made:
        yield made
    verify(tmp_path / "dedup.db")


@pytest.mark.parametrize("how", ["change", "forget"])
def test_a_copy_of_a_near_duplicate_that_has_gone_is_still_found(store: Store, how: str) -> None:
    store.check([Page("a", A), Page("b", NEAR), Page("c", NEAR)])
    if how == "change":
        store.check([Page("b", OTHER)])
    else:
        store.forget(["b"])
    assert store.check([Page("d", NEAR)])[0].status == "exact"


@pytest.mark.parametrize("seed", range(12))
def test_of_originals_that_are_equally_alike_the_oldest_wins(store: Store, seed: int) -> None:
    page = words(seed)
    old = [*page[:20], "x", *page[21:40], "y", *page[41:]]
    young = [*page[:60], "x", *page[61:80], "y", *page[81:]]
    assert jaccard(text(old), text(page)) == jaccard(text(young), text(page))
    verdicts = store.check(
        [Page("old", text(old)), Page("young", text(young)), Page("page", text(page))]
    )
    assert (verdicts[2].status, verdicts[2].original) == ("near", "old")


def test_a_short_page_that_is_promoted_stands_as_skipped(store: Store) -> None:
    short = text(BASE[:10])
    store.check([Page("a", short), Page("b", short)])
    store.forget(["a"])
    assert store.find("b")[0].status == "skipped"


def test_texts_shorter_than_a_shingle_are_not_in_the_index(store: Store) -> None:
    store.check([Page(f"u{number}", "Please enable JavaScript") for number in range(50)])
    assert store.status()["pages"] == 50
    path = Path(store.url.removeprefix("sqlite:///"))
    assert rows_of(path, "SELECT count(*) FROM bands") == [(0,)]


@pytest.mark.parametrize("field", ["title", "language", "scope"])
def test_a_lone_surrogate_does_not_fail_the_batch(store: Store, field: str) -> None:
    page = {"title": Page("a", A, title="a\ud800b"), "language": Page("a", A, language="a\ud800b"),
            "scope": Page("a", A, scope="a\ud800b")}[field]  # fmt: skip
    assert store.check([page])[0].status == "new"


@pytest.mark.parametrize("value", [0.0, -1.0, 1.5, float("nan")])
def test_a_threshold_that_is_none_is_refused(store: Store, tmp_path: Path, value: float) -> None:
    with pytest.raises(ShinglingError, match="is not accepted"):
        store.rebuild(value)
    with pytest.raises(ShinglingError, match="is not accepted"):
        Store.open(url_of(tmp_path / "other.db"), threshold=value)


def test_a_method_that_is_not_known_is_refused() -> None:
    with pytest.raises(ShinglingError, match="'minhsh' is not known: minhash or"):
        Rules(method="minhsh")


@pytest.mark.parametrize(
    "url",
    ["sqlite+aiosqlite:///x.db", "sqlite:///a\0b.db", "sqlite:///x.db?timeout=abc"],
)
def test_odd_database_urls_get_a_named_error(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="not supported"):
        Store.open(url)
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_something_else_is_left_alone_also_by_a_file_url(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE cookies (x)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not supported"):
        Store.open(f"sqlite:///file:{path}?uri=true")
    assert path.read_bytes() == before


def test_the_size_is_known_after_a_change_of_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open("sqlite:///here.db") as store:
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        assert store.status()["bytes"] > 0


def test_a_page_is_the_same_with_and_without_credentials(store: Store) -> None:
    verdicts = store.check([Page("http://u:p@h/?", A), Page("http://h/?", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "unchanged"]
    store.check([Page("http://u:pa/ss@h/x", OTHER), Page("u:p@h/y", OTHER)])
    assert [page.url for page in store.pages()] == ["http://h/?", "http://h/x", "h/y"]
