"""Titles, and the languages that pages declare."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from shingling.extraction.html import extract_page
from shingling.text import plain_line
from tests.extraction.reading.pages import ENGLISH, page_of


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("<title>Plain</title>", "Plain"),
        ("<title> two\r\n\tlines&nbsp;here </title>", "two lines here"),
        ("<title>a\x1b[31mred\x07\u202eb\u200b</title>", "a[31mred b"),
        ("<title>Fish &amp; chips &lt;b&gt;</title>", "Fish & chips <b>"),
        ("<title>a&#0;&#xD800;b</title>", "a\ufffd\ufffdb"),
        (f"<title>{'é' * 10_000}</title>", "é" * 500),
        ("<title>Plain</title><svg><title>Icon</title></svg>", "Plain"),
        ("<title> \u200b </title>", None),
        ("", None),
    ],
)
def test_a_title_is_one_line_without_control_characters(title: str, expected: str | None) -> None:
    html = page_of(ENGLISH).replace("<title>Bridge</title>", title)
    assert extract_page(html).title == expected


@given(st.text(st.characters(categories=None)))
def test_a_plain_line_is_one_line_that_can_be_printed(text: str) -> None:
    line = plain_line(text)
    assert line == " ".join(line.split())
    assert not any(unicodedata.category(char)[0] == "C" for char in line)
    assert plain_line(line) == line
    assert line.encode().decode() == line


@pytest.mark.parametrize(
    ("attributes", "language"),
    [
        ('lang="de-DE"', "de"),
        ('lang="zh_CN"', "zh"),
        ('lang=" EN "', "en"),
        ('lang="nds"', "nds"),
        ("", None),
        ('lang="deutsch"', None),
        ('lang="x-klingon"', None),
        ('lang="{{ lang }}"', None),
        ('lang="русский"', None),
    ],
)
def test_the_language_is_the_primary_tag_that_the_page_declares(
    attributes: str, language: str | None
) -> None:
    assert extract_page(page_of(ENGLISH, attributes=attributes)).language == language
