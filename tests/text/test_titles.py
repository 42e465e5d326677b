"""Titles of pages: when two of them say the same, and what they consist of."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from shingling.text import scripts, split_numbering, title_key, title_parts
from shingling.text.prepared import hash_blocks


def parts(title: str) -> list[int]:
    return [*title_parts(title)]


@pytest.mark.parametrize("title", ["", " ", "?!", "— | »", "\u200b", "\u202e"])
def test_a_title_without_words_has_no_key_and_no_parts(title: str) -> None:
    assert title_key(title) == 0
    assert title_parts(title) == {}


RAIN = "Rain falls hard on the town"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (RAIN, "rain falls hard on the town", True),
        (RAIN, "Rain falls: hard on the town!", True),
        (RAIN, "On the town | Rain falls hard", True),
        (RAIN, "  RAIN  falls\nhard on — the town ", True),
        (RAIN, "Rain falls hard on the", False),
        (RAIN, "Rain falls hard on the town 2", False),
        (RAIN, "Rain falls hard on the towns", False),
        ("operator-=", "operator+", False),
        ("operator!=", "operator==", False),
        ("operator>", "operator>>", False),
        ("operator|", "operator||", False),
        ("operator()", "operator[]", False),
        ("operator--", "operator-", False),
        ("C", "C++", False),
        ("i & j", "i | j", False),
        ("−5 °C", "5 °C", False),
        ("\U0001f600", "\U0001f622", False),
    ],
)
def test_the_key_of_a_title_is_that_of_its_words_numbers_and_symbols_in_whatever_order(
    a: str, b: str, same: bool
) -> None:
    assert (title_key(a) == title_key(b)) is same
    assert same or parts(a) != parts(b)


@given(st.text())
@example("menu")
def test_the_key_of_a_title_has_64_bits_and_is_not_that_of_a_block(title: str) -> None:
    assert 0 <= title_key(title) < 1 << 64
    assert "\0" in title or title_key(title) not in hash_blocks(title)[0].tolist()


@pytest.mark.parametrize(
    "title",
    [
        "The Site | Local news | Rain falls hard on the town",
        "The Site - Local news - Rain falls hard on the town",
        "The Site – Local news — Rain falls hard on the town",
        "The Site » Local news » Rain falls hard on the town",
        "The Site: Local news: Rain falls hard on the town",
        "The Site · Local news • Rain falls hard on the town",
        "The Site|Local news›Rain falls hard on the town",
    ],
)
def test_a_title_consists_of_parts_of_which_the_longest_comes_first(title: str) -> None:
    headline, *others = parts(title)
    assert headline == title_key("Rain falls hard on the town")
    assert {*others} == {title_key("The Site"), title_key("Local news")}


@pytest.mark.parametrize(
    "title",
    [
        *("Jean-Luc well-known", "At 10:30 it rained", "Rain falls"),
        *("operator> (vector)", "operator| (bitset)", "operator>>"),
    ],
)
def test_a_mark_within_a_word_or_beside_it_does_not_part_a_title(title: str) -> None:
    assert parts(title) == [title_key(title)]


def test_parts_have_the_key_that_they_have_without_their_numbers() -> None:
    assert title_parts("Rain falls, day 12 | Page 3") == {
        title_key("Rain falls, day 12"): title_key("Rain falls, day 0"),
        title_key("Page 3"): title_key("Page 0"),
    }


@given(st.text() | st.text(st.sampled_from("ab1 |-:»\t\n"), max_size=20))
@example("|")
@example("- a")
@example(" : ")
def test_a_title_has_parts_if_it_has_a_key(title: str) -> None:
    assert bool(title_parts(title)) == bool(title_key(title))
    assert 0 not in title_parts(title)
    assert 0 not in title_parts(title).values()


@pytest.mark.parametrize(
    ("title", "number", "rest"),
    [
        ("Chapter\xa043.\xa0Boost.Units", "43", "Boost.Units"),
        ("2.5. memory and disk", "2.5", "memory and disk"),
        ("IV. The island", "IV", "The island"),
        ("Chapter Ⅳ. The island", "IV", "The island"),
        ("Appendix B. Licences", "B", "Licences"),
        ("B.4. Contents of the file", "B.4", "Contents of the file"),
        ("Κεφάλαιο 4. Εκκίνηση", "4", "Εκκίνηση"),
        ("12) Questions", "12", "Questions"),
        ("Music Glossary: 1.131 fingering", "1.131", "Music Glossary: fingering"),
        ("Manual — A.2 Templates", "A.2", "Manual — Templates"),
        ("Manual | Notes > 3. Pitches", "3", "Manual | Notes > Pitches"),
    ],
)
def test_the_number_that_a_title_or_its_headline_begins_with_is_its_numbering(
    title: str, number: str, rest: str
) -> None:
    assert split_numbering(title) == (number, rest)


@pytest.mark.parametrize(
    "title",
    [
        *("Chapter 43.", "2.5", "Chapter 4 | The Site", "Table of contents", "Part of it", ""),
        *("2.5 mm drill", "2.5 MB of memory", "1. FC Town", "10 Downing Street"),
        *("Tools: 2.5 mm drill", "Recipes: 10 ways to cook", "Word 2.5 Manual"),
        *("Windows 10: Installation", "Lesson 3: Verbs", "(3) Inbox", "v1.2.3 Release notes"),
    ],
)
def test_other_numbers_and_letters_are_no_numbering(title: str) -> None:
    assert split_numbering(title) == ("", title)


def test_the_scripts_of_a_title_are_those_of_its_letters() -> None:
    assert scripts("12. Größe & Φ") == {"LATIN", "GREEK"}
    assert scripts("12. A.5!") == {"LATIN"}
    assert scripts("12") == frozenset()


@given(st.text())
@example("A. \u0301bcd")
def test_any_title_is_split_and_has_scripts(title: str) -> None:
    number, rest = split_numbering(title)
    assert rest or not number
    assert isinstance(scripts(title), frozenset)
