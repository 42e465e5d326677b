"""What is called with something else gets what was meant, or one line that says what is."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from shingling import Page, Store, compare, extract, shingles, sign
from shingling.errors import ArgumentError, ShinglingError, StoreError
from tests.support.invariants import text, words

if TYPE_CHECKING:
    from collections.abc import Callable

TEXT = text(words("base"))


def test_a_store_is_opened_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a?b #.db").touch()
    for place in ("s.db", Path("s.db"), tmp_path / "s.db", "sqlite:///s.db"):
        with Store.open(place) as store:
            store.check_one("https://a.example/", TEXT)
    with Store.open("s.db", create=False) as store:
        assert store.status().pages == 1
    with Store.open("a?b #.db") as store:
        assert not store.status().pages
    for place in ("", "."):
        with pytest.raises(StoreError, match="a directory, not a SQLite database"):
            Store.open(place)


def test_a_store_that_is_made_is_said_and_a_mistyped_argument_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for _ in range(2):
        Store.open(tmp_path / "new.db").close()
    assert [one.message for one in caplog.records if "new one is made" in one.message] == [
        f"sqlite:///{tmp_path / 'new.db'}: there is no store yet, a new one is made"
    ]
    with pytest.raises(ArgumentError, match=r"^thresold is no argument of Store\.open.*threshold,"):
        Store.open(tmp_path / "other.db", thresold=0.8)  # type: ignore[call-arg]
    assert not (tmp_path / "other.db").exists()


def test_text_signature_and_duplicates_are_those_of_a_page_or_its_url(store: Store) -> None:
    store.check([Page("https://a.example/1", "the same words " * 30, title="A")])
    store.check([Page("https://a.example/2", "the same words " * 30, title="A")])
    (page,) = store.find("https://a.example/1")
    for ask in (store.text, store.signature, store.duplicates):
        assert ask(page) == ask("https://a.example/1") == ask("a.example/1/")
        with pytest.raises(StoreError, match=r"^https://a.example/3 is not stored$"):
            ask("https://a.example/3")
    assert [one.url for one in store.duplicates(page)] == ["https://a.example/2"]


def test_one_page_and_any_iterable_of_pages_are_a_batch(store: Store) -> None:
    assert [one.status for one in store.check(Page("a", TEXT))] == ["new"]
    assert [one.status for one in store.check(Page(url, TEXT) for url in "bc")] == ["exact"] * 2


CASES: dict[str, tuple[Callable[[Store], Any], str]] = {
    "a dict": (
        lambda store: store.check([{"url": "a", "text": TEXT}]),  # type: ignore[list-item]
        "page must be Page, not dict: Page(url, text) makes one",
    ),
    "no batch": (
        lambda store: store.check(None),  # type: ignore[arg-type]
        "batch must be Page or Iterable, not NoneType",
    ),
    "a number as URL": (
        lambda store: store.check_one(1, TEXT),  # type: ignore[arg-type]
        "url must be str, not int",
    ),
    "a number that is looked for": (
        lambda store: store.find(1),  # type: ignore[arg-type]
        "url must be str, not int",
    ),
    "bytes as text": (
        lambda store: store.check_one("a", TEXT.encode()),  # type: ignore[arg-type]
        "text must be str or NoneType, not bytes",
    ),
    "a title that is none": (
        lambda store: store.check([Page("a", TEXT, title=5)]),  # type: ignore[arg-type]
        "title must be str or NoneType, not int",
    ),
    "a time that is no number": (
        lambda store: store.check([Page("a", TEXT, fetched=datetime.now(UTC))]),  # type: ignore[arg-type]
        "fetched must be float or int or NoneType, not datetime",
    ),
    "a text in place of a signature": (
        lambda store: store.similar(TEXT),  # type: ignore[arg-type]
        "signature must be Signature, not str: sign(text, store.scheme) makes one",
    ),
    "a threshold in percent": (
        lambda store: store.similar(sign(TEXT), 80),
        "threshold 80 is not accepted: 0 to 1",
    ),
    "a page without text": (
        lambda store: store.similar(sign(extract("<p>"))),  # type: ignore[arg-type]
        "text must be str, not NoneType: of a page, `extract` gives it, or None",
    ),
    "bytes to compare": (
        lambda _: compare(b"a", "a"),  # type: ignore[arg-type]
        "a must be str, not bytes",
    ),
    "no text to cut": (
        lambda _: shingles(None),  # type: ignore[arg-type]
        "text must be Sequence, not NoneType",
    ),
    "a path to extract from": (
        lambda _: extract(Path("page.html")),  # type: ignore[arg-type]
        "html must be bytes or str, not PosixPath",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_argument_of_another_type_is_named(store: Store, case: str) -> None:
    action, message = CASES[case]
    with pytest.raises(ArgumentError) as caught:
        action(store)
    assert str(caught.value).replace("WindowsPath", "PosixPath") == message
    assert isinstance(caught.value, ShinglingError)
    assert not store.status().pages


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///{folder}/s.db"])
def test_a_closed_store_says_so(tmp_path: Path, url: str) -> None:
    store = Store.open(url.format(folder=tmp_path))
    store.check_one("a", TEXT)
    store.close()
    store.close()
    for action in (
        lambda: store.check_one("b", TEXT),
        lambda: store.find("a"),
        store.status,
        lambda: [*store.pages()],
    ):
        with pytest.raises(StoreError, match="the store is closed"):
            action()
