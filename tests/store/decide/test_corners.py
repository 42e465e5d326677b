"""Corners of the store that were once wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Store
from shingling.errors import ShinglingError
from tests.support.invariants import ending, entries_of, jaccard, text, words
from tests.support.stores import both_databases, url_of

if TYPE_CHECKING:
    from pathlib import Path

BASE = words("base")
A, NEAR, OTHER = text(BASE), text(ending(BASE, "near", 5)), text(words("other"))


@pytest.mark.parametrize("how", ["change", "forget"])
def test_a_copy_of_a_near_duplicate_that_has_gone_is_still_found(store: Store, how: str) -> None:
    store.check([Page("a", A), Page("b", NEAR), Page("c", NEAR)])
    if how == "change":
        store.check([Page("b", OTHER)])
    else:
        store.admin.forget(["b"])
    assert store.check([Page("d", NEAR)])[0].status == "exact"


@pytest.mark.parametrize("seed", range(6))
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
    store.admin.forget(["a"])
    assert store.find("b")[0].status == "skipped"


def test_texts_shorter_than_a_shingle_are_not_in_the_index(store: Store, file: Path) -> None:
    store.check([Page(f"u{number}", "Please enable JavaScript") for number in range(50)])
    assert store.status().pages == 50
    assert not entries_of(file, "bands")


@both_databases
@pytest.mark.parametrize("field", ["title", "language", "scope"])
def test_a_lone_surrogate_does_not_fail_the_batch(store: Store, field: str) -> None:
    page = {"title": Page("a", A, title="a\ud800b"), "language": Page("a", A, language="a\ud800b"),
            "scope": Page("a", A, scope="a\ud800b")}[field]  # fmt: skip
    assert store.check([page])[0].status == "new"


@pytest.mark.parametrize("value", [0.0, -1.0, 1.5, float("nan")])
def test_a_threshold_that_is_none_is_refused(store: Store, file: Path, value: float) -> None:
    with pytest.raises(ShinglingError, match="is not accepted"):
        store.admin.rebuild(value)
    with pytest.raises(ShinglingError, match="is not accepted"):
        Store.open(url_of(file.with_stem("other")), threshold=value)


def test_all_that_is_said_of_a_page_counts_whichever_page_it_was_met_by(store: Store) -> None:
    store.check([Page("b", A), Page("c", A), Page("a", A), Page("d", OTHER)])
    store.admin.review("d", "c", same=False)
    store.admin.review("d", "a", same=True)
    # d cannot come to c's group, so a leaves that and comes to d, or the other way round.
    assert {page.url: page.original for page in store.pages()} == {
        "b": None,
        "c": "b",
        "a": "d",
        "d": None,
    }


def test_a_page_follows_one_said_to_be_the_same_when_its_original_is_forgotten(
    store: Store,
) -> None:
    third = text(words("third"))
    store.check([Page("a", A), Page("b", OTHER), Page("c", third)])
    store.admin.review("c", "b", same=True)
    store.admin.review("c", "a", same=True)
    assert store.find("c")[0].original == "a"
    store.admin.forget(["a"])
    assert store.find("c")[0].original == "b"
