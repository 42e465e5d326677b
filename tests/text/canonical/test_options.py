"""Options of canonicalisation: marks, segmentation and lemmas."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from shingling import canonical_words
from shingling.errors import SchemeError
from shingling.text import PARTS_OF_SPEECH, Canonicaliser
from shingling.text.languages import packs
from tests.text.canonical.packs import CHINESE, JAPANESE, PACKS, canonicaliser_with, needs_all_packs


def test_a_canonicaliser_is_a_value() -> None:
    one = Canonicaliser(language="en", drop=("prepositions", "adjectives"))
    same = Canonicaliser(language="en", drop=["adjectives", "prepositions", "adjectives"])  # type: ignore[arg-type]
    assert one == same
    assert hash(one) == hash(same)
    assert same.drop == ("adjectives", "prepositions")
    assert Canonicaliser(**dataclasses.asdict(one)) == one
    assert one != Canonicaliser(language="en")


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("language", "", "auto"),
        ("language", "EN", "auto"),
        ("language", "engl", "auto"),
        ("language", "en\n", "auto"),
        ("language", None, "auto"),
        ("markup", 1, "true or false"),
        ("keep_case", None, "true or false"),
        ("stop_words", "en", "true, false, short, long, a list of words"),
        ("lemmas", "Simplemma", "none or simplemma or pymorphy3"),
        ("lemmas", ["none"], "none or simplemma or pymorphy3"),
        ("chinese", "sudachipy", "characters or jieba or rjieba"),
        ("japanese", "jieba", "characters or sudachipy or budoux"),
        ("drop", "adjectives", ", ".join(PARTS_OF_SPEECH)),
        ("drop", [["adjectives"]], ", ".join(PARTS_OF_SPEECH)),
    ],
)
def test_a_value_not_accepted_is_an_error_that_tells_option_value_and_choices(
    option: str, value: object, accepted: str
) -> None:
    with pytest.raises(SchemeError) as error:
        Canonicaliser(**{option: value})  # type: ignore[arg-type]
    assert str(error.value).startswith(f"{option} {value!r} is not accepted: ")
    assert accepted in str(error.value)
    assert "\n" not in str(error.value)


def test_a_value_is_made_without_importing_any_pack() -> None:
    program = f"""
import sys
from shingling.text import Canonicaliser
before = set(sys.modules)  # another dependency may have imported some
Canonicaliser(stop_words=True, lemmas="pymorphy3", nouns=True, drop=["prepositions"],
              chinese="jieba", japanese="sudachipy")
Canonicaliser(markup=True).words("<p>text")
print(sorted(set({PACKS!r}) & (set(sys.modules) - before)))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[]\n"


@pytest.mark.parametrize(
    ("pack", "options", "extra"),
    [
        ("py3langid", {"stop_words": True}, "languages"),
        ("stopwordsiso", {"language": "en", "stop_words": "long"}, "languages"),
        ("snowballstemmer", {"language": "en", "stem": True}, "languages"),
        ("simplemma", {"language": "en", "lemmas": "simplemma"}, "languages"),
        ("simplemma", {"lemmas": "pymorphy3"}, "languages"),
        ("HanTa", {"language": "de", "nouns": True}, "tagger"),
        ("HanTa", {"drop": ("adjectives",)}, "tagger"),
        ("pymorphy3", {"language": "ru", "nouns": True}, "russian"),
        ("pymorphy3", {"lemmas": "pymorphy3"}, "russian"),
        ("jieba", {"language": "zh", "chinese": "jieba"}, "chinese"),
        ("rjieba", {"chinese": "rjieba"}, "chinese"),
        ("sudachipy", {"language": "ja", "japanese": "sudachipy"}, "japanese"),
        ("sudachidict_core", {"language": "ja", "japanese": "sudachipy"}, "japanese"),
        ("budoux", {"japanese": "budoux"}, "japanese"),
    ],
)
def test_a_missing_pack_is_an_error_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, pack: str, options: dict[str, Any], extra: str
) -> None:
    canonicaliser = canonicaliser_with(**options)
    monkeypatch.setattr(packs, "_installed", packs._installed.__wrapped__)  # without its cache
    monkeypatch.setitem(sys.modules, pack, None)
    for call in (canonicaliser.require_packs, lambda: canonicaliser.words("text")):
        with pytest.raises(SchemeError) as error:
            call()
        assert pack in str(error.value)
        assert "pip install" in str(error.value)
        assert str(error.value).endswith(f"(extra {extra})")
        assert "\n" not in str(error.value)


