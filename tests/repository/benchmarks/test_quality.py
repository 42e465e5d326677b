"""The pairs of benchmarks/quality.py, and the methods that it measures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.pairs import Pair, labelled_pairs

pytest.importorskip("datasketch")
pytest.importorskip("simhash")

from benchmarks.quality import METHODS, halves, score

if TYPE_CHECKING:
    from pathlib import Path

_TEXT = " ".join(f"word{number}" for number in range(200))


def test_a_group_is_in_one_half_and_the_halves_are_of_one_size() -> None:
    groups = [f"group{number % 7}" for number in range(100)] + ["alone"]

    first = halves(groups)

    assert 40 <= first.sum() <= 60
    assert len({*zip(groups, first.tolist(), strict=True)}) == 8
    assert halves(groups[::-1]).tolist() == first[::-1].tolist()


def test_every_method_calls_a_text_the_same_as_itself_and_not_as_another() -> None:
    other = _TEXT.replace("word", "another ")
    equal = score(Pair(_TEXT, _TEXT, True, "g", "label"))
    different = score(Pair(_TEXT, other, False, "g", "label"))

    for method, high, low in zip(METHODS, equal, different, strict=True):
        assert all(np.array(high) >= method.usual), method.name
        assert not all(np.array(low) >= method.usual), method.name


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
    assert {pair.label for pair in pairs if pair.same} < set(labels)
    # Neither half is without pairs of both kinds.
    first = halves([pair.group for pair in pairs])
    kinds = {(half, pair.same) for half, pair in zip(first.tolist(), pairs, strict=True)}
    assert len(kinds) == 4
