"""How one page is decided: the steps, in their order; and items of one page."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shingling import Page, Reason, Rules, Store, sign
from shingling.rules.reasons import KEEPING
from shingling.similarity.measures import estimate
from shingling.store import decide
from shingling.store.decided import reason_said
from shingling.store.urls import safe_url
from tests.support.invariants import beginning, ending, jaccard, text, words
from tests.support.stores import all_rows, both_databases, rows_of

if TYPE_CHECKING:
    from shingling import Verdict


DAY = 86_400
BASE = words("base")
A = text(BASE)
NEAR = text(ending(BASE, "near", 5))


def one(store: Store, url: str, main_text: str | None, rules: Rules | None = None) -> Verdict:
    [verdict] = store.check([Page(url, main_text)], rules=rules or Rules(threshold=0.8))
    return verdict


def test_each_reason_that_the_store_gives_has_a_sentence() -> None:
    sources = Path(decide.__file__).parent.glob("*.py")
    names = {
        name for file in sources for name in re.findall(r"\bReason\.([A-Z_]+)", file.read_text())
    }
    unsaid = {Reason[name] for name in names if reason_said(Reason[name]) == spaced(name)}
    # The first two name what the page says, and the last one is not stored.
    assert unsaid == {*KEEPING, Reason.NO_MAIN_TEXT}


def spaced(name: str) -> str:
    return name.lower().replace("_", " ")


# Nothing to compare


@pytest.mark.parametrize("main_text", [None, "", "  \n", "?! … — \u200b"])
def test_a_page_without_words_is_skipped_not_stored(store: Store, main_text: str | None) -> None:
    [told] = store.check([Page("a", main_text, reason=Reason.NOT_HTML)])
    assert (told.status, told.reason) == ("skipped", "not_html")
    verdict = one(store, "a", main_text)
    assert (verdict.status, verdict.reason) == ("skipped", "no_main_text")
    assert (verdict.page_id, verdict.original, verdict.resemblance) == (None, None, None)
    assert list(store.pages()) == []


# The URL is known


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


@pytest.mark.parametrize("was_stored", [False, True])
def test_a_changed_page_whose_text_is_not_to_be_kept_is_compared_by_its_minima(
    store: Store, file: Path, was_stored: bool
) -> None:
    now = text(ending(BASE, "now", 40))
    one(store, "a", A, Rules(threshold=0.8, store_text=was_stored))
    verdict = one(store, "a", now, Rules(threshold=0.8, store_text=False))
    assert verdict.status == "changed"
    assert verdict.previous == estimate(sign(A), sign(now))
    assert rows_of(file, "SELECT count(*) FROM texts") == [(0,)], "nor is the former one"


# Another page has the same text


def test_a_page_with_the_same_words_and_other_symbols_is_near_at_most(store: Store) -> None:
    pages = [Page("equal", f"operator == {A}"), Page("unequal", f"operator != {A}")]
    _, unequal = store.check(pages)
    assert (unequal.status, unequal.original) == ("near", "equal")
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


def test_a_short_page_that_is_promoted_stands_as_skipped(store: Store) -> None:
    short = text(BASE[:10])
    store.check([Page("a", short), Page("b", short)])
    store.admin.forget(["a"])
    assert store.find("b")[0].status == "skipped"


# Another page has nearly the same text, within the window and the scope


@pytest.mark.parametrize("which", ["neither", "first", "second"])
def test_likeness_is_estimated_unless_both_texts_are_stored(store: Store, which: str) -> None:
    one(store, "a", A, Rules(threshold=0.8, store_text=which == "first"))
    verdict = one(store, "b", NEAR, Rules(threshold=0.8, store_text=which == "second"))
    likeness = estimate(sign(A), sign(NEAR))
    assert likeness != jaccard(A, NEAR)
    assert (verdict.status, verdict.resemblance) == ("near", likeness)
    assert verdict.containment == pytest.approx(2 * likeness / (1 + likeness))


@pytest.mark.parametrize(("equal", "status"), [(68, "near"), (67, "new")])
def test_an_estimate_counts_from_the_threshold_on(store: Store, equal: int, status: str) -> None:
    rules = Rules(threshold=0.8, store_text=False)
    assert 67 / 84 < 0.8 < 68 / 84
    one(store, "a", A, rules)
    minima = sign(A).minima.copy()
    minima[equal:] += np.uint32(1)
    other = replace(sign(A), minima=minima, text_hash=bytes(16))
    [verdict] = store.check([Page("b", signature=other)], rules=rules)
    assert (verdict.status, verdict.candidates) == (status, 1)


def around(low: float, high: float, pairs: int) -> list[tuple[str, str, float]]:
    """Return pairs of texts with their resemblance, low <= resemblance < high."""
    random_ = random.Random(f"{low} {high}")
    found: list[tuple[str, str, float]] = []
    while len(found) < pairs:
        count = random_.randrange(60, 260)
        base = words(random_.randrange(1 << 60), count)
        changed = round((count - 4) * (1 - high) / (1 + high)) + random_.randrange(5)
        how = random_.choice((ending, beginning))
        a, b = text(base), text(how(base, random_.randrange(1 << 60), changed))
        if low <= jaccard(a, b) < high:
            found.append((a, b, jaccard(a, b)))
    return found


def verdicts_on(store: Store, pairs: list[tuple[str, str, float]]) -> list[Verdict]:
    store.check([Page(f"a{at}", a) for at, (a, _, _) in enumerate(pairs)], 0.8)
    return store.check([Page(f"b{at}", b) for at, (_, b, _) in enumerate(pairs)], 0.8)


def test_a_pair_just_under_the_threshold_is_never_near(store: Store) -> None:
    pairs = around(0.78, 0.8, 200)
    assert max(resemblance for _, _, resemblance in pairs) > 0.798
    verdicts = verdicts_on(store, pairs)
    assert {verdict.status for verdict in verdicts} == {"new"}
    close = [sign(a).minima == sign(b).minima for a, b, _ in pairs]
    assert sum(equal.mean() >= 0.8 for equal in close) > 33, "estimates alone would err"
    assert sum(verdict.candidates for verdict in verdicts) > 166


def test_of_pairs_at_or_above_the_threshold_at_least_95_percent_are_near(store: Store) -> None:
    pairs = around(0.8, 0.82, 200)
    near = 0
    for at, verdict in enumerate(verdicts_on(store, pairs)):
        if verdict.status == "near":
            near += 1
            assert verdict.original == f"a{at}"
            assert verdict.resemblance == pairs[at][2]
        else:
            assert verdict.status == "new"
    assert near >= 0.95 * len(pairs)


# Window, scope


def test_an_original_not_seen_within_the_window_does_not_count(store: Store) -> None:
    rules = Rules(original_max_age_days=2)
    store.check([Page("a", A, fetched=10 * DAY)], rules=rules)
    inside = Page("b", NEAR, fetched=12 * DAY)
    outside = Page("c", text(ending(BASE, "c", 4)), fetched=12 * DAY + 1)
    assert store.check([inside], rules=rules)[0].original == "a"
    assert store.check([outside], rules=rules)[0].status == "new"
    copies = [Page("d", A, fetched=12 * DAY), Page("e", A, fetched=20 * DAY)]
    assert [verdict.status for verdict in store.check(copies, rules=rules)] == ["exact", "new"]


# URLs and texts of odd characters


@both_databases
@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://user:secret@example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("https://a:b@c@example.org:8080/@user", "https://example.org:8080/@user"),
        ("https://user:secret@[::1/", "https://[::1/"),
        (" https://example.org/\x00\n\u202e ", "https://example.org/%00%0A%E2%80%AE"),
        ("https://пример.рф/путь", "https://пример.рф/путь"),
        ("https://example.org/\ud800", "https://example.org/%3F"),
    ],
)
def test_a_url_is_kept_without_credentials_and_controls(
    store: Store, url: str, stored: str
) -> None:
    one(store, url, A)
    [page] = store.pages()
    assert page.url == stored
    assert store.find(url) == store.find(stored) == [page]
    assert one(store, url, A).status == "unchanged"
    assert one(store, "copy", A).original == stored


@given(st.text(alphabet=st.characters() | st.sampled_from(" @:/?#[]\ud800\udfff"), max_size=40))
def test_a_cleaned_url_is_printable_and_can_be_encoded(url: str) -> None:
    cleaned = safe_url(url)
    assert cleaned.isprintable()
    assert cleaned.encode().decode() == cleaned


@both_databases
def test_urls_of_ten_thousand_characters_are_told_apart(store: Store) -> None:
    long = "https://example.org/" + "x" * 10_000
    verdicts = store.check([Page(f"{long}1", A), Page(f"{long}2", A), Page(f"{long}1", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "exact", "unchanged"]
    assert verdicts[1].original == store.find(f"{long}1")[0].url
    assert verdicts[1].original.startswith("https://example.org/xxx")
    assert len(verdicts[1].original) <= 8192


@both_databases
def test_lone_surrogates_do_not_fail_a_batch_and_are_no_words(store: Store) -> None:
    broken = A.replace(" ", " \ud800 ") + " \udc80\ud83d"
    verdict = one(store, "a", broken)
    assert verdict.status == "new"
    again = one(store, "b", A)
    assert (again.status, again.resemblance) == ("near", 1.0)
    stored = store.text(store.find("a")[0])
    assert stored is not None
    assert sign(stored) == sign(broken)
    assert one(store, "a", stored).status == "unchanged"
    odd = Page("c", NEAR, title="a\ud800b", language="a\ud800b", scope="a\ud800b")
    assert store.check([odd])[0].status == "new"


@both_databases
def test_a_title_may_hold_any_character_that_can_be_encoded(store: Store) -> None:
    title = "\x00\x01 ' \" ; -- \u202e 𝕏 \U0010ffff"
    store.check([Page("a", A, title=title)])
    assert store.find("a")[0].title == title.replace("\0", "")


LIST = "https://example.org/list"
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


def test_items_stay_apart_when_texts_change_and_when_all_is_decided_again(store: Store) -> None:
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
    before = all_rows(file)
    pages = [Page("https://b.example/2", NEAR), Page("https://b.example/3", text(words("new")))]
    for _ in range(2):
        verdicts = store.check(pages, rules=RULES, dry_run=True)
        assert [verdict.status for verdict in verdicts] == ["near", "new"]
    assert all_rows(file) == before
    assert decided(store, *pages) == [("near", "https://example.org/1"), ("new", None)]