@needs_all_packs
def test_several_missing_packs_are_installed_by_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "_installed", packs._installed.__wrapped__)
    for pack in ("HanTa", "pymorphy3", "py3langid"):
        monkeypatch.setitem(sys.modules, pack, None)
    line = r"pip install py3langid HanTa pymorphy3 \(extra languages, tagger, russian\)"
    with pytest.raises(SchemeError, match=rf"py3langid, HanTa, pymorphy3, .*{line}"):
        Canonicaliser(nouns=True).require_packs()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"markup": True, "keep_case": True, "keep_punctuation": True},
        {"language": "fr", "nouns": True, "drop": ("adjectives",)},
        {"language": "en", "chinese": "jieba", "japanese": "sudachipy"},
        {"language": "zh", "japanese": "budoux"},
        {"language": "ja", "chinese": "rjieba"},
    ],
)
def test_options_that_cannot_take_effect_need_no_pack(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    for pack in PACKS:
        monkeypatch.setitem(sys.modules, pack, None)
    assert Canonicaliser(**options).words("one 漢字") == ["one", "漢", "字"]


# Options, with what they make of texts by language.
_LONG, _LEMMAS, _NOUNS = {"stop_words": "long"}, {"lemmas": "simplemma"}, {"nouns": True}
_KEPT = {"keep_case": True, "keep_punctuation": True}
_WORDS: list[tuple[dict[str, Any], str, str, str]] = [
    (_LONG, "en", "The cat is on THE mat, isn't it?", "cat mat"),
    (_LONG, "ru", "Он не был в лесу", "лесу"),
    (_LONG, "ar", "ذهب الولد من البيت", "ذهب الولد البيت"),
    (_LONG, "zh", "我们的书", "书"),
    (_LONG, "nb", "Det er en fin dag", "fin dag"),
    (_LONG, "xx", "The cat", "the cat"),
    ({"stop_words": True} | _LEMMAS, "en", "It WAS the", ""),
    ({"stop_words": True} | _KEPT, "en", "The Cat, AND.", "Cat , ."),
    # Stop words are dropped before the others are brought to their stems.
    ({"stop_words": True, "stem": True}, "en", "This is having its features", "featur"),
    ({"stem": True}, "en", "He connects connected CONNECTIONS", "he connect connect connect"),
    ({"stem": True}, "ru", "сравнение сравнения сравнению", "сравнен сравнен сравнен"),
    ({"stem": True}, "de", "Häuser Hauses", "haus haus"),
    ({"stem": True}, "nn", "katten kattene", "katt katt"),
    ({"stem": True}, "zh", "漢字", "漢 字"),
    ({"stop_words": True, "chinese": "jieba"}, "zh", "我们的书", "书"),
    (_LEMMAS, "en", "Running MICE were better", "run mouse be good"),
    (_LEMMAS, "de", "Die Straßen der Häuser", "der strasse der haus"),
    (_LEMMAS, "ru", "Мыши бежали домами", "мышь бежать дом"),
    (_LEMMAS, "fr", "les maisons étaient belles", "le maison être beau"),
    (_LEMMAS, "he", "ספרים", "ספר"),
    (_LEMMAS, "ar", "الكتب", "كتاب"),
    (_LEMMAS, "hr", "kućama", "kuća"),
    (_LEMMAS, "zh", "书 abc", "书 abc"),
    (_LEMMAS, "xx", "Running mice", "running mice"),
    ({"lemmas": "pymorphy3"}, "en", "mice ran", "mouse run"),
    ({"lemmas": "pymorphy3"}, "ru", "ещё еще ДЕТИ abc 漢", "ещё ещё ребёнок abc 漢"),
    (_NOUNS, "en", "The children saw mice in the cities", "the child saw mouse in the city"),
    (_NOUNS, "en", "CHILDREN Children running houses", "child child running house"),
    (_NOUNS, "de", "Die Häuser in den Städten der Länder", "die haus in den stadt der land"),
    (_NOUNS, "ru", "дети шли домами с ножницами", "ребёнок шли дом с ножницы"),
    (_NOUNS, "fr", "les maisons", "les maisons"),
    (_NOUNS, "xx", "Houses", "houses"),
    ({"drop": ["adjectives"]}, "en", "The big old house is better", "the house is"),
    ({"drop": ["conjunctions"]}, "en", "cats and dogs because it rains", "cats dogs it rains"),
    ({"drop": ["determiners"]}, "en", "The cat of my mother", "cat of mother"),
    ({"drop": ["interjections"]}, "en", "oh no cats", "no cats"),
    ({"drop": ["prepositions"]}, "en", "cats of them in houses", "cats them houses"),
    ({"drop": ["adjectives"]}, "de", "Das große Haus ist schön", "das haus ist"),
    ({"drop": ["conjunctions"]}, "de", "Hund und Katze weil es regnet", "hund katze es regnet"),
    ({"drop": ["determiners"]}, "de", "Die Katze sah unseren Hund", "katze sah hund"),
    ({"drop": ["interjections"]}, "de", "ach das Haus", "das haus"),
    ({"drop": ["prepositions"]}, "de", "Wir gehen mit ihm zum Haus", "wir gehen ihm haus"),
    ({"drop": ["adjectives"]}, "ru", "Красивый дом высок и мой", "дом и мой"),
    ({"drop": ["conjunctions"]}, "ru", "Дом и сад но нет", "дом сад нет"),
    ({"drop": ["determiners"]}, "ru", "Мой красивый дом", "красивый дом"),
    ({"drop": ["interjections"]}, "ru", "ох дом", "дом"),
    ({"drop": ["prepositions"]}, "ru", "Дом у моря для нас", "дом моря нас"),
    ({"drop": ["prepositions"]}, "fr", "dans la maison", "dans la maison"),
]


@pytest.mark.parametrize(("options", "language", "text", "words"), _WORDS)
def test_stop_words_stems_lemmas_and_parts_of_speech_are_those_of_the_language(
    options: dict[str, Any], language: str, text: str, words: str
) -> None:
    assert canonicaliser_with(language=language, **options).words(text) == words.split()


def test_a_text_of_stop_words_has_no_words() -> None:
    assert canonicaliser_with(stop_words=True).words("The and of it was, but there they were") == []


def test_lemmas_do_not_depend_on_case() -> None:
    canonicaliser = canonicaliser_with(language="de", lemmas="simplemma")
    text = "Die Häuser standen in den großen Städten"
    assert canonicaliser.words(text.upper().replace("SS", "ẞ")) == canonicaliser.words(text)


def test_case_is_kept_on_demand() -> None:
    canonicaliser = Canonicaliser(keep_case=True)
    assert canonicaliser.words("The STRASSE Straße ﬁne Ⅳ İ") == [
        *["The", "STRASSE", "Straße", "fine", "IV", "İ"]
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't, “stop”!", ["don", "'", "t", ",", "“", "stop", "”", "!"]),
        ("a--b ... c", ["a", "-", "-", "b", ".", ".", ".", "c"]),
        ("Hi 😀👍🏽 5€", ["hi", "😀", "👍", "🏽", "5", "€"]),
        ("漢字。かな、", ["漢", "字", "。", "か", "な", "、"]),
        ("שלום, עולם!", ["שלום", ",", "עולם", "!"]),
        ("a\0b\ud800c\u200bd", ["a", "b", "cd"]),
        ("1≠2 =\u0338", ["1", "≠", "2", "≠"]),
    ],
)
def test_each_punctuation_mark_or_symbol_is_a_word_on_demand(text: str, words: list[str]) -> None:
    assert Canonicaliser(keep_punctuation=True).words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>One</p><p>two</p>", ["one", "two"]),
        ("<h1>A</h1>b<br>c<br/>d<td>e", ["a", "b", "c", "d", "e"]),
        ("<b>w</b>or<i class='x'>d</i>", ["word"]),
        ("a <!-- <p>no</p> --> b<!---->c", ["a", "bc"]),
        ("<script>if (a < b) x('</p>')</script>t<STYLE>p > a {}</STYLE >u", ["tu"]),
        ("<!DOCTYPE html><?php x ?><![CDATA[y]]>t", ["t"]),
        ('<a title="1 > 0 <b>x</b>" href=\'"\'>t</a>', ["t"]),
        ('<a title="not closed>t</a>', ["t"]),
        ("a < b and c > d", ["a", "b", "and", "c", "d"]),
        ("i<3 u, 1<2", ["i", "3", "u", "1", "2"]),
        ("a <b and so on", ["a", "b", "and", "so", "on"]),
        ("x <- y", ["x", "y"]),
        ("caf&eacute; &amp;lt; &#x41;&#66;&nbsp;c", ["café", "ab", "c"]),
        ("&lt;b&gt;bold&lt;/b&gt;", ["b", "bold", "b"]),
        ("co&shy;op &unknown; &", ["coop", "unknown"]),
        ("a&#xD800;b&#0;c", ["a", "b", "c"]),
        (f"a &#{'9' * 31}; &#x{'f' * 30}; b", ["a", "b"]),
        (f"a &#{'9' * 5000}; b", ["a", "9" * 5000, "b"]),
        ("not <!-- closed", ["not"]),
        ("not <script> closed", ["not"]),
        ("<scripted>t</scripted>", ["t"]),
        ("", []),
        ("<", []),
        ("<p", ["p"]),
    ],
)
def test_markup_is_taken_out_of_the_text_and_nothing_else(text: str, words: list[str]) -> None:
    assert Canonicaliser(markup=True).words(text) == words


