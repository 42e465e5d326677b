"""Step 3: another page has the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shingling import Page, Rules, Scheme, Store
from tests.store.decide.steps.pages import BASE, NEAR, A, one
from tests.support.invariants import beginning, containment, ending, jaccard, text, verify
from tests.support.stores import url_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_with_the_same_text_is_an_exact_duplicate(store: Store) -> None:
    one(store, "a", A)
    verdict = one(store, "b", f" {A.title().replace(' ', chr(10))} ")
    assert (verdict.status, verdict.original) == ("exact", "a")
    assert (verdict.resemblance, verdict.containment) == (1.0, 1.0)


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


FEW = [("what", "=="), ("what", "!="), ("What", "==")]


def test_short_texts_with_other_symbols_are_no_duplicates(store: Store) -> None:
    texts = [f"{what} does {sign} mean in C then" for what, sign in FEW]
    pages = [Page(f"{number}", text, title="C") for number, text in enumerate(texts)]
    statuses = [verdict.status for verdict in store.check(pages)]
    assert statuses == ["skipped", "skipped", "exact"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_page_is_exact_by_the_version_of_the_stores_scheme(file: Path, version: int) -> None:
    with Store.open(url_of(file), scheme=Scheme(version=version)) as store:
        pages = [Page("a", f"operator == {A}"), Page("b", f"operator != {A}")]
        statuses = [verdict.status for verdict in store.check(pages)]
        assert statuses == ["new", "exact" if version == 1 else "near"]
        meaning = store.status().exact_means
        assert meaning.split(" (")[0] == ("same words" if version == 1 else "same text")
    verify(file)


def test_a_copy_of_a_near_duplicate_is_attached_to_the_groups_original(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("b", NEAR)]) + store.check([Page("c", NEAR)])
    assert [verdict.status for verdict in verdicts] == ["new", "near", "exact"]
    assert verdicts[2].original == "a"
    assert verdicts[2].resemblance == jaccard(A, NEAR)
    assert verdicts[2].containment == containment(A, NEAR)


def test_a_near_duplicate_of_a_near_duplicate_is_never_chained(store: Store) -> None:
    second = ending(BASE, 1, 8)
    third = beginning(second, 2, 6)
    assert jaccard(A, text(third)) < 0.8 < jaccard(text(second), text(third))
    store.check([Page("a", A), Page("b", text(second))])
    assert one(store, "c", text(third)).status == "new"


def test_only_exact_duplicates_are_found_by_the_method_exact(store: Store) -> None:
    rules = Rules(method="exact")
    verdicts = store.check([Page("a", A), Page("b", NEAR), Page("c", NEAR)], rules=rules)
    assert [(verdict.status, verdict.original) for verdict in verdicts] == [
        ("new", None),
        ("new", None),
        ("exact", "b"),
    ]


def test_the_method_exact_needs_no_bands_for_its_threshold(store: Store) -> None:
    assert one(store, "a", A, Rules(method="exact", threshold=0.1)).status == "new"
