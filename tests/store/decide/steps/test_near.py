"""Step 4: another page has nearly the same text, within the window and the scope."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling import Page, Rules, Store, sign
from shingling.similarity import estimate
from tests.store.decide.steps.pages import BASE, DAY, NEAR, A, one
from tests.support.invariants import beginning, ending, jaccard, text, words

if TYPE_CHECKING:
    from shingling import Verdict


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


@pytest.mark.parametrize("seed", range(3))
def test_of_originals_that_are_equally_alike_the_oldest_wins(store: Store, seed: int) -> None:
    page = words(seed)
    old = text([*page[:20], "x", *page[21:40], "y", *page[41:]])
    young = text([*page[:60], "x", *page[61:80], "y", *page[81:]])
    assert jaccard(old, text(page)) == jaccard(young, text(page))
    store.check([Page("old", old), Page("young", young)])
    assert one(store, "page", text(page)).original == "old"


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
