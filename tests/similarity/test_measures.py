"""The measures of two texts: worked examples, and each against its definition."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise, product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling import Scheme, compare
from shingling.rules.defaults import MIN_WORDS_FOR_SIMHASH
from shingling.similarity import (
    DocumentFrequencies,
    Weighting,
    align,
    cosine,
    equal_supershingles,
    longest_common_run,
    word_diff,
)
from shingling.sketch import Idf, SimhashFeatures
from shingling.sketch.minhash import minima
from shingling.text import Canonicaliser

_WORDS = st.lists(st.sampled_from("abc"), max_size=25)


# Worked examples


def test_the_russian_example_shares_a_quarter() -> None:
    """Shared shingles per word of the first text, as articles on the algorithm count."""
    pytest.importorskip("pymorphy3")
    russian = Canonicaliser(language="ru", drop=("prepositions",), lemmas="pymorphy3")
    a, b = "Текст для сравнения номер один", "Текст для сравнения номер два"
    report = compare(a, b, Scheme(3, canonical=russian))

    assert russian.words(a) == ["текст", "сравнение", "номер", "один"]
    assert (report.words_a, report.shingles_a, report.shared) == (4, 2, 1)
    assert report.per_word == 25.0
    assert report.dice == 50.0


_CAT = "the cat sat on the mat"
_OTHER_CAT = "the cat sat on a mat"
_ICE_CREAM = "we all scream for ice cream"


@pytest.mark.parametrize("features", ["words", "words:1-3", "characters:4"])
@pytest.mark.parametrize("bits", [32, 64])
def test_cats_on_mats_are_more_alike_than_cats_and_ice_cream(features: str, bits: int) -> None:
    scheme = Scheme(simhash=SimhashFeatures(bits=bits, features=features))
    cats = compare(_CAT, _OTHER_CAT, scheme)
    others = [compare(cat, _ICE_CREAM, scheme) for cat in (_CAT, _OTHER_CAT)]
    for other in others:
        assert cats.simhash_likeness > other.simhash_likeness
        assert cats.cosine > other.cosine == 0.0
    assert cats.cosine == pytest.approx(0.803, abs=0.001)


def test_short_texts_are_warned_of_where_a_simhash_is_looked_at() -> None:
    long = " ".join(f"w{n}" for n in range(MIN_WORDS_FOR_SIMHASH))
    assert compare(long, long + " more").warnings == []
    [warning] = compare(long, "two words").warnings
    assert "2 words" in warning
    assert compare("same", "same").warnings == [], "equal texts have equal SimHashes"


# Supershingles and megashingles


@pytest.mark.parametrize("resemblance", [0.8, 0.9, 0.95])
def test_two_equal_supershingles_are_as_probable_as_the_formula_says(resemblance: float) -> None:
    """P = 1 - (1 - q)^6 - 6 q (1 - q)^5 with q = s^14."""
    union, pairs, found = 400, 600, 0
    shared = round(union * resemblance)
    own = (union - shared) // 2
    for pair in range(pairs):
        values = np.random.default_rng(pair).integers(0, 2**64, shared + 2 * own, np.uint64)
        a = minima(values[: shared + own])
        b = minima(np.concatenate([values[:shared], values[shared + own :]]))
        equal = equal_supershingles(a, b)
        runs = (a == b).reshape(6, 14).all(axis=1)
        megashingles = sum(bool(runs[i] and runs[j]) for i in range(6) for j in range(i))
        assert megashingles == equal * (equal - 1) // 2
        assert (equal >= 2) == (megashingles >= 1)
        found += equal >= 2
    q = (shared / (shared + 2 * own)) ** 14
    expected = 1 - (1 - q) ** 6 - 6 * q * (1 - q) ** 5
    error = sqrt(expected * (1 - expected) / pairs)
    assert abs(found / pairs - expected) < 3.5 * error


# Cosine


@given(_WORDS, _WORDS)
def test_the_cosine_is_that_of_tf_idf_over_the_two_texts(a: list[str], b: list[str]) -> None:
    """As scikit-learn's TfidfVectorizer does it: smoothed idf, and length 1."""
    first, second = Counter(a), Counter(b)
    idf = {
        word: log(3 / (1 + (word in first) + (word in second))) + 1 for word in {*first, *second}
    }
    dot = sum(first[word] * second[word] * idf[word] ** 2 for word in idf)
    lengths = [sqrt(sum((c[word] * idf[word]) ** 2 for word in idf)) for c in (first, second)]
    expected = dot / (lengths[0] * lengths[1]) if a and b else 0.0
    assert cosine(a, b) == pytest.approx(expected)


