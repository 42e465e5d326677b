"""Thresholds by reviews: estimates, their intervals against known truth, and the guided sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from shingling.tuning.reviewed import (
    GUIDED_PAIRS,
    STRATUM_EDGES,
    THRESHOLDS,
    ReviewedPair,
    recommend,
    reviewed_quality,
    sample_pairs,
    threshold_curve,
)

if TYPE_CHECKING:
    from shingling.tuning.reviewed import Flags, Numbers

RUNS = 400


def population(seed: int, size: int = 5000) -> tuple[Numbers, Flags]:
    """Return resemblances of pairs, most of them low, and which pairs are the same."""
    random = np.random.default_rng(seed)
    resemblances = np.concatenate(
        [random.beta(2, 6, size // 2) * 0.7 + 0.3, random.beta(6, 2, size // 2) * 0.7 + 0.3]
    )
    same = random.random(size) < 1 / (1 + np.exp(-18 * (resemblances - 0.68)))
    return resemblances, same


def reviewed(resemblances: Numbers, same: Flags, seed: int) -> list[ReviewedPair]:
    chosen = sample_pairs(resemblances, [], 0.7, seed=seed)
    return [ReviewedPair(float(resemblances[at]), bool(same[at])) for at in chosen]


def test_the_intervals_cover_the_truth_in_at_least_95_percent_of_runs() -> None:
    resemblances, same = population(1)
    covered = np.zeros((3, 2))
    widths = []
    for run in range(RUNS):
        reviews = reviewed(resemblances, same, run)
        for row, threshold in enumerate((0.6, 0.75, 0.85)):
            quality = reviewed_quality(resemblances, reviews, threshold)
            dropped = resemblances >= threshold
            truth = (same[dropped].mean(), dropped[same].mean())
            for column, (share, value) in enumerate(
                zip((quality.precision, quality.recall), truth, strict=True)
            ):
                covered[row, column] += share.low <= value <= share.high
                widths.append(share.high - share.low)
    # Two standard errors of 400 runs below 95 %.
    assert (covered / RUNS >= 0.928).all(), covered / RUNS
    assert np.mean(widths) < 0.45


def test_the_interval_of_the_recommended_threshold_covers_its_truth() -> None:
    covered = 0
    for run in range(100):
        resemblances, same = population(run, 2000)
        chosen, enough = recommend(resemblances, reviewed(resemblances, same, run))
        dropped = resemblances >= chosen.threshold
        assert enough
        assert 0.5 <= chosen.threshold <= 0.85
        covered += chosen.precision.low <= same[dropped].mean() <= chosen.precision.high
        covered += chosen.recall.low <= dropped[same].mean() <= chosen.recall.high
    assert covered >= 0.9 * 200


def test_one_stratum_has_the_interval_of_clopper_and_pearson() -> None:
    reviews = [ReviewedPair(0.95, answer) for answer in [True] * 8 + [False] * 2]
    precision = reviewed_quality(np.full(50, 0.95), reviews, 0.9).precision
    assert precision.value == 0.8
    assert precision.low == pytest.approx(0.4439, abs=0.01)  # Clopper and Pearson 1934
    assert precision.high == pytest.approx(0.9748, abs=0.01)


def test_with_all_pairs_reviewed_the_values_are_those_of_the_labels() -> None:
    resemblances, same = population(3, 400)
    reviews = [
        ReviewedPair(*pair) for pair in zip(resemblances.tolist(), same.tolist(), strict=True)
    ]
    quality = reviewed_quality(resemblances, reviews, 0.63)
    dropped = resemblances >= 0.63
    assert quality.precision.value == pytest.approx(same[dropped].mean())
    assert quality.recall.value == pytest.approx(dropped[same].mean())
    assert quality.pairs == 400


def test_the_estimate_does_not_depend_on_which_strata_were_asked_about_more() -> None:
    resemblances, same = population(4, 20_000)
    truth = same[resemblances >= 0.6].mean()
    for threshold in (0.4, 0.9):
        chosen = sample_pairs(resemblances, [], threshold, 2000)
        reviews = [ReviewedPair(float(resemblances[at]), bool(same[at])) for at in chosen]
        assert reviewed_quality(resemblances, reviews, 0.6).precision.value == pytest.approx(
            truth, abs=0.03
        )


def test_without_reviews_nothing_is_known() -> None:
    recommended = recommend(np.linspace(0.3, 1, 100), [])
    assert not recommended.enough
    assert recommended.quality.precision[1:] == recommended.quality.recall[1:] == (0.0, 1.0)


def test_reviews_with_one_answer_are_not_enough() -> None:
    reviews = [ReviewedPair(0.8, True)] * (2 * GUIDED_PAIRS)
    assert not recommend(np.full(100, 0.8), reviews).enough


def test_a_store_without_candidates_has_a_quality_too() -> None:
    quality = reviewed_quality(np.empty(0), [ReviewedPair(0.9, False)], 0.5)
    assert quality.precision == quality.recall == (1.0, 1.0, 1.0)
    assert recommend(np.empty(0), []).enough is False
    assert sample_pairs(np.empty(0), [], 0.5) == []


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.95, 1.0])
def test_any_threshold_has_an_interval_around_its_value(threshold: float) -> None:
    resemblances, same = population(5, 500)
    quality = reviewed_quality(resemblances, reviewed(resemblances, same, 5), threshold)
    for share in (quality.precision, quality.recall):
        assert 0 <= share.low <= share.value <= share.high <= 1


def test_pairs_near_the_threshold_are_asked_about_more_often() -> None:
    resemblances = np.linspace(0.3, 1, 7000, endpoint=False)
    chosen = resemblances[sample_pairs(resemblances, [], 0.55)]
    counts = np.histogram(chosen, [*STRATUM_EDGES, 1.0])[0]
    assert counts.sum() == GUIDED_PAIRS
    assert counts.argmax() == 2
    assert counts.min() >= 1


def test_a_sample_makes_up_for_what_was_reviewed_before() -> None:
    resemblances = np.linspace(0.3, 1, 7000, endpoint=False)
    before = [ReviewedPair(0.55, True)] * 30
    chosen = resemblances[sample_pairs(resemblances, before, 0.55, 20)]
    assert not ((chosen >= 0.5) & (chosen < 0.6)).any()


def test_a_sample_names_no_pair_twice_and_ends_with_the_pairs() -> None:
    resemblances = np.array([0.1, 0.35, 0.35, 0.6, 0.99, 1.0])
    assert sorted(sample_pairs(resemblances, [], 0.5)) == [1, 2, 3, 4, 5]


def test_the_curve_counts_pairs_at_or_above_each_threshold() -> None:
    curve = threshold_curve(np.array([0.4, 0.5, 0.5, 0.95]))
    assert [count.threshold for count in curve] == list(THRESHOLDS)
    assert [count.dropped for count in curve] == [4, 3, 3, *[1] * 9]
