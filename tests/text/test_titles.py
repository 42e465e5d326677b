"""Titles of pages: when two of them say the same, and what they consist of."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from shingling.text import differ_in_numbers_only, split_blocks, title_key, title_parts


def parts(title: str) -> list[int]:
    return [*title_parts(title)]


@pytest.mark.parametrize("title", ["", " ", "?!", "— | »", "\u200b", "\u202e"])
def test_a_title_without_words_has_no_key_and_no_parts(title: str) -> None:
    assert title_key(title) == 0
    assert title_parts(title) == {}


@pytest.mark.parametrize(
    "other",
    [
        "rain falls hard on the town",
        "Rain falls: hard on the town!",
        "On the town | Rain falls hard",
        "  RAIN  falls\nhard on — the town ",
    ],
)
def test_the_key_of_a_title_is_that_of_its_words_in_whatever_order(other: str) -> None:
    assert title_key(other) == title_key("Rain falls hard on the town") != 0


@pytest.mark.parametrize(
    "other",
    ["Rain falls hard on the", "Rain falls hard on the town 2", "Rain falls hard on the towns"],
)
def test_other_words_or_numbers_make_another_title(other: str) -> None:
    assert title_key(other) != title_key("Rain falls hard on the town")


@given(st.text())
@example("menu")
def test_the_key_of_a_title_has_64_bits_and_is_not_that_of_a_block(title: str) -> None:
    assert 0 <= title_key(title) < 1 << 64
    assert "\0" in title or title_key(title) not in split_blocks(title)[1].tolist()


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


@pytest.mark.parametrize("title", ["Jean-Luc well-known", "At 10:30 it rained", "Rain falls"])
def test_a_hyphen_or_a_colon_within_a_word_does_not_part_a_title(title: str) -> None:
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
    ("a", "b"),
    [
        ("operator-=", "operator+"),
        ("operator!=", "operator=="),
        ("operator>", "operator>>"),
        ("operator|", "operator||"),
        ("operator()", "operator[]"),
        ("operator--", "operator-"),
        ("C", "C++"),
        ("i & j", "i | j"),
        ("−5 °C", "5 °C"),
        ("\U0001f600", "\U0001f622"),
    ],
)
def test_symbols_are_of_the_words_of_a_title(a: str, b: str) -> None:
    assert title_key(a) != title_key(b)
    assert parts(a) != parts(b)


@pytest.mark.parametrize("title", ["operator> (vector)", "operator| (bitset)", "operator>>"])
def test_a_symbol_beside_a_word_does_not_part_a_title(title: str) -> None:
    assert parts(title) == [title_key(title)]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Boot a 64-bit PC", "Boot a 32-bit PC", True),
        ("Installing on i386", "Installing on s390x", True),
        ("operator==", "operator!=", True),
        ("(3) Inbox", "Inbox", True),
        ("mass 1.67e-27 kg", "mass 9.11e-31 kg", True),
        ("Rain falls", "Rain fell", False),
        ("Rain falls", "Rain falls again", False),
    ],
)
def test_what_differs_in_numbers_and_symbols_only_has_the_same_words(
    a: str, b: str, same: bool
) -> None:
    assert differ_in_numbers_only(a, b) is same
