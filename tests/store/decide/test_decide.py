"""How one page is decided."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling import Page, Rules, Scheme, Signature, Store, sign
from shingling.similarity import estimate
from shingling.store import safe_url
from tests.support.invariants import (
    beginning,
    containment,
    ending,
    groups_of,
    jaccard,
    text,
    verify,
    words,
)
from tests.support.stores import emptied, rows_of, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Verdict

DAY = 86_400
BASE = words("base")
A = text(BASE)
NEAR = text(ending(BASE, "near", 5))
OTHER = text(words("other"))


def one(store: Store, url: str, main_text: str | None, rules: Rules | None = None) -> Verdict:
    [verdict] = store.check([Page(url, main_text)], rules=rules or Rules(threshold=0.8))
    return verdict


def standing(store: Store) -> dict[str, tuple[str, str | None]]:
    return {page.url: (page.status, page.original) for page in store.pages()}


# 1. Nothing to compare


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


def test_pages_without_words_are_no_duplicates_of_each_other(store: Store) -> None:
    verdicts = store.check([Page("a", ""), Page("b", ""), Page("c", "!"), Page("d", "!")])
    assert [verdict.original for verdict in verdicts] == [None] * 4


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


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_text_shorter_than_a_shingle_is_never_a_duplicate(store: Store, count: int) -> None:
    short = text(BASE[:count])
    verdicts = store.check([Page("a", short), Page("b", short)])
    verdicts += store.check([Page("c", short), Page("a", short)])
    assert [verdict.original for verdict in verdicts] == [None] * 4
    assert [verdict.status for verdict in verdicts] == ["skipped"] * 3 + ["unchanged"]


def test_a_text_shorter_than_a_shingle_is_never_near_even_with_no_least_length(
    store: Store,
) -> None:
    rules = Rules(min_words=0)
    one(store, "a", text(BASE[:4]), rules)
    verdict = one(store, "b", text(BASE[:3]), rules)
    assert verdict.original is None


@pytest.mark.parametrize(("count", "status"), [(19, "skipped"), (20, "near")])
def test_near_duplicates_are_looked_for_from_the_least_length_on(
    store: Store, count: int, status: str
) -> None:
    first = BASE[:count]
    second = ending(first, "short", 1)
    assert jaccard(text(first), text(second)) > 0.85
    one(store, "a", text(first))
    assert one(store, "b", text(second)).status == status


def test_a_short_page_is_nobodys_original_for_a_near_duplicate(store: Store) -> None:
    short = BASE[:19]
    one(store, "a", text(short))
    longer = text([*short, "more"])
    assert jaccard(text(short), longer) > 0.9
    assert one(store, "b", longer).status == "new"


def test_the_least_length_is_a_rule(store: Store) -> None:
    assert one(store, "a", A, Rules(min_words=101)).reason == "short"
    assert one(store, "b", OTHER, Rules(min_words=100)).status == "new"


# 2. The URL is known


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


# 3. The same words


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


# 4. Near


def test_a_near_duplicate_is_measured_on_the_texts(store: Store) -> None:
    one(store, "a", A)
    now = text(ending(BASE, "longer", 5) + words("tail", 3))
    verdict = one(store, "b", now)
    assert (verdict.status, verdict.original) == ("near", "a")
    assert verdict.resemblance == jaccard(A, now)
    assert verdict.containment == containment(A, now)
    assert verdict.candidates == 1


@pytest.mark.parametrize("which", ["neither", "first", "second"])
def test_a_near_duplicate_is_estimated_from_minima_unless_both_texts_are_stored(
    store: Store, which: str
) -> None:
    one(store, "a", A, Rules(threshold=0.8, store_text=which == "first"))
    verdict = one(store, "b", NEAR, Rules(threshold=0.8, store_text=which == "second"))
    likeness = estimate(sign(A), sign(NEAR))
    assert likeness != jaccard(A, NEAR)
    assert (verdict.status, verdict.resemblance) == ("near", likeness)
    assert verdict.containment == pytest.approx(2 * likeness / (1 + likeness))


def test_the_best_original_wins(store: Store) -> None:
    left, right = ending(BASE, "left", 10), beginning(BASE, "right", 6)
    assert jaccard(text(left), text(right)) < 0.8
    store.check([Page("left", text(left)), Page("right", text(right))], 0.8)
    verdict = one(store, "a", A)
    assert jaccard(A, text(left)) > 0.8
    assert (verdict.original, verdict.resemblance) == ("right", jaccard(A, text(right)))
    assert verdict.candidates == 2


def differing(places: range) -> Signature:
    """Return a signature whose minima differ from those of A in these places."""
    minima = sign(A).minima.copy()
    minima[places.start : places.stop] += np.uint32(1)
    return replace(sign(A), minima=minima, text_hash=str(places).encode().ljust(16)[:16])


def test_of_two_originals_that_are_as_alike_the_oldest_wins(store: Store) -> None:
    rules = Rules(threshold=0.8, store_text=False)
    for url, places in (("old", range(10)), ("young", range(40, 50))):
        [verdict] = store.check([Page(url, signature=differing(places))], rules=rules)
        assert verdict.status == "new"
    verdict = one(store, "a", A, rules)
    assert (verdict.original, verdict.resemblance, verdict.candidates) == ("old", 74 / 84, 2)


@pytest.mark.parametrize(("equal", "status"), [(68, "near"), (67, "new")])
def test_an_estimate_counts_from_the_threshold_on(store: Store, equal: int, status: str) -> None:
    rules = Rules(threshold=0.8, store_text=False)
    assert 67 / 84 < 0.8 < 68 / 84
    one(store, "a", A, rules)
    [verdict] = store.check([Page("b", signature=differing(range(84 - equal)))], rules=rules)
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
    pairs = around(0.78, 0.8, 300)
    assert max(resemblance for _, _, resemblance in pairs) > 0.798
    verdicts = verdicts_on(store, pairs)
    assert {verdict.status for verdict in verdicts} == {"new"}
    close = [sign(a).minima == sign(b).minima for a, b, _ in pairs]
    assert sum(equal.mean() >= 0.8 for equal in close) > 50, "estimates alone would err"
    assert sum(verdict.candidates for verdict in verdicts) > 250


def test_of_pairs_at_or_above_the_threshold_at_least_95_percent_are_near(store: Store) -> None:
    pairs = around(0.8, 0.82, 400)
    near = 0
    for at, verdict in enumerate(verdicts_on(store, pairs)):
        if verdict.status == "near":
            near += 1
            assert verdict.original == f"a{at}"
            assert verdict.resemblance == pairs[at][2]
        else:
            assert verdict.status == "new"
    assert near >= 0.95 * len(pairs)


def test_a_pair_exactly_at_the_threshold_is_near(store: Store) -> None:
    base = words("edge", 184)
    for place in range(8):  # each pair shares a band with probability 0.986
        a, b = text([f"p{place}{word}" for word in base]), ""
        b = text(ending(a.split(), place, 20))
        assert jaccard(a, b) == 0.8
        verdicts = store.check([Page(f"a{place}", a), Page(f"b{place}", b)])
        if verdicts[1].candidates:
            assert verdicts[1].status == "near"
            return
    raise AssertionError("no pair shares a band")


def test_the_threshold_argument_goes_before_that_of_the_rules(store: Store) -> None:
    one(store, "a", A)
    [verdict] = store.check([Page("b", NEAR)], 0.95, rules=Rules(threshold=0.8))
    assert verdict.status == "new"


# Window, scope


def test_an_original_not_seen_within_the_window_does_not_count(store: Store) -> None:
    rules = Rules(window_days=2)
    store.check([Page("a", A, fetched=10 * DAY)], rules=rules)
    inside = Page("b", NEAR, fetched=12 * DAY)
    outside = Page("c", text(ending(BASE, "c", 4)), fetched=12 * DAY + 1)
    assert store.check([inside], rules=rules)[0].original == "a"
    assert store.check([outside], rules=rules)[0].status == "new"
    copies = [Page("d", A, fetched=12 * DAY), Page("e", A, fetched=20 * DAY)]
    assert [verdict.status for verdict in store.check(copies, rules=rules)] == ["exact", "new"]


def test_seeing_an_original_again_brings_it_back_into_the_window(store: Store) -> None:
    rules = Rules(window_days=2)
    store.check([Page("a", A, fetched=10 * DAY)], rules=rules)
    store.check([Page("a", A, fetched=19 * DAY)], rules=rules)
    [verdict] = store.check([Page("b", NEAR, fetched=20 * DAY)], rules=rules)
    assert (verdict.status, verdict.original) == ("near", "a")


def test_without_a_window_an_original_counts_for_ever(store: Store) -> None:
    store.check([Page("a", A, fetched=0)])
    assert store.check([Page("b", A)])[0].original == "a"


@pytest.mark.parametrize("main_text", [A, NEAR])
def test_pages_of_two_scopes_are_not_compared(store: Store, main_text: str) -> None:
    store.check([Page("a", A, scope="one")])
    [other] = store.check([Page("b", main_text, scope="two")])
    [same] = store.check([Page("c", main_text, scope="one")])
    assert (other.status, same.original) == ("new", "a")


def test_one_url_is_a_page_of_its_own_in_each_scope(store: Store) -> None:
    verdicts = store.check([Page("a", A, scope="one"), Page("a", NEAR, scope="two")])
    assert [verdict.status for verdict in verdicts] == ["new", "new"]
    assert [page.scope for page in store.find("a")] == ["one", "two"]
    assert store.check([Page("a", A, scope="two")])[0].previous == jaccard(A, NEAR)


# URLs and odd characters


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://user:secret@example.org/a?b=c#d", "https://example.org/a?b=c#d"),
        ("https://user@example.org:8080/", "https://example.org:8080/"),
        ("https://a:b@c@example.org/", "https://example.org/"),
        ("https://example.org/@user", "https://example.org/@user"),
        ("https://user:secret@[::1/", "https://[::1/"),
        (" https://example.org/\x00\n\u202e ", "https://example.org/%00%0A%E2%80%AE"),
        ("https://пример.рф/путь", "https://пример.рф/путь"),
        ("https://example.org/\ud800", "https://example.org/%3F"),
    ],
)
def test_a_url_is_stored_without_credentials_and_control_characters(
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


@given(st.from_regex(r"[a-z0-9]{1,8}(:[a-z0-9]{0,8})?", fullmatch=True))
def test_credentials_never_reach_the_store(credentials: str) -> None:
    assert safe_url(f"https://{credentials}@EXAMPLE.org/x") == "https://EXAMPLE.org/x"


def test_a_page_fetched_with_other_credentials_is_the_same_page(store: Store) -> None:
    one(store, "https://u:1@example.org/", A)
    assert one(store, "https://v:2@example.org/", A).status == "unchanged"
    assert one(store, "https://example.org/", NEAR).status == "changed"


def test_urls_of_ten_thousand_characters_are_told_apart(store: Store) -> None:
    long = "https://example.org/" + "x" * 10_000
    verdicts = store.check([Page(f"{long}1", A), Page(f"{long}2", A), Page(f"{long}1", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "exact", "unchanged"]
    assert verdicts[1].original == store.find(f"{long}1")[0].url
    assert verdicts[1].original.startswith("https://example.org/xxx")
    assert len(verdicts[1].original) <= 8192


def test_lone_surrogates_in_a_text_are_no_words(store: Store) -> None:
    broken = A.replace(" ", " \ud800 ") + " \udc80\ud83d"
    verdict = one(store, "a", broken)
    assert verdict.status == "new"
    again = one(store, "b", A)
    assert (again.status, again.resemblance) == ("near", 1.0)
    stored = store.text(store.find("a")[0])
    assert stored is not None
    assert sign(stored) == sign(broken)
    assert one(store, "a", stored).status == "unchanged"


def test_a_title_may_hold_any_character_that_can_be_encoded(store: Store) -> None:
    title = "\x00\x01 ' \" ; -- \u202e 𝕏 \U0010ffff"
    store.check([Page("a", A, title=title)])
    assert store.find("a")[0].title == title.replace("\0", "")


# Batches


def test_pages_of_one_batch_are_duplicates_of_each_other(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("b", A), Page("c", NEAR), Page("d", OTHER)])
    assert [(verdict.status, verdict.original) for verdict in verdicts] == [
        ("new", None),
        ("exact", "a"),
        ("near", "a"),
        ("new", None),
    ]


def test_a_url_twice_in_a_batch_is_unchanged_the_second_time(store: Store) -> None:
    verdicts = store.check([Page("a", A), Page("a", A), Page("b", A), Page("b", A)])
    assert [verdict.status for verdict in verdicts] == ["new", "unchanged", "exact", "unchanged"]
    assert verdicts[3].original == "a"
    assert store.status().pages == 2


def test_a_page_is_never_a_duplicate_of_itself(store: Store) -> None:
    pages = [Page("a", main_text) for main_text in (A, NEAR, A, text(BASE[:10]), A)]
    verdicts = store.check(pages) + [store.check([page])[0] for page in pages]
    assert {verdict.original for verdict in verdicts} == {None}
    assert len({verdict.page_id for verdict in verdicts}) == 1


def test_an_empty_batch_has_no_verdicts(store: Store) -> None:
    assert store.check([]) == []


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


FAMILY = [
    A,
    NEAR,
    text(ending(BASE, 1, 8)),
    text(beginning(BASE, 2, 7)),
    text(ending(BASE, 3, 40)),
    OTHER,
    text(BASE[:12]),
    "three short words",
]
SIGNED = [(main_text, sign(main_text)) for main_text in FAMILY]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, len(FAMILY) - 1)), max_size=14),
    st.lists(st.integers(1, 5), min_size=14, max_size=14),
)
def test_pages_in_batches_are_decided_as_one_by_one(
    empty: Path, fetched: list[tuple[int, int]], sizes: list[int]
) -> None:
    pages = [
        Page(f"u{url}", SIGNED[which][0], SIGNED[which][1], fetched=at)
        for at, (url, which) in enumerate(fetched)
    ]
    with emptied(empty) as path, Store.open(url_of(path)) as store:
        singly = []
        for page in pages:
            singly += store.check([page])
        groups = groups_of(path)
    with emptied(empty) as path, Store.open(url_of(path)) as store:
        together, rest = [], pages
        for size in sizes:
            together += store.check(rest[:size])
            rest = rest[size:]
        together += store.check(rest)
        assert together == singly
        assert groups_of(path) == groups
        verify(path)
