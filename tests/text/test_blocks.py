"""Blocks of a main text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from shingling.text import split_blocks
from shingling.text.prepared import MAX_BLOCKS

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


def test_a_text_of_very_many_lines_has_a_last_block_of_all_that_is_left() -> None:
    text = "\n".join(f"line{number}" for number in range(MAX_BLOCKS + 1000))
    lines, blocks = split_blocks(text)
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
    lines, blocks = split_blocks(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shingling.text.prepared._MAX_PIECE", 12)
        again, same = split_blocks(text)
    assert again == lines
    assert same.tolist() == blocks.tolist()


def test_words_longer_than_a_piece_have_a_key() -> None:
    text = "a1b2" * 50_000
    assert keys(text) == keys(text.upper())
    assert keys(text) != keys(text + "x")
    assert keys(f"{text} menu 5") == keys(f"{text}   menu 17")