def test_rare_words_that_two_texts_share_make_them_more_alike_by_a_learned_table() -> None:
    idf = Idf.learn([["the", "common"]] * 98 + [["the", "rare"]] * 2)
    a, b = ["the", "rare", "x"], ["the", "rare", "y"]
    c, d = ["the", "common", "x"], ["the", "common", "y"]
    weighting = Weighting(frequencies=DocumentFrequencies.of_table(idf))
    assert cosine(a, b, weighting) > cosine(c, d, weighting)
    scheme = Scheme(simhash=SimhashFeatures(features="words", idf=idf))
    assert compare(" ".join(a), " ".join(b), scheme).cosine == cosine(a, b, weighting)


# Runs


def _longest(a: list[str], b: list[str]) -> tuple[int, int]:
    best = (0, 0)
    for start in range(len(a)):
        for other in range(len(b)):
            length = 0
            while (
                start + length < len(a)
                and other + length < len(b)
                and a[start + length] == b[other + length]
            ):
                length += 1
            if length > best[0]:
                best = (length, start)
    return best


@settings(max_examples=300)
@given(_WORDS, _WORDS)
def test_the_longest_common_run_is_that_of_brute_force(a: list[str], b: list[str]) -> None:
    run = longest_common_run(a, b)
    assert (run.words, run.a) == _longest(a, b)
    assert a[run.a : run.a + run.words] == b[run.b : run.b + run.words]


@settings(max_examples=200)
@given(_WORDS, _WORDS)
def test_subsequence_and_edits_are_those_of_the_textbook(a: list[str], b: list[str]) -> None:
    pytest.importorskip("rapidfuzz")
    subsequence = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    edits = [[i + j if not i * j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in product(range(len(a)), range(len(b))):
        same = a[i] == b[j]
        longest = max(subsequence[i][j + 1], subsequence[i + 1][j])
        subsequence[i + 1][j + 1] = subsequence[i][j] + 1 if same else longest
        fewest = min(edits[i][j + 1], edits[i + 1][j], edits[i][j])
        edits[i + 1][j + 1] = edits[i][j] if same else fewest + 1
    assert align(a, b) == (subsequence[-1][-1], edits[-1][-1])


def test_texts_of_more_than_ten_thousand_million_pairs_of_words_are_not_aligned() -> None:
    words = ["a"] * 100_001
    assert align(words, words) is None
    report = compare(" ".join(words), "a")
    assert report.edit_distance == 100_000


def test_long_runs_are_found_in_long_texts() -> None:
    chance = random.Random(1)
    passage = [str(chance.random()) for _ in range(12_345)]
    a = [*("a" * 5000), *passage, *("b" * 9000)]
    b = [*("b" * 8000), *passage, *("a" * 4000)]
    assert longest_common_run(a, b) == (12_345, 5000, 8000)


# Differences


@given(_WORDS, _WORDS)
def test_a_difference_holds_both_texts_whole(a: list[str], b: list[str]) -> None:
    changes = word_diff("\n".join(a), " ".join(b))
    assert " ".join(change.a for change in changes if change.a).split() == a
    assert " ".join(change.b for change in changes if change.b).split() == b
    for change in changes:
        assert change.same == (change.a == change.b)
    assert all(x.same != y.same for x, y in pairwise(changes))


def test_a_difference_names_the_words_and_ignores_case_and_punctuation() -> None:
    changes = word_diff(
        "One line.\nThe price is 5 euros today", "ONE line\nThe price, is 6 euros — today!"
    )
    assert [(change.a, change.b) for change in changes if not change.same] == [("5", "6")]
    assert word_diff("", "") == []
    [change] = word_diff("", "new")
    assert change == (False, "", "new")


def test_scripts_without_spaces_differ_letter_by_letter() -> None:
    changes = word_diff("今天下雨，二十个人。", "昨天下雨，三十个人。")
    assert [(change.a, change.b) for change in changes if not change.same] == [
        ("今", "昨"),
        ("二", "三"),
    ]
    assert changes[1].a == "天下雨，"


def test_very_many_words_that_differ_in_a_row_are_not_taken_apart() -> None:
    chance = random.Random(1)
    a = " ".join(f"w{chance.randrange(300)}" for _ in range(20_000))
    b = " ".join(f"w{chance.randrange(300)}" for _ in range(20_000))
    assert [change.same for change in word_diff(a, b)] == [False]


def test_the_difference_of_long_texts_takes_no_long_time() -> None:
    lines = [" ".join(f"w{n}x{m}" for m in range(20)) for n in range(5000)]
    other = [*lines[:2000], "something else", *lines[2001:]]
    changes = word_diff("\n".join(lines), "\n".join(other))
    assert [change.b for change in changes if not change.same] == ["something else"]
