"""Steps 1 to 3: no text or a short one, a known URL, the same text; and what a person says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling import Page, Rules, Store, sign
from shingling.similarity import estimate
from tests.store.decide.steps.pages import BASE, OTHER, A, one
from tests.support.invariants import ending, jaccard, text, words
from tests.support.stores import both_databases, rows_of

if TYPE_CHECKING:
    from pathlib import Path


# Nothing to compare


@pytest.mark.parametrize("main_text", [None, "", "  \n", "?! … — \u200b"])
def test_a_page_without_words_is_skipped_and_not_stored(
    store: Store, main_text: str | None
) -> None:
    verdict = one(store, "a", main_text)
    assert (verdict.status, verdict.reason) == ("skipped", "no_main_text")
    assert (verdict.page_id, verdict.original, verdict.resemblance) == (None, None, None)
    assert list(store.pages()) == []


def test_the_reason_why_there_is_no_text_is_repeated(store: Store) -> None:
    [verdict] = store.check([Page("a", None, reason="not_html")])
    assert (verdict.status, verdict.reason) == ("skipped", "not_html")


def test_a_known_page_fetched_without_text_stays_as_it_was(store: Store) -> None:
    one(store, "a", A)
    before = list(store.pages())
    assert one(store, "a", None).status == "skipped"
    assert list(store.pages()) == before
    assert one(store, "a", A).status == "unchanged"


@pytest.mark.parametrize("count", [1, 4, 5, 19])
def test_a_short_text_is_skipped_and_stored(store: Store, count: int) -> None:
    verdict = one(store, "a", text(BASE[:count]))
    assert (verdict.status, verdict.reason, verdict.original) == ("skipped", "short", None)
    [page] = store.find("a")
    assert (page.id, page.status, page.words) == (verdict.page_id, "skipped", count)


def test_the_least_length_is_a_rule(store: Store) -> None:
    assert one(store, "a", A, Rules(min_words=101)).reason == "short"
    assert one(store, "b", OTHER, Rules(min_words=100)).status == "new"


# The URL is known


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


# Another page has the same text


def test_a_page_with_the_same_words_and_other_symbols_is_near_at_most(store: Store) -> None:
    pages = [Page("equal", f"operator == {A}"), Page("unequal", f"operator != {A}")]
    equal, unequal = store.check(pages)
    assert (unequal.status, unequal.original) == ("near", equal.original or "equal")
    assert (unequal.resemblance, unequal.containment) == (1.0, 1.0)
    other = one(store, "unequal 2", f"Operator !=\n{A}")
    assert (other.status, other.original) == ("exact", "equal")
    by_text = Rules(method="exact")
    [alone] = store.check([Page("less", f"operator <= {A}")], rules=by_text)
    assert (alone.status, alone.original) == ("new", None)


def test_a_page_whose_symbols_change_has_changed(store: Store) -> None:
    one(store, "a", f"operator == {A}")
    again = one(store, "a", f"operator != {A}")
    assert (again.status, again.previous) == ("changed", 1.0)
    assert store.text(store.find("a")[0]) == f"operator != {A}"


def test_short_texts_with_other_symbols_are_no_duplicates(store: Store) -> None:
    texts = [f"{said} mean in C then" for said in ("what does ==", "what does !=", "What does ==")]
    pages = [Page(f"{number}", short, title="C") for number, short in enumerate(texts)]
    statuses = [verdict.status for verdict in store.check(pages)]
    assert statuses == ["skipped", "skipped", "exact"]


# Many pages, and reviews


@both_databases
def test_a_batch_of_three_thousand_pages_is_decided(store: Store) -> None:
    signature, random_ = sign(A), np.random.default_rng(1)
    pages = [
        Page(
            f"https://example.org/{at}",
            signature=replace(
                signature,
                minima=random_.integers(0, 1 << 32, 84, dtype=np.uint32),
                text_hash=random_.bytes(16),
            ),
        )
        for at in range(3000)
    ]
    assert {verdict.status for verdict in store.check(pages)} == {"new"}
    assert {verdict.status for verdict in store.check(pages)} == {"unchanged"}
    assert store.status().originals == 3000


def test_a_short_page_that_is_promoted_stands_as_skipped(store: Store) -> None:
    short = text(BASE[:10])
    store.check([Page("a", short), Page("b", short)])
    store.admin.forget(["a"])
    assert store.find("b")[0].status == "skipped"


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
