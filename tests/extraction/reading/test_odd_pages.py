"""Pages without a main text, large ones, and those with odd characters."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, strategies as st

from shingling import canonical_words, extract
from shingling.errors import ExtractionError
from shingling.extraction.html import extract_page, sniff_html
from tests.extraction.reading.pages import ENGLISH, RUSSIAN, page_of


def _reason(html: bytes | str) -> str:
    with pytest.raises(ExtractionError) as caught:
        extract_page(html)
    assert "\n" not in str(caught.value)
    assert extract(html) is None
    return caught.value.reason


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        (b"", "no_main_text"),
        ("", "no_main_text"),
        (b" \r\n\t ", "no_main_text"),
        (b"\xef\xbb\xbf", "no_main_text"),
        (b"<!DOCTYPE html><html><head><title>T</title></head><body></body></html>", "no_main_text"),
        (b"<!-- nothing -->", "no_main_text"),
        (b'{"title": "A page", "count": 3}', "no_main_text"),
        (b"just words", "no_main_text"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "not_html"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not_html"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "not_html"),
        (b"GIF89a\x01\x00", "not_html"),
        (b"PK\x03\x04\x14\x00", "not_html"),
        (gzip.compress(page_of(ENGLISH).encode(), mtime=0), "not_html"),
    ],
)
def test_what_has_no_main_text_has_a_reason(html: bytes | str, reason: str) -> None:
    assert _reason(html) == reason


def test_a_page_of_50_mb_is_too_large() -> None:
    assert _reason(b"<p>" + b"a" * 50_000_000) == "too_large"
    assert _reason("<p>" + "a" * 50_000_000) == "too_large"


def test_a_page_of_the_largest_accepted_size_is_read() -> None:
    html = page_of(ENGLISH)

    assert extract_page(html, max_bytes=len(html)).title == "Bridge"
    with pytest.raises(ExtractionError, match="more than") as caught:
        extract_page(html, max_bytes=len(html) - 1)
    assert caught.value.reason == "too_large"


def test_a_page_of_eight_megabytes_is_read_whole() -> None:
    paragraphs = "".join(f"<p>{ENGLISH} {number}</p>" for number in range(1000))
    html = page_of("").replace("</article>", paragraphs + "</article>")
    html = html.replace("</head>", f"<style>{'.a { color: red }' * 400_000}</style></head>")
    text = extract(html)

    assert text is not None
    assert text.count("railway") == 1000


@pytest.mark.parametrize("tag", ["div", "b", "table", "ul", "blockquote", "span"])
def test_100_000_nested_elements_do_not_crash(tag: str) -> None:
    nested = page_of(ENGLISH).replace("<article>", f"<{tag}>" * 100_000 + "<article>")

    # The parser gives up on what is nested so deeply; what stands before it is read.
    assert extract_page(nested).text


def test_nul_bytes_are_ignored() -> None:
    page = page_of(ENGLISH)

    assert extract_page(page.replace("railway", "rail\0way")) == extract_page(page)
    assert extract_page(page.replace("railway", "rail\0way").encode()) == extract_page(page)


def test_lone_surrogates_of_a_str_do_not_reach_the_text() -> None:
    main = extract_page(page_of(ENGLISH.replace("railway", "rail\ud800 way")))

    assert "\ud800" not in main.text
    assert main.text.encode()
    assert canonical_words(main.text).count("rail") == 6


@pytest.mark.parametrize("reference", ["&#0;", "&#xD800;", "&#xDFFF;", "&#x110000;"])
def test_character_references_to_no_character_do_not_reach_the_text(reference: str) -> None:
    main = extract_page(page_of(f"rail{reference}way {ENGLISH}"))

    assert main.text.encode()
    assert "\0" not in main.text
    assert canonical_words(main.text).count("rail") == 6


@pytest.mark.parametrize("control", ["\x01", "\x08", "\x0b", "\x0c", "\x1b[31m", "\x7f", "\ufffe"])
def test_control_characters_do_not_hide_the_main_text(control: str) -> None:
    main = extract_page(page_of(f"{ENGLISH}{control}"))

    assert canonical_words(main.text).count("railway") == 6


def test_a_page_with_an_xml_declaration_is_read_as_bytes_and_as_str() -> None:
    page = (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 '
        'Strict//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">'
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Мост</title></head>'
        f"<body><p>{RUSSIAN * 6}</p></body></html>"
    )

    assert extract_page(page) == extract_page(page.encode())
    assert extract_page(page).title == "Мост"
    assert canonical_words(extract_page(page).text) == canonical_words(RUSSIAN * 6)


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["<p>", "</", "<!--", "&#", "\0", "x " * 99, "<a ", "<html lang=", "<title>"]
        )
    ).map("".join)
)
def test_any_text_is_read_or_has_a_reason(html: str) -> None:
    try:
        outcome = extract_page("<html><body>" + html).text and "text"
    except ExtractionError as error:
        outcome = error.reason
    assert outcome in ("text", "no_main_text")


@pytest.mark.parametrize("element", ["div", "p", "article", "section", "table><tr><td"])
def test_a_part_of_a_page_is_html_too(element: str) -> None:
    words = "Some words of an article that a spider has cut out of its page. " * 5
    closing = "".join(f"</{name}>" for name in reversed(element.split("><")))
    assert words.strip()[:60] in extract_page(f"<{element}>{words}{closing}").text


def test_many_comments_before_the_first_element_are_passed_over_at_once() -> None:
    assert sniff_html(b"<!-- a -->" * 500 + b"<html>")
    assert not sniff_html(b"<!---->" * 1000 + b"x")


@pytest.mark.parametrize("reference", ["&#8;", "&#12;", "&#27;", "&#x1B;", "&#xFFFF;"])
def test_a_reference_to_a_control_character_does_not_cost_the_text(reference: str) -> None:
    words = "Some words of an article that somebody has written. " * 5
    page = f"<html><body><article><p>{words}{reference}</p></article></body></html>"
    assert "Some words of an article" in extract_page(page).text
