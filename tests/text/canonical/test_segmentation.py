"""Chinese and Japanese are cut into words, and languages are detected."""

from __future__ import annotations

from typing import Any

import pytest

from shingling import canonical_words
from shingling.text import PARTS_OF_SPEECH
from tests.support.canonicalisers import canonicaliser_with
from tests.text.canonical.packs import CHINESE, JAPANESE


@pytest.mark.parametrize("pack", ["jieba", "rjieba"])
def test_chinese_is_cut_into_words(pack: str) -> None:
    canonicaliser = canonicaliser_with(chinese=pack)

    assert canonicaliser.words(CHINESE) == [
        *["我", "来到", "北京", "清华大学", "他", "来到", "了", "iphone15", "大厦"]
    ]


@pytest.mark.parametrize(
    ("pack", "words"),
    [
        (
            "sudachipy",
            ["国家公務員", "は", "東京都", "へ", "行っ", "た", "iphone15", "を", "買う", "ガール"],
        ),
        ("budoux", ["国家公務員は", "東京都へ", "行った", "iphone15", "を", "買う", "ガール"]),
    ],
)
def test_japanese_is_cut_into_words_or_phrases(pack: str, words: list[str]) -> None:
    assert canonicaliser_with(japanese=pack).words(JAPANESE) == words


def test_packs_for_one_language_leave_the_other_alone() -> None:
    canonicaliser = canonicaliser_with(chinese="jieba", japanese="budoux")

    assert canonicaliser_with(chinese="jieba").words(JAPANESE) == canonical_words(JAPANESE)
    assert canonicaliser_with(japanese="budoux").words(CHINESE) == canonical_words(CHINESE)
    assert canonicaliser_with(language="zh", chinese="jieba").words("清华大学のカナ") == [
        *["清华大学", "の", "カ", "ナ"]
    ]
    assert canonicaliser.words(CHINESE) != canonical_words(CHINESE)
    assert canonicaliser.words(JAPANESE) != canonical_words(JAPANESE)


def test_stop_words_of_chinese_may_have_several_letters_where_words_do() -> None:
    assert canonicaliser_with(language="zh", chinese="jieba", stop_words=True).words(
        "我们的书"
    ) == ["书"]


@pytest.mark.parametrize(
    ("language", "pack", "letters"),
    [
        ("zh", "jieba", "清华大学"),
        ("zh", "rjieba", "清华大学"),
        ("ja", "sudachipy", "東京都へ"),
        ("ja", "budoux", "東京都へ"),
        ("zh", "jieba", "璁"),
        ("ja", "sudachipy", "ー"),
    ],
)
def test_no_run_of_letters_is_too_long_for_a_pack(language: str, pack: str, letters: str) -> None:
    option = {"zh": "chinese", "ja": "japanese"}[language]
    canonicaliser = canonicaliser_with(language=language, **{option: pack})
    run = letters * (60_000 // len(letters))

    assert "".join(canonicaliser.words(run)) == "".join(canonical_words(run))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The children were running over the old houses", "en"),
        ("Die alten Häuser standen in den großen Städten", "de"),
        ("Текст для сравнения номер один", "ru"),
        ("هذا نص باللغة العربية عن البيت", "ar"),
        ("זה טקסט בשפה העברית על הבית", "he"),
        (CHINESE, "zh"),
        (JAPANESE, "ja"),
        ("   \n\n" + " \t" * 500 + "Die alten Häuser standen in den großen Städten", "de"),
    ],
)
def test_the_language_is_detected(text: str, same: str) -> None:
    options: dict[str, Any] = {"lemmas": "pymorphy3", "nouns": True, "stop_words": True}
    options |= {"chinese": "jieba", "japanese": "sudachipy", "drop": PARTS_OF_SPEECH}

    assert canonicaliser_with(**options).words(text) == canonicaliser_with(
        language=same, **options
    ).words(text)
    assert canonicaliser_with(**options).words(text) != canonical_words(text)


@pytest.mark.parametrize("text", ["", " ", "x", "123", "😀😀", "\ud800", "\0", "?!", "hello"])
def test_a_text_too_short_to_tell_its_language_is_left_as_it_is(text: str) -> None:
    canonicaliser = canonicaliser_with(stop_words=True, lemmas="simplemma", chinese="rjieba")

    assert canonicaliser.words(text) == canonical_words(text)


def test_what_another_user_of_py3langid_sets_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    canonicaliser = canonicaliser_with(stop_words=True)
    py3langid = pytest.importorskip("py3langid")
    py3langid.set_languages(["fr", "ja"])
    try:
        assert canonicaliser.words("The cat was on the mat") == ["cat", "mat"]
    finally:
        py3langid.set_languages(None)
