"""Texts and URLs made to take long, or to grow: each is bounded before anything is done."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from scrapy.http import HtmlResponse
from scrapy.settings import Settings

import shingling
from shingling import PreparedText, Scheme, canonical_words, compare, sign
from shingling.extraction.extractors import find_extractor
from shingling.extraction.main_text import extract_head
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.plugin.items.documents import choose_document, is_same_page
from shingling.plugin.middleware import ItemSource
from shingling.plugin.settings import DedupSettings
from shingling.similarity.diff import word_diff
from shingling.similarity.own_text import own_passage
from shingling.sketch import exact_hash, shingle_text
from shingling.store.model import Page
from shingling.store.store import Store
from shingling.store.urls import safe_url, site_of
from shingling.text import (
    Canonicaliser,
    bounded,
    scripts,
    split_numbering,
    title_key,
    title_parts,
)
from shingling.text.canonical import _nfkc_with_case
from shingling.text.folding import fold
from shingling.text.prepared import hash_blocks, split_lines
from shingling.text.words import cut_words, join_words
from tests.hostile.growth import is_linear

if TYPE_CHECKING:
    from collections.abc import Callable


def _unsorted_marks(number: int, letter: str = "a") -> str:
    """Marks that are to be sorted when they are normalised: half of them go before the others."""
    return letter + "\u0301" * (number // 2) + "\u0316" * (number // 2)


def _hidden_marks(number: int) -> str:
    """The same behind invisible characters, which case folding removes."""
    run = "\u0301" * 20 + "\u200b"
    return "a" + run * (number // 42) + run.replace("\u0301", "\u0316") * (number // 42)


_ATTACKS = {
    "marks": _unsorted_marks,
    "marks between invisible characters": _hidden_marks,
    "letters that decompose to marks": lambda n: "a" + "\u0344\u0316" * (n // 2),
    "U+FDFA": lambda n: "\ufdfa" * n,
    "squared katakana": lambda n: "\u3316" * n,
    "one word": lambda n: "ä" * n,
    "jamo": lambda n: "\u1112\u1161\u11ab" * (n // 3),
    "invisible characters": lambda n: "\u200b" * n,
    "dots": lambda n: "." * n,
    "marks of Greek": lambda n: ("α" + "\u0301" * 30) * (n // 31),
    "marks of Arabic": lambda n: "ا\u0654\u064e" * (n // 3),
    "dots of Turkish": lambda n: "i" + "\u0307" * n,
    "joiners": lambda n: "ی" + "\u200c" * n,
    "references": lambda n: "&amp;#301;" * (n // 10),
    "references that do not end": lambda n: "&amp;#38" * (n // 8),
    "ampersands escaped again and again": lambda n: "&" + "amp;" * (n // 4),
    "digits": lambda n: "1" * n,
    "lines": lambda n: "\n" * n,
    "one letter in a line": lambda n: "\u0301\n" * (n // 2),
}
_USES: dict[str, Callable[[Any], Any]] = {
    "canonical_words": canonical_words,
    "canonical_words by NumPy": cut_words,
    "sign": sign,
    "sign characters": lambda text: sign(text, Scheme(unit="characters")),
    "sign with case": lambda text: sign(text, Scheme(canonical=Canonicaliser(keep_case=True))),
    "sign without markup": lambda text: sign(text, Scheme(canonical=Canonicaliser(markup=True))),
    "shingle_text": shingle_text,
    "exact_hash": exact_hash,
    "fold": fold,
    "prepare": lambda text: PreparedText(text).ready(Canonicaliser()),
    "split_lines": split_lines,
    "hash_blocks": hash_blocks,
    "title_key": title_key.__wrapped__,
    "title_parts": title_parts.__wrapped__,
    "split_numbering": split_numbering,
    "scripts": scripts,
    "own_passage": lambda text: own_passage([text, "1 b"], [text + " b", "2 b"], 20),
    "compare": lambda text: compare(text, text + " b"),
    "word_diff": lambda text: word_diff(text, text + " b"),
}


@pytest.mark.parametrize("attack", _ATTACKS)
@pytest.mark.parametrize("use", _USES)
def test_the_time_grows_with_the_length_of_a_text(use: str, attack: str) -> None:
    assert is_linear(_USES[use], _ATTACKS[attack], 20_000)


_WRAPPINGS: dict[str, Callable[[str], str]] = {
    "as they are": lambda mark: mark,
    "as references": lambda mark: f"&#x{ord(mark):x};",
    "as references of references": lambda mark: f"&amp;#x{ord(mark):x};",
    "in elements": lambda mark: f"<b>{mark}</b>",
    "between comments": lambda mark: f"{mark}<!-- a -->",
}


@pytest.mark.parametrize("extractor", ["trafilatura", "resiliparse", "quick"])
@pytest.mark.parametrize("wrapping", _WRAPPINGS)
def test_marks_in_a_page_are_extracted_in_linear_time(wrapping: str, extractor: str) -> None:
    wrap = _WRAPPINGS[wrapping]

    def page(number: int) -> str:
        marks = wrap("\u0301") * (number // 2) + wrap("\u0316") * (number // 2)
        return f"<html><body><p>{'A word. ' * 100}a{marks}</p></body></html>"

    work = PageExtractor(Scheme(), find_extractor(extractor))
    assert is_linear(lambda html: work.extract(Fetched(html, is_html=True)), page, 24_000)


def test_half_a_megabyte_of_marks_is_decided_in_linear_time() -> None:
    with Store.open("sqlite://") as store:

        def check(text: str) -> None:
            store.check([Page(f"https://example.com/{len(text)}", text=text)])

        assert is_linear(check, _unsorted_marks, 500_000)


def test_what_expands_18_times_is_bounded_in_memory() -> None:
    script = (
        "import resource; from shingling import sign\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "sign('\\ufdfa'); before = peak(); sign('\\ufdfa' * 3_000_000)\n"
        "print(peak() - before)"
    )
    grown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout

    assert int(grown) < 150_000  # kilobytes; 970,000 without a bound


def _non_starters(text: str) -> int:
    """Longest run of non-starters of a text in NFKD, as the Stream-Safe Text Format counts."""
    longest = run = 0
    for char in unicodedata.normalize("NFKD", text):
        run = run + 1 if unicodedata.combining(char) else 0
        longest = max(longest, run)
    return longest


_PIECES = ["a", "\u1f82", "é", "\u0301", "\u0316" * 9, "\u0344" * 7, "\u0f73", "\u0345", "\uff9e"]
_PIECES += ["\u200b", "\u034f", "\u3164", " ", "\n", "各", "\u1112\u1161", "\ufdfa", "\ud800"]
_runs = st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)


@pytest.mark.parametrize(
    ("letter", "mark", "kept"),
    [("a", "\u0301", 30), ("\u1f82", "\u0301", 27), ("", "\u0344", 15), ("\u0301", "\u0344", 14)],
    ids=["one mark", "a letter of three", "a mark of two", "marks of one and two"],
)
def test_a_run_of_marks_ends_after_the_30th(letter: str, mark: str, kept: int) -> None:
    assert bounded(f"{letter}{mark * 40} b{mark}") == f"{letter}{mark * kept} b{mark}"


@given(_runs | st.text())
def test_a_bounded_text_is_its_own(text: str) -> None:
    once = bounded(text)

    assert _non_starters(once) <= 30
    assert bounded(once) == once
    assert sign(text) == sign(once)
    assert fold(text) == fold(once)
    words = canonical_words(text)
    assert words == canonical_words(once) == cut_words(text) == cut_words(once)
    assert " ".join(words).encode() == join_words(text)
    assert _non_starters(fold(text)) <= 30


@given(_runs)
def test_lines_are_bounded_as_in_their_text(text: str) -> None:
    assert [*map(bounded, text.split("\n"))] == bounded(text).split("\n")


def test_the_first_65_536_characters_that_grow_do_so() -> None:
    text = "\ufdfa" * 70_000 + "fi ﬁ ⑽ end"
    kept = bounded(text)

    assert kept == "\ufdfa" * 65_536 + "\ufffd" * (70_000 - 65_536) + "fi ﬁ ⑽ end"
    assert canonical_words(text)[-4:] == ["fi", "fi", "10", "end"]
    assert bounded("\ufdfa" * 65_536) == "\ufdfa" * 65_536


def test_texts_that_differ_behind_what_was_cut_are_not_the_same() -> None:
    for bomb in ("\ufdfa" * 100_000, _unsorted_marks(100_000)):
        texts = [f"{bomb} and then {word} follows" for word in ("one", "another")]

        assert sign(texts[0]).text_hash != sign(texts[1]).text_hash


_CHANGED = [
    char
    for char in map(chr, (*range(0x20000), *range(0x2F800, 0x2FA20)))
    if unicodedata.decomposition(char) or unicodedata.combining(char) or char.casefold() != char
]


def test_no_character_grows_much_or_lets_a_run_of_marks_go_on() -> None:
    # Those that grow more may only do so for a while.
    kept = bounded("\ufdfa" * 65_536 + "a".join(_CHANGED))[65_536:].split("a")
    for char, later in zip(_CHANGED, kept, strict=True):
        assert len(unicodedata.normalize("NFKD", char)) <= 18
        assert len(unicodedata.normalize("NFKD", later)) <= 4
        assert len(fold(later)) <= 4
        if any(map(unicodedata.combining, unicodedata.normalize("NFKD", fold(char)))):
            for text in (char * 31, char + "\u0301" * 31):
                assert _non_starters(fold(text)) <= 30, ascii(char)


def test_all_marks_are_among_the_code_points_that_are_looked_at() -> None:
    others = [*range(0x20000, 0x2F800), *range(0x2FA20, 0x110000)]

    assert not any(map(unicodedata.combining, map(chr, others)))


@pytest.mark.parametrize(
    "text",
    [
        "Ordinary text… with “marks” and ﬁgures ½, 東京、カタカナ｡ﾞ",
        "z̸̧̢̛̗̰̖̲̘̪͖̹̺̠̘̠̠̄̽͒͐̄͐̈́̅͂̕a" * 50,
        "يُولَدُ جَمِيعُ النَّاسِ أَحْرَارًا ﷺ " * 500,
        "שָׁלוֹם עוֹלָם " * 500,
        "སྐྱེས་པ་ ཧཱུྃ ",
        "👩\u200d👩\u200d👧\U0001f3f4" + "".join(map(chr, range(0xE0061, 0xE0080))) * 20,
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert bounded(text) == text
    assert _nfkc_with_case(text) == unicodedata.normalize("NFKC", text)


def test_nobody_else_normalises_a_text() -> None:
    package = Path(shingling.__file__).parent
    found = {
        f"{path.relative_to(package).as_posix()}: {line.strip()}"
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\bnormalize\(", line)
    }

    assert {line.partition(":")[0] for line in found} == {
        "text/bounding.py",  # of a bounded text, and of single characters
        "text/folding.py",  # of a text in NFKC, and of single characters
    }


# URLs made to take long, or to keep their user name and password


_URLS = {
    "colons, but no @ in the authority": lambda n: "http://" + "a:" * (n // 2) + "?@",
    "colons, and a slash before the @": lambda n: "http://" + "a:" * (n // 2) + "/@",
    "colons before ports": lambda n: "http://a" + ":1" * (n // 2) + "/@",
    "colons, but no scheme": lambda n: "a:" * (n // 2) + "?@",
    "many @": lambda n: "http://" + "a@" * (n // 2),
    "many @ behind slashes": lambda n: "http://" + "a:b/@" * (n // 5),
    "many @, but no scheme": lambda n: "a:b@" * (n // 4),
    "slashes": lambda n: "http:" + "/" * n + "@",
    "a long scheme": lambda n: "a" * n + "://@",
    "a long host": lambda n: "http://" + "a" * n + "@",
    "an open bracket": lambda n: "http://[" + ":" * n + "@",
    "marks in the host": lambda n: "http://" + _unsorted_marks(n, "é") + "/@",
    "U+FDFA in the host": lambda n: "http://" + "\ufdfa" * n + "/@",
    "marks in the path": lambda n: "http://host/" + _unsorted_marks(n, "é") + "@",
    "marks alone": lambda n: _unsorted_marks(n, "é"),
    "parameters": lambda n: "http://host/?" + "a=b&" * (n // 4) + "@",
    "segments": lambda n: "http://host/" + "a/" * (n // 2) + "@",
    "segments up": lambda n: "http://host/" + "a/../" * (n // 5) + "@",
    "control characters": lambda n: "http://host/@" + "\x01" * n,
    "tabs": lambda n: "http://host/@" + "\t" * n + "a",
    "percent signs": lambda n: "http://host/@" + "%" * n,
}
_SOURCE = ItemSource(HtmlResponse("https://example.org/page"), is_only_item=True)
_SETTINGS = DedupSettings.from_settings(Settings())
_USES_OF_URLS = {
    "safe_url": safe_url,
    "site_of": site_of,
    "a page": lambda url: Page(url).url,
    "is_same_page": lambda url: is_same_page(url, "https://example.org/page"),
    "the document of an item": lambda url: choose_document({"url": url}, _SOURCE, _SETTINGS, set()),
    "a canonical link": lambda url: extract_head(f'<link rel=canonical href="{url}">', "http://a/"),
}


@pytest.mark.parametrize("attack", _URLS)
@pytest.mark.parametrize("use", _USES_OF_URLS)
def test_the_time_grows_with_the_length_of_a_url(use: str, attack: str) -> None:
    assert is_linear(_USES_OF_URLS[use], _URLS[attack], 80_000)


# What browsers take for the beginning of the same URL, and wrong ones.
_BEGINNINGS = [
    *("http://", "https://", "HTTP://", "http:/", "http:", "http:///", "https:\\\\", "ftp://"),
    *("ht\ntp://", "http:/\t/", " http://", "\x01http://", "\u200bhttp://", "//", "///", ""),
    *("file://", "x-y.z+1://", "ht tp://", "é://", "http://a:b@", "http://a:b/@"),
]


@given(
    st.sampled_from(_BEGINNINGS),
    st.from_regex(r"[a-z][a-z0-9.%é-]{0,5}", fullmatch=True),
    st.text("ab1:%. é\u0301\t\ud800&=[]", max_size=6),
    st.text("ab1:%. é&=+[]", max_size=6),
    st.sampled_from(["host", "host:80", "[::1]", "www.host.org", "", "host:x"]),
    st.sampled_from(["", "/", "/path@x", "?a=b@c", "#a:b@c", "/a:b"]),
)
def test_a_user_name_and_a_password_never_get_through(
    beginning: str, user: str, before: str, after: str, host: str, rest: str
) -> None:
    password = f"{before}S3CRET{after}"
    assert "S3CRET" not in safe_url(f"{beginning}{user}:{password}@{host}{rest}")
    if beginning:
        assert "S3CRET" not in safe_url(f"{beginning}S3CRET{user}@{host}{rest}")
        assert "S3CRET" not in safe_url(f"{beginning}{user}:a@{password}@{host}{rest}")


@given(
    st.sampled_from([one for one in _BEGINNINGS if one]),
    st.from_regex(r"[a-z][a-z0-9.%é-]{0,5}", fullmatch=True),
    st.text("ab1:/?#\\%. é&=+[]", max_size=6),
    st.text("ab1:/?#\\%. é&=+[]", max_size=6),
)
def test_a_password_with_a_delimiter_in_it_does_not_get_through(
    beginning: str, user: str, before: str, after: str
) -> None:
    # Digits and a delimiter after the colon could be a port, and the URL a right one.
    assert "S3CRET" not in safe_url(f"{beginning}{user}:x{before}S3CRET{after}@host/path")


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("http://a:b/c@d", "http://d"),
        ("http://:a@b", "http://b"),
        ("http://::a/@b", "http://b"),
        ("http://a:1/b@c", "http://a:1/b@c"),
        ("http://a:1b?@c:d/@e", "http://e"),
        ("http://a@b/c@d", "http://b/c@d"),
    ],
)
def test_no_more_than_user_name_and_password_is_left_out(url: str, safe: str) -> None:
    assert safe_url(url) == safe


@pytest.mark.parametrize(
    "url",
    [
        *("https://example.org/@user", "https://example.org:8080/@user:name", "/@user", "page"),
        *("https://example.org/?mail=a@b.c", "https://example.org?mail=a:b@c.d"),
        *("https://example.org#a@b", "https://example.org:/@user", "https://[2001:db8::1]/@user"),
        *("https://[::1]:8080/?mail=a@b.c", "https://example.org/http://a:b@c/"),
        *("file:///home/a@b/page.html", "file:///home/a:b@c"),
    ],
)
def test_a_right_url_stays_as_it_is(url: str) -> None:
    assert safe_url(url) == url
