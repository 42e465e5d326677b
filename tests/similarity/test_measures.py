"""The measures of two texts, and shingles by the checksums that articles print."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import pairwise, product
from math import log, sqrt
from typing import TYPE_CHECKING

import crcmod
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling import Scheme, compare, shingles
from shingling.errors import SchemeError
from shingling.rules import MIN_WORDS_FOR_SIMHASH
from shingling.similarity.classic import classic_overlap
from shingling.similarity.common_runs import align, longest_common_run
from shingling.similarity.cosines import DocumentFrequencies, Weighting, cosine
from shingling.similarity.diff import DiffStretch, _sentences, word_diff
from shingling.similarity.measures import equal_supershingles
from shingling.sketch import SimhashFeatures
from shingling.sketch.idf import Idf
from shingling.sketch.minhash import minima
from shingling.text import Canonicaliser, canonical_words
from tests.peers import algorithms as peer

if TYPE_CHECKING:
    from collections.abc import Callable

_WORDS = st.lists(st.sampled_from("abc"), max_size=25)


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


def _longest(a: list[str], b: list[str]) -> int:
    best = 0
    for start in range(len(a)):
        for other in range(len(b)):
            length = 0
            while (
                start + length < len(a)
                and other + length < len(b)
                and a[start + length] == b[other + length]
            ):
                length += 1
            best = max(best, length)
    return best


@settings(max_examples=300)
@given(_WORDS, _WORDS)
def test_the_longest_common_run_is_that_of_brute_force(a: list[str], b: list[str]) -> None:
    assert longest_common_run(a, b) == _longest(a, b)


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
    assert longest_common_run(a, b) == 12_345


# Differences


def assert_whole(changes: list[DiffStretch], a: str, b: str) -> None:
    """Changes hold all letters of both texts, and take turns with what is the same."""
    for text, parts in ((a, (one.a for one in changes)), (b, (one.b for one in changes))):
        assert re.sub(r"\W", "", "".join(parts)) == re.sub(r"\W", "", text)
    assert all(x.same != y.same for x, y in pairwise(changes))


@settings(max_examples=200)
@given(_WORDS, _WORDS)
def test_a_difference_holds_both_texts_whole_and_is_that_of_difflib(
    a: list[str], b: list[str]
) -> None:
    assert_whole(word_diff("\n".join(a), " ".join(b)), "\n".join(a), " ".join(b))
    changes = word_diff(" ".join(a), " ".join(b))
    opcodes = SequenceMatcher(None, a, b).get_opcodes()
    assert [(one.same, one.a.split(), one.b.split()) for one in changes] == [
        (tag == "equal", a[a_low:a_high], b[b_low:b_high])
        for tag, a_low, a_high, b_low, b_high in opcodes
    ]


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


FIGURE = (
    "Чтобы иметь стройную фигуру, вы должны заниматься спортом и правильно питаться."
    " Тренируйтесь у нас - это здоровье!"
)
CLUB = (
    'Девушки! Новый клуб "Бабочка" ждет вас: просторный зал, много тренажеров; опытный тренер'
    " покажет, как заниматься спортом и правильно питаться, чтобы иметь стройную фигуру и бодрый"
    " вид."
)

# Shingles of three words and what PHP's crc32 gives for them on a 32-bit system.
PRINTED = {
    "Чтобы иметь стройную": 281830324,
    "иметь стройную фигуру": 1184612177,
    "стройную фигуру вы": -30086073,
    "фигуру вы должны": -811305747,
    "вы должны заниматься": -308857406,
    "заниматься спортом правильно": 964071158,
    "спортом правильно питаться": 2144093920,
}


def _words(text: str) -> list[str]:
    """Words without those on the article's list, and with their case."""
    cut = Canonicaliser(keep_case=True).words(text)
    return [word for word in cut if word not in peer.DROPPED_WORDS]


def test_the_shingles_of_a_russian_text_have_the_values_that_php_prints() -> None:
    words = _words(FIGURE)
    assert words == peer.clean_words(FIGURE)
    values = shingles(words, 3, signed=True)
    assert values == peer.signed_checksums(words)
    assert shingles(words, 3) == [value % 2**32 for value in values]
    found = {" ".join(words[at : at + 3]): value for at, value in enumerate(values)}
    assert found.items() >= PRINTED.items()


