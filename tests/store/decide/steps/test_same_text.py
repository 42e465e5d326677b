"""Step 3: another page has the same text."""

from __future__ import annotations

from shingling import Page, Rules, Store
from tests.store.decide.steps.pages import A, one


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
