"""Step 2: the URL is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, sign
from shingling.similarity import estimate
from tests.store.decide.steps.pages import BASE, OTHER, A, one, standing
from tests.support.invariants import beginning, containment, ending, jaccard, text
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path


def test_seeing_a_page_again_moves_last_seen_forward_only(store: Store) -> None:
    for fetched in (1000, 3000, 2000):
        store.check([Page("a", A, fetched=fetched)])
    [page] = store.pages()
    assert page.first_seen.timestamp() == 1000
    assert page.last_seen.timestamp() == 3000


def test_a_changed_page_says_how_alike_it_is_to_what_it_was(store: Store) -> None:
    first = one(store, "a", A)
    now = text(ending(BASE, "now", 40))
    [verdict] = store.check([Page("a", now, title="New", language="en")])
    assert (verdict.status, verdict.page_id) == ("changed", first.page_id)
    assert verdict.previous == verdict.resemblance == jaccard(A, now)
    assert verdict.original is None
    [page] = store.pages()
    assert (page.title, page.language, page.words) == ("New", "en", 100)
    assert store.text(page) == now
    assert store.signature(page) == sign(now)


def test_a_changed_page_without_stored_text_is_compared_by_its_minima(store: Store) -> None:
    rules = Rules(threshold=0.8, store_text=False)
    now = text(ending(BASE, "now", 40))
    one(store, "a", A, rules)
    verdict = one(store, "a", now, rules)
    assert verdict.status == "changed"
    assert verdict.previous == estimate(sign(A), sign(now))
    assert store.text(store.find("a")[0]) is None


def test_texts_that_are_no_longer_to_be_kept_are_dropped_when_the_page_changes(
    store: Store, file: Path
) -> None:
    one(store, "a", A)
    one(store, "a", OTHER, Rules(threshold=0.8, store_text=False))
    assert rows_of(file, "SELECT count(*) FROM texts") == [(0,)]


@pytest.fixture
def group(store: Store) -> dict[str, str]:
    """An original with four duplicates; `far` is like the original only."""
    near = ending(BASE, "near", 8)
    texts = {
        "original": A,
        "near": text(near),
        "copy": text(near),
        "far": text(beginning(BASE, "far", 8)),
        "nearer": text(ending(near, "nearer", 1)),
    }
    assert jaccard(texts["near"], texts["far"]) < 0.8
    assert jaccard(texts["near"], texts["nearer"]) > 0.9
    verdicts = store.check([Page(url, main_text) for url, main_text in texts.items()])
    assert [verdict.original for verdict in verdicts] == [None] + ["original"] * 4
    return texts


def test_when_an_original_changes_its_oldest_duplicate_takes_its_place(
    store: Store, group: dict[str, str]
) -> None:
    assert one(store, "original", OTHER).status == "changed"
    assert standing(store) == {
        "original": ("new", None),
        "near": ("new", None),
        "copy": ("exact", "near"),
        "far": ("new", None),
        "nearer": ("near", "near"),
    }
    [page] = store.find("nearer")
    assert page.resemblance == jaccard(group["near"], group["nearer"])
    assert page.containment == containment(group["near"], group["nearer"])


@pytest.mark.parametrize("reviewed", [False, True])
def test_of_two_pages_that_change_alike_one_after_the_other_one_comes_out(
    store: Store, reviewed: bool
) -> None:
    for url in ("a", "b"):
        one(store, url, A)
    if reviewed:
        store.admin.review("a", "b", same=True)
    now = A
    for day in range(3):
        now = text(ending(now.split(), f"day {day}", 4))
        texts = (now, OTHER if reviewed and day == 1 else now)
        verdicts = [one(store, url, given) for url, given in zip(("a", "b"), texts, strict=True)]
        assert (verdicts[0].status, verdicts[0].original) == ("changed", None)
        assert verdicts[1].original == "a"