def test_the_russian_example_shares_13_04_percent() -> None:
    """Three of 23: PHP leaves the capital of the first text, which parts a fourth shingle."""
    a, b = _words(CLUB), _words(FIGURE)
    found = classic_overlap(a, b, 3, 1, "crc32")
    assert (found.words_a, found.shared) == (23, 3)
    shared = {*shingles(b, 3, signed=True)}
    at = [place for place, value in enumerate(shingles(a, 3, signed=True)) if value in shared]
    assert at == [13, 14, 18]
    assert round(found.per_word, 2) == round(peer.percent_of_words(CLUB, FIGURE), 2) == 13.04


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.lists(st.sampled_from("abc"), max_size=30),
    st.integers(1, 4),
)
def test_dice_is_that_of_all_shingles_with_their_repeats(
    a: list[str], b: list[str], size: int
) -> None:
    found = classic_overlap(a, b, size, 1, "crc32")
    if found.shingles_a + found.shingles_b:
        assert found.dice == pytest.approx(peer.percent_by_dice(a, b, size))
    else:
        assert found.dice == 0.0


def test_shingles_overlap_or_stand_end_to_end() -> None:
    words = ["a", "b", "c", "d", "e", "f", "g"]
    texts = ["a b c", "b c d", "c d e", "d e f", "e f g"]
    crc = crcmod.predefined.mkPredefinedCrcFun("crc-32")
    assert shingles(words, 3) == [crc(text.encode()) for text in texts]
    assert shingles(words, 3, 3) == shingles(words, 3)[::3], "the last word is left"
    assert shingles(words, 3, 2, "md5") == [
        hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts[::2]
    ]
    assert shingles(words, 7, hash="sha1") == [
        hashlib.sha1(b"a b c d e f g", usedforsecurity=False).hexdigest()
    ]
    assert shingles(words, 8) == shingles("", 1) == []


def test_a_text_is_cut_into_canonical_words() -> None:
    text = "The Cat — sat, on the mat!"
    assert shingles(text, 2) == shingles(canonical_words(text), 2)
    assert shingles(text, 2, canonical=Canonicaliser(keep_case=True)) == shingles(
        ["The", "Cat", "sat", "on", "the", "mat"], 2
    )
    assert shingles("\ud800 lone", 1) == shingles(["lone"], 1)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [((0,), "size 0"), ((3, 0), "step 0"), ((True,), "size True"), ((3, 1, "crc16"), "crc16")],
)
def test_arguments_that_mean_nothing_are_refused(arguments: tuple[int], problem: str) -> None:
    with pytest.raises(SchemeError, match=problem):
        shingles("some words", *arguments)


def _vocabulary(size: int, count: int, seed: int, joint: str) -> str:
    chosen = random.Random(seed)
    return joint.join(f"w{chosen.randrange(size)}" for _ in range(count))


_HOSTILE: dict[str, Callable[[], tuple[str, str]]] = {
    "dots": lambda: ("." * 100_000, "." * 100_000 + " x"),
    "wide full stops": lambda: ("。" * 100_000, "。" * 100_000 + "字"),
    "lines": lambda: ("\n" * 100_000, "\n" * 99_999 + "x"),
    "one word": lambda: ("word " * 100_000, "word " * 99_999 + "end"),
    "one letter without spaces": lambda: ("字" * 100_000, "字" * 99_999 + "末"),
    "a small vocabulary": lambda: (
        _vocabulary(150, 100_000, 1, " "),
        _vocabulary(150, 100_000, 2, " "),
    ),
    "short sentences": lambda: (
        _vocabulary(5_000, 40_000, 1, ". "),
        _vocabulary(5_000, 40_000, 2, ". "),
    ),
    "every other word is missing": lambda: (
        " ".join(f"w{number}" for number in range(4_400)),
        " ".join(f"w{number}" for number in range(0, 4_400, 2)),
    ),
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_time_is_bounded_for_any_text(name: str) -> None:
    a, b = _HOSTILE[name]()
    assert_whole(word_diff(a, b), a, b)  # without a bound, it takes hours


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!? \n three", ["One. ", "Two!? \n ", "three"]),
        ("1.5 of it\nand more...", ["1.5 of it\n", "and more..."]),
        ("你好。。。真的？ 是！", ["你好。。。", "真的？ ", "是！"]),
    ],
)
def test_sentences_end_with_marks_and_lines(text: str, sentences: list[str]) -> None:
    assert [sentence for sentence in _sentences(text) if sentence] == sentences
