"""The threshold that is chosen, and that it is judged by pairs that it was not chosen by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling.tuning.evaluation import (
    Scoring,
    area_under_curve,
    choose,
    cross_validated,
    folds_of,
    gap_error,
    quality,
)
from shingling.tuning.pairs import LabelledPair

THRESHOLDS = np.arange(1, 101) / 100


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
@given(st.lists(st.tuples(st.integers(0, 100).map(lambda n: n / 100), st.booleans()), min_size=1))
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


def test_among_scorings_the_best_is_chosen() -> None:
    same = np.array([False, False, True, True])
    blind = Scoring(np.array([0.5, 0.5, 0.5, 0.5]), THRESHOLDS)
    seeing = Scoring(np.array([0.2, 0.3, 0.7, 0.9]), THRESHOLDS)
    assert choose([seeing, blind], same).scoring == 0
    assert choose([blind, seeing], same).scoring == 1


# Folds


def test_what_a_fold_is_labelled_does_not_change_how_its_pairs_are_taken() -> None:
    folds = np.arange(40) % 5
    same = np.arange(40) < 20
    scores = np.random.default_rng(1).random(40).round(2)
    before = cross_validated([Scoring(scores, THRESHOLDS)], same, folds)
    for fold in range(5):
        other = np.where(folds == fold, ~same, same)
        after = cross_validated([Scoring(scores, THRESHOLDS)], other, folds)
        assert (after[folds == fold] == before[folds == fold]).all()
    # Were the threshold chosen on all pairs, that would not hold.
    everything = [
        choose([Scoring(scores, THRESHOLDS)], np.where(folds == fold, ~same, same)).cutoff
        for fold in range(5)
    ]
    assert len(set(everything)) > 1


def test_folds_have_their_share_of_either_label_whatever_the_order_of_the_pairs() -> None:
    pairs = [LabelledPair(f"a{i}", f"b{i}", i % 3 == 0) for i in range(60)]
    folds = folds_of(pairs, 5)
    for fold in range(5):
        own = [pair.same for pair, number in zip(pairs, folds, strict=True) if number == fold]
        assert (own.count(True), own.count(False)) == (4, 8)
    assert folds_of(pairs[::-1], 5).tolist() == folds.tolist()[::-1]


def test_the_noise_is_that_of_resampled_pairs() -> None:
    generator = np.random.default_rng(3)
    same = np.arange(200) < 80
    a, b = (same ^ (generator.random(200) < share) for share in (0.1, 0.2))
    draws = generator.integers(200, size=(2000, 200))
    f1 = [[quality(own[draw], same[draw]).f1 for own in (a, b)] for draw in draws]
    assert gap_error(a, np.zeros(200, dtype=bool), same) == pytest.approx(
        np.std([own[0] for own in f1]), rel=0.1
    )
    gaps = [own[0] - own[1] for own in f1]
    assert gap_error(a, b, same) == pytest.approx(np.std(gaps), rel=0.1)
    assert gap_error(a, a, same) == 0
