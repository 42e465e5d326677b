"""Step 2: the URL is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Store, sign
from shingling.similarity import estimate
from tests.store.decide.steps.pages import BASE, NEAR, OTHER, A, one, standing
from tests.support.invariants import beginning, containment, ending, jaccard, text, words
from tests.support.stores import rows_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_same_text_again_is_unchanged(store: Store) -> None:
    first = one(store, "a", A)
    again = one(store, "a", A.replace(" ", "\u00ad\n ").upper())
    assert (again.status, again.page_id) == ("unchanged", first.page_id)
    assert (again.original, again.resemblance, again.previous) == (None, None, None)
    [page] = store.pages()
    assert (page.status, page.last_verdict) == ("new", "unchanged")


def test_an_unchanged_duplicate_names_its_original_again(store: Store) -> None:
    first = store.check([Page("a", A), Page("b", NEAR)])[1]
    again = one(store, "b", NEAR)
    assert (again.status, again.original) == ("unchanged", "a")
    assert (again.resemblance, again.containment) == (first.resemblance, first.containment)


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


def test_a_page_changed_twice_in_a_batch_is_compared_with_the_last_text(store: Store) -> None:
    middle, last = text(ending(BASE, 1, 30)), text(ending(BASE, 2, 60))
    verdicts = store.check([Page("a", A), Page("a", middle), Page("a", last)])
    assert [verdict.status for verdict in verdicts] == ["new", "changed", "changed"]
    assert [verdict.previous for verdict in verdicts] == [
        None,
        jaccard(A, middle),
        jaccard(middle, last),
    ]
    [page] = store.pages()
    assert store.text(page) == last


def test_a_page_is_found_under_its_new_text_and_no_longer_under_the_old(store: Store) -> None:
    one(store, "a", A)
    one(store, "a", OTHER)
    assert one(store, "b", NEAR).status == "new"
    assert one(store, "c", text(ending(words("other"), "x", 4))).original == "a"


def test_a_duplicate_that_changes_leaves_its_group(store: Store) -> None:
    store.check([Page("a", A), Page("b", NEAR)])
    verdict = one(store, "b", OTHER)
    assert (verdict.status, verdict.previous) == ("changed", 0.0)
    assert standing(store) == {"a": ("new", None), "b": ("new", None)}


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


def test_the_promoted_duplicate_is_found_by_the_next_page(
    store: Store, group: dict[str, str]
) -> None:
    one(store, "original", OTHER)
    verdict = one(store, "next", text(ending(group["near"].split(), "next", 2)))
    assert (verdict.status, verdict.original) == ("near", "near")
    assert one(store, "next far", group["far"]).original == "far"


def test_a_changed_original_is_not_dropped_for_the_sake_of_its_own_duplicate(
    store: Store, group: dict[str, str]
) -> None:
    now = text(ending(group["near"].split(), "now", 3))
    verdict = one(store, "original", now)
    assert (verdict.status, verdict.original) == ("changed", None)
    assert verdict.previous == jaccard(now, A)
    assert standing(store)["near"] == ("near", "original")


def test_a_changed_original_with_the_text_of_its_own_duplicate_leads_it(
    store: Store, group: dict[str, str]
) -> None:
    verdict = one(store, "original", group["far"])
    assert (verdict.status, verdict.original) == ("changed", None)
    assert verdict.previous == jaccard(A, group["far"])
    assert standing(store)["far"] == ("exact", "original")
    assert standing(store)["near"] == ("new", None)


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


def test_a_changed_original_that_is_short_now_still_gives_up_its_group(
    store: Store, group: dict[str, str]
) -> None:
    verdict = one(store, "original", "three short words")
    assert (verdict.status, verdict.reason, verdict.previous) == ("skipped", "short", 0.0)
    assert standing(store)["copy"] == ("exact", "near")


def test_promotion_within_one_batch_is_that_of_two(store: Store, group: dict[str, str]) -> None:
    verdicts = store.check([Page("original", OTHER), Page("next", group["near"])])
    assert (verdicts[1].status, verdicts[1].original) == ("exact", "near")
