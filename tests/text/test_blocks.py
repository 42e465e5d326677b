"""Blocks of a main text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from shingling.text import split_blocks

_LINES = st.lists(st.text() | st.text(st.sampled_from(" aß9٣.\t\u2028\x1c\ud800"), max_size=8))


def keys(text: str) -> list[int]:
    found: list[int] = split_blocks(text)[1].tolist()
    return found


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
