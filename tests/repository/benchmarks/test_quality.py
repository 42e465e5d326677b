"""The figures of benchmarks/quality.py: tuning, halves, AUC, and the sets that they are of."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.figures import (
    Figures,
    accepted,
    auc,
    halves,
    held_out,
    tune,
)
from benchmarks.pairs import Pair, labelled_pairs

pytest.importorskip("datasketch")
pytest.importorskip("simhash")

from benchmarks.quality import METHODS, score

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.figures import Flags, Scores

_SCORED = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), min_size=1, max_size=30
)
_TEXT = " ".join(f"word{number}" for number in range(200))


def _columns(rows: list[tuple[int, int, bool]], count: int) -> tuple[Scores, Flags]:
    scores = np.array([row[:count] for row in rows], dtype=np.float64).reshape(-1, count)
    return scores, np.array([row[2] for row in rows], dtype=np.bool_)


def _pair(number: int, same: bool) -> Pair:
    return Pair(f"p{number}", "a", "b", same, f"g{number}", "label")


def _f1(scores: Scores, same: Flags, thresholds: tuple[float, ...]) -> float:
    return Figures.of(accepted(scores, thresholds), same).f1


@given(rows=_SCORED)
def test_auc_is_the_share_of_pairs_of_pairs_in_the_right_order(
    rows: list[tuple[int, int, bool]],
) -> None:
    scores, same = _columns(rows, 1)
    good, bad = scores[same, 0], scores[~same, 0]

    if len(good) and len(bad):
        wins = [(a > b) + (a == b) / 2 for a in good for b in bad]
        assert auc(scores, same) == pytest.approx(sum(wins) / len(wins))
    else:
        assert auc(scores, same) is None


def test_auc_of_two_scores_takes_the_lower_rank() -> None:
    scores = np.array([[3.0, 3.0], [2.0, 1.0], [1.0, 2.0]])

    assert auc(scores, np.array([True, False, False])) == 1
    assert auc(scores, np.array([False, True, False])) == 0.25  # below one, level with the other


@settings(max_examples=50)
@given(rows=_SCORED, count=st.sampled_from([1, 2]))
def test_no_thresholds_reach_a_greater_f1_than_the_tuned_ones(
    rows: list[tuple[int, int, bool]], count: int
) -> None:
    scores, same = _columns(rows, count)
    cuts = [(float(a), float(b))[:count] for a in range(6) for b in range(6)]

    assert _f1(scores, same, tune(scores, same)) == max(_f1(scores, same, cut) for cut in cuts)


def test_held_out_figures_come_from_thresholds_of_the_other_half() -> None:
    scores = np.array([[0.9], [0.1], [0.5], [0.3]])
    same = np.array([True, False, True, False])
    first = np.array([True, True, False, False])

    figures, thresholds = held_out(scores, same, first)

    assert np.ravel(thresholds) == pytest.approx([0.4, 0.5])
    assert figures == Figures(found=2, wrong=0, missed=0)
    # Tuned on pairs far apart, a threshold misses what lies between.
    narrow, _ = held_out(np.array([[0.9], [0.1], [0.4], [0.3]]), same, first)
    assert narrow == Figures(found=1, wrong=0, missed=1)


def test_a_group_is_in_one_half_and_the_halves_are_of_one_size() -> None:
    groups = [f"group{number % 7}" for number in range(100)] + ["alone"]

    first = halves(groups)

    assert 40 <= first.sum() <= 60
    assert len({(group, bool(half)) for group, half in zip(groups, first, strict=True)}) == 8
    assert halves(groups[::-1]).tolist() == first[::-1].tolist()


def test_every_method_calls_a_text_the_same_as_itself_and_not_as_another() -> None:
    other = _TEXT.replace("word", "another ")
    equal = score(Pair("p", _TEXT, _TEXT, True, "g", "label"))
    different = score(Pair("p", _TEXT, other, False, "g", "label"))

    for method, high, low in zip(METHODS, equal, different, strict=True):
        assert accepted(np.array([high]), method.usual).all(), method.name
        assert not accepted(np.array([low]), method.usual).any(), method.name


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("copycat", {"3": 27, "2": 29, "0.5": 98}),
        ("copycat-strict", {"3": 27, "2": 29, "1": 30, "0.5": 98}),
        ("tgcontest", {"OK": 117, "BAD": 133}),
        ("clough-stevenson", {"cut": 19, "light": 19, "heavy": 19, "non": 38}),
    ],
)
def test_a_set_has_its_pairs(data: Path, name: str, labels: dict[str, int]) -> None:
    pairs = labelled_pairs(data, name)

    assert Counter(pair.label for pair in pairs) == labels
    assert len({pair.id for pair in pairs}) == len(pairs)
    assert {pair.label for pair in pairs if pair.same} < set(labels)
    # Neither half is without pairs of both kinds.
    first = halves([pair.group for pair in pairs])
    kinds = {(bool(half), pair.same) for half, pair in zip(first, pairs, strict=True)}
    assert len(kinds) == 4
