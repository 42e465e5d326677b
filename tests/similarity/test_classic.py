"""Shingles by their checksums, with the values that articles on the algorithm print."""

from __future__ import annotations

import hashlib
import random

import crcmod
import pytest
from hypothesis import given, strategies as st

from shingling import shingles
from shingling.errors import SchemeError
from shingling.similarity import classic_overlap
from shingling.text import Canonicaliser, canonical_words
from tests.peers import checksum_shingles as peer

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


@pytest.mark.parametrize("shingle", PRINTED)
def test_a_russian_shingle_has_the_value_that_php_prints(shingle: str) -> None:
    [value] = shingles(shingle.split(" "), 3, signed=True)
    assert value == PRINTED[shingle]
    [unsigned] = shingles(shingle.split(" "), 3)
    assert unsigned == PRINTED[shingle] % 2**32


def test_a_whole_text_has_the_values_that_php_prints() -> None:
    words = _words(FIGURE)
    assert words == peer.clean_words(FIGURE)
    assert shingles(words, 3, signed=True)[:5] == [*PRINTED.values()][:5]
    assert shingles(words, 3, signed=True) == peer.signed_checksums(words)


def test_the_russian_example_shares_13_04_percent() -> None:
    """Three of 23: PHP leaves the capital of the first text, which parts a fourth shingle."""
    a, b = _words(CLUB), _words(FIGURE)
    found = classic_overlap(a, b, 3, 1, "crc32")
    assert (found.words_a, found.shared) == (23, 3)
    shared = {*shingles(b, 3, signed=True)}
    at = [place for place, value in enumerate(shingles(a, 3, signed=True)) if value in shared]
    assert at == [13, 14, 18]
    assert round(found.per_word, 2) == round(peer.percent_of_words(CLUB, FIGURE), 2) == 13.04


def test_numbers_one_and_two_share_25_percent() -> None:
    one, two = "Текст для сравнения номер один", "Текст для сравнения номер два"
    found = classic_overlap(_words(two), _words(one), 3, 1, "crc32")
    assert found.per_word == peer.percent_of_words(two, one) == 25.0


@given(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.lists(st.sampled_from("abc"), max_size=30),
    st.integers(1, 4),
)
def test_dice_is_that_of_all_shingles_with_their_repeats(
    a: list[str], b: list[str], size: int
) -> None:
    found = classic_overlap(a, b, size, 1, "crc32")
    if found.a + found.b:
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


def test_long_texts_of_short_words_take_linear_time() -> None:
    words = random.Random(1).choices("abcdefgh", k=300_000)
    assert len(shingles(words, 10)) == 299_991
    assert shingles("." * 20_000) == []
