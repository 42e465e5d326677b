"""The threshold that is chosen, that unseen pairs judge it, and how sure a proportion is."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling.proportions import Proportion
from shingling.tuning.evaluation import (
    THRESHOLDS,
    choose,
    cross_validated,
    curve,
    quality,
)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.booleans()), min_size=1))
def test_the_curve_is_what_counting_at_every_threshold_gives(
    rows: list[tuple[float, bool]],
) -> None:
    resemblances = np.array([value for value, _ in rows])
    same = np.array([label for _, label in rows])
    lines = curve(resemblances, same)
    for place, threshold in list(enumerate(THRESHOLDS.tolist()))[::7]:
        counted = quality(resemblances >= threshold, same)
        values = (counted.precision.value, counted.recall.value, counted.f1)
        assert lines[:, place].tolist() == pytest.approx(values)


def test_precision_recall_and_f1_are_those_of_the_textbook() -> None:
    same = np.array([True] * 8 + [False] * 12)
    decided = np.array([True] * 6 + [False] * 2 + [True] * 3 + [False] * 9)
    found = quality(decided, same)
    assert (found.precision, found.recall) == (Proportion.of(6, 9), Proportion.of(6, 8))
    assert found.f1 == pytest.approx(12 / 17)
    nothing = quality(np.zeros(20, dtype=bool), same)
    assert (nothing.precision, nothing.recall.value, nothing.f1) == ((0, 0, 1), 0, 0)


@pytest.mark.parametrize(
    ("found", "number", "low", "high"),
    # Of published tables of exact limits.
    [(0, 10, 0, 0.3085), (1, 10, 0.0025, 0.4450), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1)],
)
def test_an_interval_is_that_of_clopper_and_pearson(
    found: int, number: int, low: float, high: float
) -> None:
    interval = Proportion.of(found, number)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-4)


@settings(max_examples=50)
@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_beyond_either_end_of_an_interval_what_was_seen_is_rare(seen: tuple[int, int]) -> None:
    found, number = seen
    value, low, high = Proportion.of(found, number)
    assert low <= value <= high

    def chance(p: float, counts: range) -> float:
        return sum(comb(number, k) * p**k * (1 - p) ** (number - k) for k in counts)

    if found:
        assert chance(low, range(found, number + 1)) == pytest.approx(0.025, abs=1e-6)
    if found < number:
        assert chance(high, range(found + 1)) == pytest.approx(0.025, abs=1e-6)


def test_a_large_number_of_pairs_has_a_narrow_interval() -> None:
    value, low, high = Proportion.of(90_000, 100_000)
    assert value - low == pytest.approx(1.96 * (0.9 * 0.1 / 100_000) ** 0.5, rel=0.02)
    assert high - value == pytest.approx(value - low, rel=0.02)


def test_the_threshold_lies_in_the_middle_of_the_gap() -> None:
    resemblances, same = np.array([0.2, 0.3, 0.7, 0.9]), np.array([False, False, True, True])
    assert choose(resemblances, same) == 0.5


def test_what_a_fold_is_labelled_does_not_change_how_its_pairs_are_taken() -> None:
    generator = np.random.default_rng(1)
    same = np.arange(40) < 20
    resemblances = generator.random(40).round(2)
    order = [bytes([place]) for place in range(40)]
    before = cross_validated(resemblances, same, order)
    for first in range(0, 20, 5):
        # A pair of either label changes places with the other, so that folds stay as they are.
        swapped = resemblances.copy()
        a, b = first, 20 + first
        swapped[[a, b]] = resemblances[[b, a]]
        after = cross_validated(swapped, same, order)
        assert (after[b], after[a]) == (before[a], before[b])


def test_the_order_of_the_pairs_changes_no_decision() -> None:
    generator = np.random.default_rng(2)
    same = generator.random(60) < 0.4
    resemblances = generator.random(60).round(2)
    order = [bytes([place]) for place in range(60)]
    decided = cross_validated(resemblances, same, order)
    again = cross_validated(resemblances[::-1], same[::-1], order[::-1])
    assert again.tolist() == decided.tolist()[::-1]
