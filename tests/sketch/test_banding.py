"""Minima to bands: what makes two pages candidates."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling.errors import SchemeError
from shingling.sketch import FUNCTIONS, Banding

_KNOWN: dict[str, list[int]] = json.loads(
    Path(__file__).with_name("known_answers.json").read_bytes()
)["bands_of_0_to_83"]
_BANDINGS = [Banding(bands, 84 // bands) for bands in range(1, 85) if 84 % bands == 0]
_MINIMA = st.lists(st.integers(0, 2**32 - 1), min_size=84, max_size=84)
_MASK = (1 << 64) - 1


def _reference_key(number: int, values: list[int]) -> int:
    """Band `number`, counted from 1, as a polynomial whose first coefficient is the number."""
    value = number
    for minimum in values:
        value = value * 0x9E3779B97F4A7C15 + minimum & _MASK
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * multiplier & _MASK
    value ^= value >> 33
    return value - (1 << 64) if value >> 63 else value


@pytest.mark.parametrize(
    ("bands", "rows"), [(14, 5), (84, 84), (0, 0), (0, 84), (-14, -6), (-1, -84), (85, 1), (6, 15)]
)
def test_bands_that_do_not_cut_up_84_minima_are_refused(bands: int, rows: int) -> None:
    with pytest.raises(SchemeError, match="84"):
        Banding(bands, rows)


@pytest.mark.parametrize(
    ("threshold", "bands", "rows"),
    [(1.0, 1, 84), (0.95, 6, 14), (0.9, 12, 7), (0.8, 14, 6), (0.5, 28, 3), (0.01, 84, 1)],
)
def test_the_banding_of_a_threshold_is_the_cheapest_that_finds_it(
    threshold: float, bands: int, rows: int
) -> None:
    assert Banding.for_threshold(threshold) == Banding(bands, rows)


@given(st.floats(0.04, 1.0))
def test_no_banding_with_fewer_bands_finds_the_threshold(threshold: float) -> None:
    chosen = Banding.for_threshold(threshold)
    assert chosen.finds(threshold)
    assert chosen.recall(threshold) >= 0.95
    for banding in _BANDINGS:
        if banding.bands < chosen.bands:
            assert not banding.finds(threshold)


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.01, float("nan")])
def test_a_threshold_that_is_none_has_no_bands(threshold: float) -> None:
    with pytest.raises(SchemeError, match="is not accepted"):
        Banding.for_threshold(threshold)


@pytest.mark.parametrize("resemblance", [0.3, 0.6, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("bands", [6, 14, 28, 84])
def test_pairs_of_constructed_minima_share_a_band_as_often_as_recall_says(
    bands: int, resemblance: float
) -> None:
    random = np.random.default_rng(84)
    pairs = 3000
    first = random.integers(0, 2**32, (pairs, FUNCTIONS), dtype=np.uint32)
    other = random.integers(0, 2**32, (pairs, FUNCTIONS), dtype=np.uint32)
    second = np.where(random.random((pairs, FUNCTIONS)) < resemblance, first, other)
    banding = Banding(bands, 84 // bands)
    found = float(np.mean(np.any(banding.keys([*first]) == banding.keys([*second]), axis=1)))
    recall = banding.recall(resemblance)
    assert abs(found - recall) <= 4 * sqrt(recall * (1 - recall) / pairs) + 1 / pairs


@settings(max_examples=40)
@given(_MINIMA, st.sampled_from(_BANDINGS))
def test_keys_equal_the_slow_reference(values: list[int], banding: Banding) -> None:
    expected = [
        _reference_key(band + 1, values[band * banding.rows : (band + 1) * banding.rows])
        for band in range(banding.bands)
    ]
    assert banding.keys([np.array(values, dtype=np.uint32)]).tolist() == [expected]


@pytest.mark.parametrize("name", sorted(_KNOWN))
def test_keys_equal_the_committed_known_answers(name: str) -> None:
    bands, rows = map(int, name.split(" x "))
    keys = Banding(bands, rows).keys([np.arange(84, dtype=np.uint32)])
    assert keys[0, :6].tolist() == _KNOWN[name]


def test_no_signatures_have_no_keys() -> None:
    assert Banding(14, 6).keys([]).shape == (0, 14)
