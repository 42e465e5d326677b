"""Case, punctuation and markup."""

from __future__ import annotations

import time

import pytest

from shingling.text import Canonicaliser


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
        ("caf&eacute; &amp;lt; &#x41;&#66;&nbsp;c", ["café", "lt", "ab", "c"]),
        ("&lt;b&gt;bold&lt;/b&gt;", ["b", "bold", "b"]),
        ("co&shy;op &unknown; &", ["coop", "unknown"]),
        ("a&#xD800;b&#0;c", ["a", "b", "c"]),
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
    assert Canonicaliser().words("<b>x</b> &lt;") == ["b", "x", "b", "lt"]


def test_references_to_numbers_that_no_character_has_are_no_error() -> None:
    assert Canonicaliser(markup=True).words(f"a &#{'9' * 5000}; &#x{'f' * 5000}; b") == ["a", "b"]


@pytest.mark.parametrize(
    "piece",
    [
        *["<", "<a ", "<b", "</", "<!--", "<!", "<?", '<a ="', '="<a" ', "<a ='<", '<a b="<">'],
        *["<script>", "<script", "</script", "<div>", "<i>x</b>", "<a b=c ", "&", "&#"],
    ],
)
def test_the_time_for_markup_is_linear_whatever_is_in_it(piece: str) -> None:
    started = time.perf_counter()
    Canonicaliser(markup=True).words(piece * (1_000_000 // len(piece)))

    assert time.perf_counter() - started < 10
