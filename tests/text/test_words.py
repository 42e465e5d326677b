"""Words, blocks, and texts that are prepared for both."""

from __future__ import annotations

import pickle
import string
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from shingling import canonical_words
from shingling.text import Canonicaliser, PreparedText
from shingling.text.prepared import MAX_BLOCKS, hash_blocks, split_lines

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


# What becomes of texts, by the rule that they show; NFKC has its own order of marks.
_RULES = {
    "case is folded": [
        ("The QUICK Fox", "the quick fox"),
        ("Straße STRASSE", "strasse strasse"),
        ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
        ("İ\u0327 i\u0307\u0327 i\u0327\u0307 i\u0301\u0307", "i\u0327 i\u0327 i\u0327 í\u0307"),
        ("Ёлка ЁЛКА", "ёлка ёлка"),
        ("ŒUVRE Žluťoučký", "œuvre žluťoučký"),
    ],
    "compatible characters are one": [
        ("ﬁne ﬀ ﬃ", "fine ff ffi"),
        ("ＡＢＣ１２３", "abc123"),
        ("ｶﾞｷﾞ", "ガ ギ"),
        ("x² ① Ⅳ", "x2 1 iv"),
        ("e\u0301te\u0301", "été"),
        ("\u1112\u1161\u11ab", "한"),
        ("ℌ𝐨𝐮𝐬𝐞", "house"),
    ],
    "what shows nothing does not keep apart what combines": [
        ("e\u200b\u0301 \u1112\u00ad\u1161", "é 하"),
    ],
    "marks stay with their letters": [
        ("हिंदी भाषा", "हिंदी भाषा"),
        ("ދިވެހި ބަސް", "ދިވެހި ބަސް"),
        ("தமிழ் மொழி", "தமிழ் மொழி"),
        ("q\u0307\u0323 x", "q\u0323\u0307 x"),
    ],
    "marks of Hebrew, Arabic and Syriac are left out": [
        ("שָׁלוֹם עוֹלָם", "שלום עולם"),
        ("مُحَمَّد رَسُول", "محمد رسول"),
        ("ܫܠܳܡܳܐ", "ܫܠܡܐ"),
    ],
    "in scripts without spaces a letter with its marks is a word": [
        ("漢字", "漢 字"),
        ("ひらがな", "ひ ら が な"),
        ("カタカナー", "カ タ カ ナ ー"),
        ("𠀀𠀁", "𠀀 𠀁"),
        ("人々〇", "人 々 〇"),
        ("ภาษาไทย", "ภ า ษ า ไ ท ย"),
        ("น้ำที่", "น\u0e49\u0e4d า ที่"),  # NFKC makes a mark and a letter of SARA AM
        ("ພາສາ", "ພ າ ສ າ"),
        ("ខ្មែរ", "ខ្ មែ រ"),
        ("မြန်မာ", "မြ န် မာ"),
    ],
    "letters of scripts without spaces are cut from their neighbours": [
        ("漢字kana123かな", "漢 字 kana123 か な"),
        ("iPhone15を買う", "iphone15 を 買 う"),
        ("2024年5月", "2024 年 5 月"),
        ("ราคา100บาท", "ร า ค า 100 บ า ท"),
        ("Москва東京서울", "москва 東 京 서울"),
        ("漢,字。か", "漢 字 か"),
    ],
    "Korean and Russian are cut at spaces": [
        ("한국어 문장입니다.", "한국어 문장입니다"),
        ("Это, по-русски!", "это по русски"),
    ],
    "NUL and lone surrogates separate words": [
        ("a\0b é\0b", "a b é b"),
        ("a\ud800b\udfffc", "a b c"),
        ("a\ud840\udc00b", "a b"),
        ("a\ud840\u200b\udc00b", "a b"),
    ],
}


@pytest.mark.parametrize(
    ("rule", "text", "words"),
    [(rule, *pair) for rule, pairs in _RULES.items() for pair in pairs],
)
def test_a_text_has_the_words_that_the_rules_give(rule: str, text: str, words: str) -> None:
    assert canonical_words(text) == unicodedata.normalize("NFKC", words).split(), rule


