"""Any text and any options: no error, linear time, the same words again."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from shingling import canonical_words
from shingling.text import PARTS_OF_SPEECH, Canonicaliser
from tests.hostile.growth import is_linear
from tests.text.canonical.packs import CHINESE, JAPANESE, canonicaliser_with, needs_all_packs

_EVERYTHING: dict[str, Any] = {
    "markup": True,
    "stop_words": True,
    "lemmas": "pymorphy3",
    "nouns": True,
    "drop": PARTS_OF_SPEECH,
    "chinese": "jieba",
    "japanese": "sudachipy",
    "stem": True,
}
_SEVERAL: list[dict[str, Any]] = [
    {"keep_case": True},
    {"keep_punctuation": True},
    {"markup": True},
    _EVERYTHING,
    _EVERYTHING | {"keep_case": True, "keep_punctuation": True},
    *[_EVERYTHING | {"language": language} for language in ("en", "de", "ru", "zh", "ja")],
    *[_EVERYTHING | {"language": language} for language in ("he", "ar")],
    {"language": "zh", "chinese": "rjieba"},
    {"language": "ja", "japanese": "budoux"},
    {"language": "tr", "lemmas": "simplemma"},
    {"language": "el", "lemmas": "simplemma"},
    {"language": "el", "stem": True, "sort_words": "sentence"},
    {"language": "ru", "stop_words": ("long", "+漢", "-я"), "sort_words": "text"},
]
_WITHOUT_EFFECT: list[dict[str, Any]] = [
    {"language": "xx", "stop_words": True},
    {"language": "zh", "stop_words": True, "stem": True},
    {"language": "xx", "lemmas": "simplemma"},
    {"language": "fr", "nouns": True, "drop": PARTS_OF_SPEECH},
    {"language": "en", "chinese": "jieba", "japanese": "sudachipy"},
]
_ANY_TEXT = st.one_of(
    st.text(st.characters(categories=None)),
    st.lists(
        st.sampled_from(
            [
                *["漢", "字", "の", "カ", "\u3099", "ー", "㍿", "я", "ё", "Мыши", "mice"],
                *["\0", "\ud800", "\u0301", "\u0345", "\u200b", "\ufe0f", "😀", "\u202e", "ﬁ"],
                *["<", ">", '"', "=", "&", "#", ";", "<!--", "<a ", "</script>", "<script>"],
                *[" ", ".", "。", "1", "'", "ẞ", "İ", "Σ", "Häuser", "שָׁ", "مُ"],
            ]
        ),
        max_size=40,
    ).map("".join),
)


@needs_all_packs
@given(_ANY_TEXT, st.sampled_from(_SEVERAL))
@example("ʼ漢\u3099", {"language": "zh", "chinese": "jieba"})
@example("社\u0345", {"language": "en", "lemmas": "simplemma"})
@example("\u0378я", {"language": "ru", "nouns": True})
def test_any_text_has_words_without_white_space_and_always_the_same(
    text: str, options: dict[str, Any]
) -> None:
    canonicaliser = Canonicaliser(**options)
    words = canonicaliser.words(text)
    assert canonicaliser.words(text) == words
    for word in words:
        assert word.split() == [word]
        assert word.encode("utf-8")


@needs_all_packs
@given(_ANY_TEXT, st.sampled_from([{}, *_WITHOUT_EFFECT]))
@example("社\u0345 \u00b5", {"language": "xx", "lemmas": "simplemma"})
@example("İ\u3099", {"language": "xx", "lemmas": "simplemma"})
def test_options_without_effect_on_a_language_give_the_canonical_words(
    text: str, options: dict[str, Any]
) -> None:
    assert Canonicaliser(**options).words(text) == canonical_words(text)


@given(_ANY_TEXT)
def test_kept_case_and_punctuation_are_all_that_is_kept(text: str) -> None:
    kept = Canonicaliser(keep_case=True, keep_punctuation=True).words(text)
    assert "".join(canonical_words(" ".join(kept))) == "".join(canonical_words(text))


def test_no_code_point_stops_any_pack() -> None:
    # Of ideographs and syllables of Hangul, which are all of one kind, every 64th.
    alike = {*range(0x3400, 0xA000), *range(0xAC00, 0xD7A4)} - {*range(0, 0x10000, 64)}
    text = " ".join(chr(number) for number in range(0x10000) if number not in alike)
    for language in ("en", "ru", "zh", "ja"):
        assert canonicaliser_with(**_EVERYTHING | {"language": language}).words(text)


@pytest.mark.parametrize("word", ["word", "слово", "漢"])
def test_the_time_grows_with_the_number_of_words(word: str) -> None:
    words = canonicaliser_with(language="en", lemmas="simplemma", stop_words=True).words
    assert is_linear(words, lambda number: f"{word} another {word}, " * (number // 3), 200_000)


def test_a_word_may_be_a_million_letters_long() -> None:
    for options in _SEVERAL:
        assert len(canonicaliser_with(**options).words("ж" * 1_000_000)) == 1


def test_packs_write_nothing_to_the_console() -> None:
    canonicaliser = canonicaliser_with(language="zh", chinese="jieba")
    program = f"from shingling.text import Canonicaliser\n{canonicaliser!r}.words({CHINESE!r})"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, check=True
    )
    assert (run.stdout, run.stderr) == (b"", b"")


def test_several_threads_may_ask_for_words_at_once() -> None:
    canonicaliser = canonicaliser_with(language="ja", japanese="sudachipy")
    text = JAPANESE * 500
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(canonicaliser.words, [text] * 20))
    assert all(words == results[0] for words in results)
