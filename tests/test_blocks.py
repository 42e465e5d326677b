"""Blocks of a main text, and what a title consists of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shingling.text import split_blocks, title_key, title_parts

_LINES = st.lists(st.text() | st.text(st.sampled_from(" aß9٣.\t\u2028\x1c\ud800"), max_size=8))


def keys(text: str) -> list[int]:
    found: list[int] = split_blocks(text)[1].tolist()
    return found


def parts(title: str) -> list[int]:
    return [*title_parts(title)]


# Blocks of a text


def test_blocks_are_the_lines_of_a_text_as_they_are_without_the_blank_ones() -> None:
    lines, blocks = split_blocks("First  line.\n\n \t\u3000\n  Second line.\nThird")
    assert lines == ["First  line.", "  Second line.", "Third"]
    assert blocks.dtype == np.uint64
    assert len({*blocks.tolist()}) == 3


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\u3000", "\x1c\u2028\x85"])
def test_a_text_of_blanks_has_no_blocks(text: str) -> None:
    lines, blocks = split_blocks(text)
    assert lines == []
    assert (blocks.shape, blocks.dtype) == ((0,), np.dtype(np.uint64))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Read more about us", "READ MORE ABOUT US"),
        ("Straße und Haus", "STRASSE UND HAUS"),
        ("Read more about us", "  Read\tmore   about us\r"),
        ("© 2024 The Site, 3 comments", "© 2025 The Site, 12 comments"),
        ("Updated 9:05", "Updated 10:59"),
        ("٣ تعليقات", "12 تعليقات"),
    ],
)
def test_case_white_space_and_numbers_do_not_change_the_key_of_a_block(a: str, b: str) -> None:
    assert keys(a) == keys(b) != []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Read more about us", "Read more about them"),
        ("Read more about us", "about us Read more"),
        ("Read more about us", "Read more about us today"),
        ("Read more", "Readmore"),
        ("Part 1", "Part one"),
    ],
)
def test_other_words_or_another_order_make_another_block(a: str, b: str) -> None:
    assert keys(a) != keys(b)


def test_a_block_that_is_there_twice_has_its_key_twice() -> None:
    assert keys("Menu\nText\nMENU") == [*keys("Menu"), *keys("Text"), *keys("Menu")]


@given(_LINES)
@example(["a", "", "\r", "b\x85c", "\u2028", "İ", "ﬁ", "ς"])
@example(["1\n2", "3 4"])
def test_the_key_of_a_block_does_not_depend_on_what_is_around_it(lines: list[str]) -> None:
    found, blocks = split_blocks("\n".join(lines))
    assert found == [line for text in lines for line in text.split("\n") if line.split()]
    assert blocks.tolist() == [key for text in lines for key in keys(text)]


# Titles


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
    assert "\0" in title or title_key(title) not in keys(title)


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
