"""Items of one page, each with a text of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling import Page, Rules, Store
from tests.support.invariants import ending, text, words
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path

LIST = "https://example.org/list"
BASE = words("base")
A = text(BASE)
NEAR = text(ending(BASE, "near", 5))
RULES = Rules(threshold=0.8)


def item(name: str, main_text: str, page: str = LIST) -> Page:
    return Page(f"https://example.org/{name}", main_text, source=page)


def decided(store: Store, *pages: Page) -> list[tuple[str, str | None]]:
    verdicts = store.check(pages, rules=RULES)
    return [(verdict.status, verdict.original) for verdict in verdicts]


def test_items_of_one_page_are_no_duplicates_of_each_other_nor_of_the_page(store: Store) -> None:
    found = decided(store, Page(LIST, A), item("a", A), item("b", A), item("c", NEAR))
    assert found == [("new", None)] * 4


def test_an_item_of_another_page_is_a_duplicate_as_any(store: Store) -> None:
    decided(store, item("a", A), item("b", A))
    found = decided(store, item("c", A, "https://example.org/2"), Page("https://b.example/", NEAR))
    assert found == [("exact", "https://example.org/a"), ("near", "https://example.org/a")]


def test_items_stay_apart_when_their_texts_change_and_when_all_is_decided_again(
    store: Store,
) -> None:
    other = text(words("other"))
    decided(store, item("a", A), item("b", other))
    assert decided(store, item("b", NEAR)) == [("changed", None)]
    store.admin.redecide(rules=RULES)
    assert [page.original for page in store.pages()] == [None, None]


def test_items_stay_apart_when_the_original_of_both_is_forgotten(store: Store) -> None:
    first = "https://example.org/first"
    found = decided(store, Page(first, A), item("a", A), item("b", A), item("c", NEAR))
    assert [original for _, original in found] == [None, first, first, first]
    assert store.admin.forget([first], rules=RULES) == 1
    assert [(page.status, page.original) for page in store.pages()] == [("new", None)] * 3


def test_the_page_that_an_item_was_seen_on_last_counts(store: Store) -> None:
    decided(store, item("a", A, "https://example.org/1"))
    assert decided(store, item("a", A, "https://example.org/2")) == [("unchanged", None)]
    [page] = store.pages()
    assert page.source == "https://example.org/2"
    assert decided(store, item("b", NEAR, "https://example.org/2")) == [("new", None)]


def test_a_dry_run_decides_and_leaves_the_store_as_it_was(store: Store, file: Path) -> None:
    decided(store, Page("https://example.org/1", A))
    tables = ("pages", "texts", "runs", "site_blocks")
    before = [rows_of(file, f"SELECT * FROM {table}") for table in tables]  # noqa: S608 (ours)
    pages = [Page("https://b.example/2", NEAR), Page("https://b.example/3", text(words("new")))]
    for _ in range(2):
        verdicts = store.check(pages, rules=RULES, dry_run=True)
        assert [verdict.status for verdict in verdicts] == ["near", "new"]
    after = [rows_of(file, f"SELECT * FROM {table}") for table in tables]  # noqa: S608 (ours)
    assert after == before
    assert decided(store, *pages) == [("near", "https://example.org/1"), ("new", None)]
