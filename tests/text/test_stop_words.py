"""Stop words, stemmers and sorted words: which words an option drops, changes and moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from shingling import canonical_words
from shingling.errors import SchemeError
from shingling.sketch import Scheme, SimhashFeatures, sign
from shingling.store.model import Page
from shingling.store.store import Store
from shingling.text import Canonicaliser
from shingling.text.canonical import WordsLeft
from shingling.text.languages import function_words, packs, read_lines
from tests.text.canonical.packs import canonicaliser_with

if TYPE_CHECKING:
    from pathlib import Path

_CONTENT = {
    "da": "ikke ingen aldrig uden to tre år krig",
    "de": "nicht kein keine nie ohne zwei drei jahr krieg computer",
    "en": "not no nor never without one two three year war million computer may us",
    "es": "no nunca sin nada dos tres año guerra",
    "fi": "ei en et emme eivät kaksi kolme vuosi sota",
    "fr": "ne n pas jamais sans rien deux trois année guerre",
    "it": "non mai senza nulla due tre anno guerra",
    "ja": "ない ん ず 一 二 年 戦争",
    "nl": "niet geen nooit zonder twee drie jaar oorlog",
    "no": "ikke ikkje ingen aldri uten to tre år krig",
    "pl": "nie nigdy bez dwa trzy rok wojna",
    "pt": "não nunca sem nada dois três ano guerra",
    "ru": "не ни нет без никогда один два три год война человек",
    "sv": "inte ej ingen aldrig utan två tre år krig",
    "uk": "не ні немає без ніколи один два три рік війна",
    "zh": "不 没 没有 無 一 二 三 年 战争",
}
_LANGUAGES = [*_CONTENT]
_TEXT = "The cats were not on the mat, and one computer ran. Это текст номер один."


# Lists


def test_there_are_short_lists_of_sixteen_languages() -> None:
    assert sorted(function_words()) == _LANGUAGES
    assert all(90 < len(words) < 300 for words in function_words().values())


@pytest.mark.parametrize("language", _LANGUAGES)
def test_no_negation_number_or_content_word_is_in_a_short_list(language: str) -> None:
    assert function_words()[language] & {*_CONTENT[language].split()} == set()


@pytest.mark.parametrize("language", sorted({*_LANGUAGES} - {"ja", "zh"}))
def test_an_entry_of_a_short_list_is_one_word(language: str) -> None:
    assert [word for word in function_words()[language] if canonical_words(word) != [word]] == []


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("en", "The cat is not on THE mat, isn't it?", "cat not mat isn t"),
        ("de", "Die Katze liegt nicht auf der Matte", "katze liegt nicht matte"),
        ("ru", "Он не был в лесу", "не лесу"),
        ("ru", "Это текст для сравнения, номер один", "текст сравнения номер один"),
        ("ru", "Это текст для сравнения, номер два", "текст сравнения номер два"),
        ("fr", "L'été n'est pas sur la table", "été n pas table"),
        ("nb", "Det er ikke en fin dag", "ikke fin dag"),
        ("nn", "Det er ikkje ein fin dag", "ikkje fin dag"),
        ("he", "הילד הלך אל הבית", "הילד הלך אל הבית"),
        ("zh", "我们的书", "我 们 的 书"),
    ],
)
def test_the_short_list_of_the_language_drops_function_words(
    language: str, text: str, words: str
) -> None:
    for option in (True, "short"):
        assert Canonicaliser(language=language, stop_words=option).words(text) == words.split()


@pytest.mark.parametrize(
    ("stop", "words"),
    [
        (["Cats", "ＭＡＴ", "это"], "the were not on the and one computer ran текст номер один"),
        ("+computer", "cats not mat one ran это текст номер один"),
        ("-the -on +not", "the cats on the mat one computer ran это текст номер один"),
        (["long", "-computer", "-one"], "cats mat one computer это текст номер один"),
        ([], " ".join(canonical_words(_TEXT))),
    ],
)
def test_a_list_of_ones_own_replaces_or_changes_that_of_the_package(stop: Any, words: str) -> None:
    assert canonicaliser_with(language="en", stop_words=stop).words(_TEXT) == words.split()


def test_a_list_of_ones_own_needs_no_language_and_no_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "detect", pytest.fail)
    monkeypatch.setattr(packs, "_installed", lambda _: False)
    assert Canonicaliser(stop_words=["text"]).words("a text") == ["a"]  # type: ignore[arg-type]
    assert Canonicaliser(language="en", stop_words=True).words("a text") == ["text"]


@pytest.mark.parametrize(
    "stop", ["words.txt", "", ["a b"], [""], ["+"], ["+a", "b"], ["+a", "-a"], [1], {"a"}, None, 1]
)
def test_other_stop_words_are_refused_in_one_line(stop: Any) -> None:
    with pytest.raises(SchemeError, match=r"stop_words[^\n]*\Z"):
        Canonicaliser(stop_words=stop)


def test_equal_lists_are_equal_in_any_order_and_case() -> None:
    one = Canonicaliser(stop_words=["The", "a", "a"])  # type: ignore[arg-type]
    other = Canonicaliser(stop_words=("a", "the"))
    assert one == other
    assert Scheme(canonical=one).id == Scheme(canonical=other).id


def test_a_file_has_a_word_a_line_and_comments() -> None:
    assert read_lines("# mine\nthe\n\n  and # not or\r\n+x") == ["the", "and", "+x"]


# Schemes


def test_the_stop_words_of_a_file_are_in_the_scheme() -> None:
    scheme = Scheme.from_dict({"canonical": {"stop_words": ["und", "oder"]}})
    assert Scheme.from_json(scheme.to_json()) == scheme
    assert scheme.describe()["canonical"]["stop_words"] == ["oder", "und"]
    many = Scheme.from_dict({"canonical": {"stop_words": [f"w{n}" for n in range(1234)]}})
    assert many.describe()["canonical"]["stop_words"] == "1,234 words"


# Keywords


def _keywords(language: str) -> Scheme:
    simhash = SimhashFeatures(features="words", keywords=2)
    return Scheme(canonical=Canonicaliser(language), simhash=simhash)


def test_keywords_are_no_function_words_where_the_language_is_known() -> None:
    text = "The the the of of of cat and mat"
    known, unknown = _keywords("en"), _keywords("auto")
    assert sign(text, known).simhash == sign("cat mat", known).simhash
    assert sign(text, unknown).simhash == sign("the the of of", unknown).simhash
    assert sign(text, known).minima.tolist() == sign(text, unknown).minima.tolist()


def test_a_text_of_function_words_alone_has_them_as_keywords() -> None:
    text = "the and of the"
    assert sign(text, _keywords("en")).simhash == sign(text, _keywords("auto")).simhash


# Stems and order


def test_there_is_a_stemmer_for_every_language_that_is_named() -> None:
    pytest.importorskip("snowballstemmer")
    assert all(packs.stem("word", language) for language in packs._STEMMERS)
    assert canonicaliser_with(language="xx", stem=True).options_without_effect() == ["stem"]
    assert canonicaliser_with(language="pl", stem=True).options_without_effect() == []


def test_words_are_sorted_in_each_sentence_or_in_the_text() -> None:
    text = "Sun and moon rise. Do bees fly? 3.5 miles\n太陽。月"
    assert Canonicaliser(sort_words="sentence").words(text) == [
        *["and", "moon", "rise", "sun", "bees", "do", "fly", "3", "5", "miles", "太", "陽", "月"]
    ]
    assert Canonicaliser(sort_words="text").words(text) == sorted(canonical_words(text))


@given(st.text(), st.sampled_from(["sentence", "text"]))
def test_sorting_neither_adds_nor_drops_words(text: str, order: str) -> None:
    assert sorted(Canonicaliser(sort_words=order).words(text)) == sorted(canonical_words(text))


# What is left of a text


_LITTLE, _MUCH = "the cat and a dog " * 5, "the cats chase dogs " * 5


def test_words_are_counted_as_they_are_cut() -> None:
    assert Canonicaliser(language="en", stop_words=True).count_left("the cat and a dog") == (2, 5)
    assert Canonicaliser(stop_words=["cat"]).count_left("...") == (0, 0)  # type: ignore[arg-type]
    assert canonicaliser_with(language="zh", chinese="jieba").count_left("我来到北京清华大学") == (
        4,
        4,
    )


@pytest.mark.parametrize(
    ("texts", "warnings"),
    [
        ([_LITTLE] * 50, 1),
        ([_LITTLE] * 4, 0),
        ([_LITTLE, _MUCH] * 25, 1),
        ([_LITTLE, _MUCH, _MUCH] * 20, 0),
        (["the cat and a dog"] * 50, 0),
        ([_MUCH] * 20 + [_LITTLE] * 50, 0),
    ],
)
def test_little_left_of_most_of_the_first_texts_is_warned_of_once(
    texts: list[str], warnings: int, caplog: pytest.LogCaptureFixture
) -> None:
    left = WordsLeft(Canonicaliser(language="en", stop_words=True))
    for text in texts:
        if left.is_open:
            left.count_words_of(text)
    assert len(caplog.records) == warnings
    assert all("more than half of the words of" in record.message for record in caplog.records)


@pytest.mark.parametrize(
    "options", [{}, {"lemmas": "simplemma", "stem": True}, {"keep_case": True}]
)
def test_nothing_is_counted_where_no_words_are_dropped(options: dict[str, Any]) -> None:
    assert not WordsLeft(Canonicaliser(**options)).is_open


def test_a_store_warns_once_of_little_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    english = {"canonical": {"language": "en", "stop_words": True}}
    url = f"sqlite:///{tmp_path / 'store.db'}"
    pages = [Page(url=f"https://a.test/{n}", text=f"{_LITTLE} {n}") for n in range(30)]
    with Store.open(url, scheme=Scheme.from_dict(english)) as store:
        store.check(pages[:3])
        store.check(pages[3:])
    told = [record.message for record in caplog.records]
    assert len(told) == 1
    assert "of 5 of the first 5 texts" in told[0]