@pytest.mark.parametrize(
    "hidden",
    ["\u00ad", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u034f", "\u202e", "\ufe0f"],
)
def test_characters_that_show_nothing_are_taken_out_of_words(hidden: str) -> None:
    assert canonical_words(f"co{hidden}operation{hidden} {hidden} é") == ["cooperation", "é"]
    assert canonical_words(hidden * 3) == []


@pytest.mark.parametrize("between", ["_", "'", "’", "-", "–", ".", "/", "@", "\u00a0", "\u3000"])
def test_underscores_apostrophes_and_punctuation_separate(between: str) -> None:
    assert canonical_words(f"don{between}t") == ["don", "t"]
    assert canonical_words(f"été{between}là") == ["été", "là"]


@pytest.mark.parametrize(
    "text",
    [
        *("", " \t\r\n", "!?…—«»", "😀👩\u200d👩\u200d👧🏽", "🇩🇪", "$€£+=<>|~^`"),
        *("\0\x1b\x7f\x85", "\ud800\udfff"),
    ],
)
def test_punctuation_symbols_and_controls_are_no_words(text: str) -> None:
    assert canonical_words(text) == []
    assert canonical_words(f"a{text} é") == ["a", "é"]


_LINES = st.lists(st.text() | st.text(st.sampled_from(" aß9٣.\t\u2028\x1c\ud800"), max_size=8))


def keys(text: str) -> list[int]:
    found: list[int] = hash_blocks(text)[0].tolist()
    return found


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\u3000", "\x1c\u2028\x85"])
def test_a_text_of_blanks_has_no_blocks(text: str) -> None:
    lines, blocks = split_lines(text), hash_blocks(text)[0]
    assert lines == []
    assert (blocks.shape, blocks.dtype) == ((0,), np.dtype(np.uint64))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Read more about us", "READ MORE ABOUT US", True),
        ("Straße und Haus", "STRASSE UND HAUS", True),
        ("Read more about us", "  Read\tmore   about us\r", True),
        ("© 2024 The Site, 3 comments", "© 2025 The Site, 12 comments", True),
        ("Updated 9:05", "Updated 10:59", True),
        ("٣ تعليقات", "12 تعليقات", True),
        ("Read more about us", "Read more about them", False),
        ("Read more about us", "about us Read more", False),
        ("Read more about us", "Read more about us today", False),
        ("Read more", "Readmore", False),
        ("Part 1", "Part one", False),
        ("w-1 " * 40, "w-2 " * 40, False),
        ("字1" * 60, "字2" * 60, False),
        ("Read 999 times", "Read 1,234 times", True),
        ("Index +0.35 %", "Index −1.20 %", True),
        ("Read by 1 234 567", "Read by 98 765", True),
        ("Sources [1,2]", "Sources [1, 2]", True),
        ("3h ago", "12h ago", True),
        ("780MB free", "64MB free", True),
        ("Request id 1a2b3c4d", "Request id ffe0123456", True),
        ("Id 1a2b3c4d-55aa-4f2b-9c0d-aabbccddeeff", "Id deadbeef", False),
        ("Id 1a2b3c4d-55aa-4f2b-9c0d-aabbccddee0f", "Id 99aabbcc", True),
        ("python3 library", "python2 library", False),
        ("i386 kernel", "i486 kernel", False),
        ("decade of the facade", "facade of the decade", False),
        ("Open 9 to 17, " * 4 + "closed", "Open 8 to 16, " * 4 + "closed", True),
        ("第1章 天地玄黄宇宙洪荒日月盈昃" * 8, "第2章 天地玄黄宇宙洪荒日月盈昃" * 8, True),
    ],
)
def test_the_key_of_a_block_is_that_of_its_words_without_case_and_numbers(
    a: str, b: str, same: bool
) -> None:
    assert (keys(a) == keys(b)) is same
    assert len(keys(a)) == len(keys(b)) == 1


_WITH_LETTERS = _LINES.map(lambda lines: [f"{line} a".replace("\n", "a\na") for line in lines])


