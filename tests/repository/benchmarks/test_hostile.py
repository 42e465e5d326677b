"""benchmarks/hostile: what it counts, on few pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("psutil")

from benchmarks.hostile import bombs, mutated
from benchmarks.hostile.mutations import MUTATIONS, Mutator
from benchmarks.hostile.project import Events
from benchmarks.hostile.soundness import resemblance

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def mutator(data: Path) -> Mutator:
    return Mutator(data, 5, 1)


def test_pages_are_mutated_the_same_each_time(mutator: Mutator) -> None:
    made = [mutator.make(number) for number in range(30)]
    assert made == [mutator.make(number) for number in range(30)]
    assert len({name for one in made for name in one.names} & {*MUTATIONS}) > 10


def test_mutated_pages_are_crawled_and_none_is_lost(mutator: Mutator, tmp_path: Path) -> None:
    [result] = mutated.run(tmp_path, mutator, 30, [("quick", "1", "drop")])
    assert result.wrong == []
    assert result.out + result.dropped + result.refused == 30
    assert result.dropped > 0
    assert all(target.met for target in mutated.targets([result]))


def test_what_ordinary_pages_notice_of_a_bomb_is_measured(tmp_path: Path) -> None:
    [result] = bombs.run(tmp_path, ["text: dots"], ["quick"], ["1"], size=50_000)
    assert result.lost == 0
    assert len(result.verdicts) == 2
    assert 0 < result.wait < 60
    assert result.worker > 10
    assert len(result.row) == len(bombs.COLUMNS)


def test_a_loop_that_is_held_is_late_for_all_that_was_due() -> None:
    events = Events()
    events["lags"].append({"at": 0.0, "ms": [1000.0]})
    events["lags"].append({"at": 2.0, "ms": [0.0] * 50 + [500.0]})
    middle, high, highest = bombs.lags_of(events, 1.0)
    assert 120 < middle < 130
    assert 480 < high < 500
    assert highest == 500


def test_resemblance_is_that_of_shingles_without_marks() -> None:
    text = "one two three four five six"
    assert resemblance(text, text.replace("e", "e\u0301")) == 1
    assert resemblance(text, f"{text} seven") == pytest.approx(2 / 3)
    assert resemblance(text, "other words") == 0
