"""What is recommended is judged by pairs that it was not chosen by."""

from __future__ import annotations

import numpy as np
import pytest

from shingling.tuning.evaluation import (
    Scoring,
    choose,
    cross_validated,
    f1_error,
    folds_of,
    gap_error,
    quality,
)
from shingling.tuning.pairs import LabelledPair
from tests.tuning.settings.pairs import THRESHOLDS


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
    assert f1_error(a, same) == pytest.approx(np.std([own[0] for own in f1]), rel=0.1)
    gaps = [own[0] - own[1] for own in f1]
    assert gap_error(a, b, same) == pytest.approx(np.std(gaps), rel=0.1)
    assert gap_error(a, a, same) == 0
