"""Text to canonical words."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import example, given, strategies as st

from shingling import canonical_words

# Pieces that combine with each other: jamo, marks, ligatures, unspaced scripts, invisible ones.
_TRICKY = st.lists(
    st.one_of(
        st.characters(),
        st.characters(categories=["Mn", "Mc", "Me", "Cf", "Cs"]),
        st.characters(min_codepoint=0x1100, max_codepoint=0x11FF),
        st.characters(min_codepoint=0xFE00, max_codepoint=0xFFEF),
        st.sampled_from("aé1 .漢กカ゛゙ﾞ각각İßﬁſΣς\u0345\u00ad\u200d\u3164\ud800"),
    ),
    max_size=20,
).map("".join)


@given(st.text(st.characters(max_codepoint=127)))
@example(string.printable)
@example("A\x1cB\x1dC\x1eD\x1fE\x85F_G")
def test_the_short_way_for_ascii_gives_the_words_of_the_long_way(text: str) -> None:
    assert canonical_words(text + " é") == [*canonical_words(text), "é"]


@given(st.text() | _TRICKY)
@example("\u1112\u1161\u11ab\u1100\u1173\u11af")
@example("α\u0345\u0303 ᾳ̃")
@example("\u0301\u0323a\u0323\u0301")
@example("\ufdfa ㌀ ½ ①")
@example("カ\u00ad\u3099")
def test_words_are_the_canonical_words_of_themselves(text: str) -> None:
    words = canonical_words(text)

    assert canonical_words(" ".join(words)) == words


@given(_TRICKY)
@example("\U0002ebe1\U000323af")
def test_a_word_holds_only_letters_digits_marks_and_ideographs_to_come(text: str) -> None:
    for char in "".join(canonical_words(text)):
        # Ideographs that this Python does not know yet, and a later one does, are letters too.
        later = 0x20000 <= ord(char) <= 0x323AF and unicodedata.category(char) == "Cn"
        assert later or char.isalnum() or unicodedata.category(char) in ("Mn", "Mc")


@given(st.text())
def test_normal_forms_of_a_text_have_the_same_words(text: str) -> None:
    words = canonical_words(text)

    assert canonical_words(unicodedata.normalize("NFC", text)) == words
    assert canonical_words(unicodedata.normalize("NFD", text)) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The QUICK Fox", ["the", "quick", "fox"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
        ("Ёлка ЁЛКА", ["ёлка", "ёлка"]),
        ("ŒUVRE Žluťoučký", ["œuvre", "žluťoučký"]),
    ],
)
def test_case_is_folded(text: str, words: list[str]) -> None:
    assert canonical_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ﬁne ﬀ ﬃ", ["fine", "ff", "ffi"]),
        ("ＡＢＣ１２３", ["abc123"]),
        ("ｶﾞｷﾞ", ["ガ", "ギ"]),
        ("x² ① Ⅳ", ["x2", "1", "iv"]),
        ("e\u0301te\u0301", ["été"]),
        ("\u1112\u1161\u11ab", ["한"]),
        ("ℌ𝐨𝐮𝐬𝐞", ["house"]),
    ],
)
def test_compatible_characters_are_one(text: str, words: list[str]) -> None:
    assert canonical_words(text) == words


@pytest.mark.parametrize(
    "hidden",
    ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u034f", "\u202e", "\ufe0f"],
)
def test_characters_that_show_nothing_are_taken_out_of_words(hidden: str) -> None:
    assert canonical_words(f"co{hidden}operation{hidden} {hidden} é") == ["cooperation", "é"]
    assert canonical_words(hidden * 3) == []


def test_characters_that_showed_nothing_do_not_keep_apart_what_combines() -> None:
    assert canonical_words("e\u200b\u0301 \u1112\u00ad\u1161") == ["é", "하"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם עוֹלָם", ["שָׁלוֹם", "עוֹלָם"]),
        ("مُحَمَّد رَسُول", ["مُحَمَّد", "رَسُول"]),
        ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
        ("q\u0307\u0323 x", ["q\u0323\u0307", "x"]),
    ],
)
def test_marks_stay_with_their_letters(text: str, words: list[str]) -> None:
    assert canonical_words(text) == [unicodedata.normalize("NFKC", word) for word in words]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("漢字", ["漢", "字"]),
        ("ひらがな", ["ひ", "ら", "が", "な"]),
        ("カタカナー", ["カ", "タ", "カ", "ナ", "ー"]),
        ("𠀀𠀁", ["𠀀", "𠀁"]),
        ("人々〇", ["人", "々", "〇"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("น้ำที่", ["น\u0e49\u0e4d", "า", "ที่"]),  # NFKC makes a mark and a letter of SARA AM
        ("ພາສາ", ["ພ", "າ", "ສ", "າ"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
    ],
)
def test_in_scripts_without_spaces_a_letter_with_its_marks_is_a_word(
    text: str, words: list[str]
) -> None:
    assert canonical_words(text) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("漢字kana123かな", ["漢", "字", "kana123", "か", "な"]),
        ("iPhone15を買う", ["iphone15", "を", "買", "う"]),
        ("2024年5月", ["2024", "年", "5", "月"]),
        ("ราคา100บาท", ["ร", "า", "ค", "า", "100", "บ", "า", "ท"]),
        ("Москва東京서울", ["москва", "東", "京", "서울"]),
        ("漢,字。か", ["漢", "字", "か"]),
    ],
)
def test_letters_of_scripts_without_spaces_are_cut_from_their_neighbours(
    text: str, words: list[str]
) -> None:
    assert canonical_words(text) == words


def test_korean_and_russian_are_cut_at_spaces() -> None:
    assert canonical_words("한국어 문장입니다.") == ["한국어", "문장입니다"]
    assert canonical_words("Это, по-русски!") == ["это", "по", "русски"]


@pytest.mark.parametrize("between", ["_", "'", "’", "-", "–", ".", "/", "@", "\u00a0", "\u3000"])
def test_underscores_apostrophes_and_punctuation_separate(between: str) -> None:
    assert canonical_words(f"don{between}t") == ["don", "t"]
    assert canonical_words(f"été{between}là") == ["été", "là"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \t\r\n",
        "!?…—«»",
        "😀👩\u200d👩\u200d👧🏽",
        "🇩🇪",
        "$€£+=<>|~^`",
        "\0\x1b\x7f\x85",
        "\ud800\udfff",
    ],
)
def test_punctuation_symbols_and_controls_are_no_words(text: str) -> None:
    assert canonical_words(text) == []
    assert canonical_words(f"a{text} é") == ["a", "é"]


def test_nul_and_lone_surrogates_separate_words() -> None:
    assert canonical_words("a\0b") == ["a", "b"]
    assert canonical_words("é\0b") == ["é", "b"]
    assert canonical_words("a\ud800b\udfffc") == ["a", "b", "c"]


def test_two_surrogates_side_by_side_are_no_letter() -> None:
    assert canonical_words("a\ud840\udc00b") == ["a", "b"]
    assert canonical_words("a\ud840\u200b\udc00b") == ["a", "b"]


@pytest.mark.parametrize("word", ["word", "слово", "ﬁne", "e\u0301t"])
def test_a_text_of_a_million_words_has_a_million_words(word: str) -> None:
    words = canonical_words(f"{word} " * 1_000_000)

    assert len(words) == 1_000_000
    assert set(words) == set(canonical_words(word))
