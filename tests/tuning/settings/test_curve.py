"""Precision and recall at each threshold, and the threshold that is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling.tuning.evaluation import Scoring, area_under_curve, choose, quality
from tests.tuning.settings.pairs import THRESHOLDS


@settings(max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=60
    )
)
def test_the_area_is_the_share_of_pairs_in_the_right_order(rows: list[tuple[float, bool]]) -> None:
    scores = np.array([score for score, _ in rows])
    same = np.array([label for _, label in rows])
    orders = [1.0 if a > b else 0.5 if a == b else 0.0 for a in scores[same] for b in scores[~same]]
    wanted = sum(orders) / len(orders) if orders else 0.5
    assert area_under_curve(scores, same) == pytest.approx(wanted)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.booleans()), min_size=1),
)
def test_the_curve_is_what_counting_at_every_threshold_gives(
    rows: list[tuple[float, bool]],
) -> None:
    scores = np.array([score for score, _ in rows])
    same = np.array([label for _, label in rows])
    curve = Scoring(scores, THRESHOLDS).curve(same)
    for place, threshold in list(enumerate(THRESHOLDS.tolist()))[::7]:
        assert curve[:, place].tolist() == pytest.approx(quality(scores >= threshold, same))


def test_precision_recall_and_f1_are_those_of_the_textbook() -> None:
    same = np.array([True] * 8 + [False] * 12)
    decided = np.array([True] * 6 + [False] * 2 + [True] * 3 + [False] * 9)
    assert quality(decided, same) == pytest.approx((6 / 9, 6 / 8, 12 / 17))
    assert quality(np.zeros(20, dtype=bool), same) == (0, 0, 0)


def test_the_threshold_lies_in_the_middle_of_the_gap() -> None:
    scores, same = np.array([0.2, 0.3, 0.7, 0.9]), np.array([False, False, True, True])
    assert choose([Scoring(scores, THRESHOLDS)], same).cutoff == 0.5


def test_among_scorings_the_best_is_chosen_and_only_what_can_be_set() -> None:
    same = np.array([False, False, True, True])
    blind = Scoring(np.array([0.5, 0.5, 0.5, 0.5]), THRESHOLDS)
    seeing = Scoring(np.array([0.2, 0.3, 0.7, 0.9]), THRESHOLDS)
    assert choose([seeing, blind], same).scoring == 0
    assert choose([blind, seeing], same).scoring == 1
    distances = -np.array([60.0, 50.0, 20.0, 20.0])
    scoring = Scoring(distances, -np.arange(64.0, -1, -1), 8)
    assert choose([scoring], same).cutoff >= -7
    assert choose([replace(scoring, choosable=None)], same).cutoff == -35
