"""How alike two texts are, how well 84 minima estimate it, and which page one follows."""

from __future__ import annotations

import gzip
import json
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from shingling import Rules, Scheme, canonical_words, compare, sign
from shingling.errors import SchemeError
from shingling.similarity.match_rule import MAX_CANDIDATES_MEASURED, MatchRule
from shingling.similarity.measures import estimate, ranked
from shingling.sketch import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_WORDS = st.lists(st.sampled_from("abc"), max_size=30).map(" ".join)
_LONG = " ".join(f"word{number}" for number in range(300))


def _shingles(text: str, size: int) -> set[tuple[str, ...]]:
    """The shingles of a text as a Python set, without any hashing."""
    words = canonical_words(text)
    size = min(size, len(words))
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)} if words else set()


def _jaccard(a: set[Any], b: set[Any]) -> float:
    return len(a & b) / len(a | b) if a | b else 0.0


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        pytest.skip(f"no {path.parent.name} in DEDUP_DATA")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


def _assert_theory_holds(pairs: Iterable[tuple[float, float]], within: float = 0.15) -> None:
    """Assert that (truth, estimate) pairs show no bias and the standard error of the theory."""
    truth, found = np.array(list(pairs)).T
    inside = (truth > 0) & (truth < 1)
    errors = found - truth
    variances = truth * (1 - truth) / 84

    assert inside.sum() >= 100
    assert abs(errors.sum()) <= 3 * sqrt(variances.sum())
    spread = sqrt(np.mean(errors[inside] ** 2) / np.mean(variances[inside]))
    assert spread == pytest.approx(1, abs=within)
    # What shares nothing, or everything, leaves no room for an error.
    assert np.all(errors[truth == 1] == 0)


def _measured(
    pairs: Iterable[tuple[str, str]], size: int, family: str = "affine"
) -> list[tuple[float, float]]:
    """Return (resemblance by Python sets, estimate) of pairs of texts."""
    scheme = Scheme(size, family=family)
    return [
        (
            _jaccard(_shingles(a, size), _shingles(b, size)),
            estimate(sign(a, scheme), sign(b, scheme)),
        )
        for a, b in pairs
    ]


@settings(max_examples=40)
@given(_WORDS.filter(bool), st.sampled_from(FAMILIES))
@example(_LONG, "affine")
def test_any_text_with_words_resembles_itself_wholly(text: str, family: str) -> None:
    report = compare(text, text.upper() + "\n", Scheme(family=family))
    assert report.exact
    assert report.cosine == pytest.approx(1.0)
    assert report.words_a == report.longest_run == report.longest_subsequence
    assert report.shared == report.shingles_a
    assert report.per_word == 100 * report.shared / report.words_a
    assert (report.resemblance, report.estimate, report.dice) == (1.0, 1.0, 100.0)
    assert (report.containment_a, report.containment_b, report.standard_error) == (1.0, 1.0, 0.0)
    assert (report.supershingles, report.megashingles, report.simhash_distance) == (6, 15, 0)
    assert (report.simhash_likeness, report.edit_distance) == (1.0, 0)


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", _LONG), (_LONG, ""), ("", "!?"), ("one", "")])
def test_a_text_without_words_resembles_nothing_not_even_itself(a: str, b: str) -> None:
    report = compare(a, b)
    assert not report.exact
    assert (report.shared, report.resemblance, report.estimate, report.dice) == (0, 0.0, 0.0, 0.0)
    assert (report.containment_a, report.containment_b, report.standard_error) == (0.0, 0.0, 0.0)
    assert (report.supershingles, report.megashingles) == (0, 0)
    assert (report.cosine, report.simhash_likeness, report.simhash_distance) == (0.0, 0.0, 64)
    assert (report.words_a, report.words_b) == (len(canonical_words(a)), len(canonical_words(b)))


@given(_WORDS, _WORDS, st.integers(1, 6))
@example("a b c a b", "a b c", 5)
def test_resemblance_and_containment_are_those_of_python_sets(a: str, b: str, size: int) -> None:
    first, second = _shingles(a, size), _shingles(b, size)
    report = compare(a, b, Scheme(size))
    assert (report.shingles_a, report.shingles_b) == (len(first), len(second))
    assert report.shared == len(first & second)
    assert report.resemblance == _jaccard(first, second)
    assert report.containment_a == (len(first & second) / len(first) if first else 0.0)
    assert report.containment_b == (len(first & second) / len(second) if second else 0.0)
    assert report.standard_error == sqrt(report.resemblance * (1 - report.resemblance) / 84)
    assert report.exact == (bool(a) and a == b)
    assert report.per_word == 100 * report.shared / max(report.words_a, 1)
    assert report.dice == pytest.approx(200 * report.resemblance / (1 + report.resemblance))
    assert report.megashingles == report.supershingles * (report.supershingles - 1) // 2
    assert report.simhash_likeness == (64 - report.simhash_distance) / 64


def test_signatures_of_two_schemes_cannot_be_compared() -> None:
    with pytest.raises(SchemeError, match="two schemes"):
        estimate(sign(_LONG, Scheme(3)), sign(_LONG, Scheme(5)))


@pytest.mark.parametrize(
    ("changed", "family"),
    [(1, "affine"), (3, "affine"), (10, "affine"), (25, "affine"), (45, "affine"), (10, "crc")],
)
def test_estimates_of_structured_price_tables_obey_theory(changed: int, family: str) -> None:
    random = np.random.default_rng(changed)
    pairs = []
    for table in range(300):
        first = random.integers(100, 1000, 60)
        second = first.copy()
        second[random.choice(60, changed, replace=False)] += 1
        # Words of its own for every table: shingles that all the tables share would give all of
        # them the same error, and 300 pairs would count as one.
        a, b = (
            " ".join(f"item{table} {row:04} price{table} {price} eur" for row, price in rows)
            for rows in (enumerate(first), enumerate(second))
        )
        pairs.append((a, b))
    _assert_theory_holds(_measured(pairs, 3, family), within=0.1)


@pytest.mark.data
@pytest.mark.parametrize(("size", "family"), [(3, "affine"), (5, "crc")])
def test_estimates_of_500_real_pairs_obey_theory(data: Path, size: int, family: str) -> None:
    folders = ("copycat", "tgcontest", "clough-stevenson")
    rows = [row for name in folders for row in _rows(data / name / "pairs.jsonl.gz")]
    pairs = _measured(((row["a"], row["b"]) for row in rows), size, family)
    assert len(pairs) >= 500
    _assert_theory_holds(pairs, within=0.1)


# What makes a page follow an original


def test_the_nearest_estimates_are_measured_and_no_more_than_the_limit() -> None:
    rule = MatchRule.by(Rules(threshold=0.5, templates=False))
    estimates = np.linspace(0.2, 0.9, 100)
    places = [place for place, _ in ranked(estimates, rule.min_estimate, MAX_CANDIDATES_MEASURED)]
    assert places == [*range(99, 99 - MAX_CANDIDATES_MEASURED, -1)]
    estimates = np.array([rule.min_estimate - 0.01, rule.min_estimate])
    assert ranked(estimates, rule.min_estimate, 2) == [(1, rule.min_estimate)]
