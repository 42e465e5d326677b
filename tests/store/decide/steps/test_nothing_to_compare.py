"""Step 1: pages without a text, or with a short one."""

from __future__ import annotations

import pytest

from shingling import Page, Rules, Store
from tests.store.decide.steps.pages import BASE, OTHER, A, one
from tests.support.invariants import text


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


@pytest.mark.parametrize("count", [5, 6, 19])
def test_an_exact_duplicate_of_a_short_text_with_its_title_is_found(
    store: Store, count: int
) -> None:
    short = text(BASE[:count])
    _, verdict = store.check([Page("a", short, title="One"), Page("b", short.upper(), title="One")])
    assert (verdict.status, verdict.original, verdict.resemblance) == ("exact", "a", 1.0)
    assert verdict.reason is None


def test_the_least_length_is_a_rule(store: Store) -> None:
    assert one(store, "a", A, Rules(min_words=101)).reason == "short"
    assert one(store, "b", OTHER, Rules(min_words=100)).status == "new"