@given(_WITH_LETTERS)
@example(["a", "", "\r", "b\x85c", "\u2028", "İ", "ﬁ", "ς"])
@example(["1\n2", "3 4"])
@example(["Menu", "  The  text", " \t\u3000", "MENU"])
def test_the_key_of_a_block_with_letters_does_not_depend_on_what_is_around_it(
    lines: list[str],
) -> None:
    joined = "\n".join(lines)
    found, blocks = split_lines(joined), hash_blocks(joined)[0]
    assert found == [line for text in lines for line in text.split("\n") if line.split()]
    assert blocks.tolist() == [key for text in lines for key in keys(text)]


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("Rooms\n3", "Rooms\n14", True),
        ("Rooms\n0", "Rooms\n3", True),
        ("غرف\n٣", "غرف\n١٤", True),
        ("A label of six and more words\n3", "A label of six and more words\n4", False),
        ("In 2024\n3", "In 2024\n4", False),
        ("3\n7", "3\n8", False),
    ],
)
def test_a_number_alone_is_one_line_with_the_label_before_it(
    text: str, other: str, same: bool
) -> None:
    (first, has_numbers), (second, _) = map(hash_blocks, (text, other))
    assert bool(first[-1] == second[-1]) is same
    assert bool(has_numbers[-1]) is same
    assert keys("Rooms\n3")[-1] != keys("Floor\n3")[-1]


def test_a_text_of_very_many_lines_has_a_last_block_of_all_that_is_left() -> None:
    text = "\n".join(f"line{number}" for number in range(MAX_BLOCKS + 1000))
    lines, blocks = split_lines(text), hash_blocks(text)[0]
    assert len(lines) == len(blocks) == MAX_BLOCKS
    assert lines[-2:] == [f"line{MAX_BLOCKS - 2}", text[text.index(f"line{MAX_BLOCKS - 1}") :]]
    assert "\n".join(lines) == text


@given(
    st.lists(st.text(st.sampled_from("aß9٣.\t \n"), min_size=1, max_size=8), max_size=40).map(
        " ".join
    )
)
@example("word 12 \n" + "\t" * 40 + "1\na 2024-05")
def test_a_text_that_is_looked_at_in_pieces_has_the_same_blocks(text: str) -> None:
    lines, blocks = split_lines(text), hash_blocks(text)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shingling.text.prepared._MAX_PIECE", 12)
        same = hash_blocks(text)[0]
    assert len(blocks) == len(lines)
    assert same.tolist() == blocks.tolist()


def test_words_longer_than_a_piece_have_a_key() -> None:
    text = "a1b2" * 50_000
    assert keys(text) == keys(text.upper())
    assert keys(text) != keys(text + "x")
    assert keys(f"{text} menu 5") == keys(f"{text}   menu 17")


TEXT = "Bridge reopens\n\nThe bridge over the river was opened again.\n***\nCafé 24\n桥又开放了"


def test_a_prepared_text_has_its_blocks_with_their_words_and_characters() -> None:
    text = PreparedText(TEXT).ready(Canonicaliser())
    lines = split_lines(TEXT)
    assert text.lines == lines
    assert text.keys.tolist() == keys(TEXT)
    assert text.characters.tolist() == [*map(len, lines)]
    assert text.words is not None
    assert text.words.tolist() == [2, 8, 0, 2, 5]
    assert text.words.sum() == len(canonical_words(TEXT))


def test_another_process_gets_all_but_the_text_which_it_unpacks_when_it_is_needed() -> None:
    text = PreparedText(TEXT).ready(Canonicaliser())
    sent = pickle.loads(pickle.dumps(text))  # noqa: S301 (ours)
    assert {"text", "lines"}.isdisjoint(vars(sent))
    assert sent.packed == text.packed
    assert sent.keys.tolist() == text.keys.tolist()
    assert sent.words is not None
    assert "text" not in vars(sent)
    assert sent.text == TEXT
    assert sent == text
    assert hash(sent) == hash(text)


def test_a_packed_text_is_the_same_again_but_for_what_utf_8_cannot_have() -> None:
    text = PreparedText(TEXT)
    sent = pickle.loads(pickle.dumps(text))  # noqa: S301 (ours)
    for again in (sent, PreparedText.unpacked(text.packed)):
        assert again.text == TEXT
        assert again.lines == text.lines
        assert again != PreparedText(f"{TEXT} ")
    assert PreparedText.unpacked(PreparedText("a\ud800b").packed).text == "a?b"


@pytest.mark.parametrize(
    "canonical",
    [
        Canonicaliser(markup=True),
        Canonicaliser(keep_punctuation=True),
        Canonicaliser(language="en", stop_words=True),
    ],
)
def test_words_of_blocks_are_not_counted_where_they_may_not_add_up(
    canonical: Canonicaliser,
) -> None:
    assert PreparedText(TEXT).ready(canonical).words is None