def test_without_the_option_markup_is_text() -> None:
    assert Canonicaliser().words("<b>x</b>") == ["b", "x", "b"]


@pytest.mark.parametrize(
    ("option", "pack", "words"),
    [
        ("chinese", "jieba", "我 来到 北京 清华大学 他 来到 了 iphone15 大厦"),
        ("chinese", "rjieba", "我 来到 北京 清华大学 他 来到 了 iphone15 大厦"),
        ("japanese", "sudachipy", "国家公務員 は 東京都 へ 行っ た iphone15 を 買う ガール"),
        ("japanese", "budoux", "国家公務員は 東京都へ 行った iphone15 を 買う ガール"),
    ],
)
def test_chinese_and_japanese_are_cut_into_words_or_phrases(
    option: str, pack: str, words: str
) -> None:
    text = {"chinese": CHINESE, "japanese": JAPANESE}[option]
    assert canonicaliser_with(**{option: pack}).words(text) == words.split()


def test_packs_for_one_language_leave_the_other_alone() -> None:
    canonicaliser = canonicaliser_with(chinese="jieba", japanese="budoux")
    assert canonicaliser_with(chinese="jieba").words(JAPANESE) == canonical_words(JAPANESE)
    assert canonicaliser_with(japanese="budoux").words(CHINESE) == canonical_words(CHINESE)
    assert canonicaliser_with(language="zh", chinese="jieba").words("清华大学のカナ") == [
        *["清华大学", "の", "カ", "ナ"]
    ]
    assert canonicaliser.words(CHINESE) != canonical_words(CHINESE)
    assert canonicaliser.words(JAPANESE) != canonical_words(JAPANESE)


@pytest.mark.parametrize(
    ("language", "pack", "letters"),
    [
        ("zh", "rjieba", "清华大学"),
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
