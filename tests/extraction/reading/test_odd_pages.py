"""Pages without a main text, large ones, and those with odd characters."""

from __future__ import annotations

import gzip

import pytest

from shingling import canonical_words, extract
from shingling.errors import ExtractionError
from shingling.extraction.html import extract_page
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
        (b"\xef\xbb\xbf", "no_main_text"),
        (b"<!DOCTYPE html><html><head><title>T</title></head><body></body></html>", "no_main_text"),
        (b"<!-- nothing -->", "no_main_text"),
        (b'{"title": "A page", "count": 3}', "no_main_text"),
        (b"just words", "no_main_text"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "not_html"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "not_html"),
        (b"PK\x03\x04\x14\x00", "not_html"),
        (gzip.compress(page_of(ENGLISH).encode(), mtime=0), "not_html"),
    ],
)
def test_what_has_no_main_text_has_a_reason(html: bytes | str, reason: str) -> None:
    assert _reason(html) == reason


def test_a_page_of_the_largest_accepted_size_is_read_and_50_mb_are_not() -> None:
    assert _reason(b"<p>" + b"a" * 50_000_000) == "too_large"
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


def test_nul_bytes_are_ignored() -> None:
    page = page_of(ENGLISH)
    assert extract_page(page.replace("railway", "rail\0way")) == extract_page(page)
    assert extract_page(page.replace("railway", "rail\0way").encode()) == extract_page(page)


@pytest.mark.parametrize(
    "odd",
    [
        *("&#0;", "&#xD800;", "&#x110000;", "&#8;", "&#x1B;", "&#xFFFF;"),
        *("\ud800", "\x01", "\x0b", "\x1b[31m", "\x7f", "\ufffe"),
    ],
)
def test_what_is_no_character_does_not_reach_the_text_nor_hide_it(odd: str) -> None:
    main = extract_page(page_of(f"{ENGLISH}{odd} "))
    assert main.text.encode()
    assert not {"\0", "\x08", "\x1b"} & {*main.text}
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


@pytest.mark.parametrize("element", ["p", "section", "table><tr><td"])
def test_a_part_of_a_page_is_html_too(element: str) -> None:
    words = "Some words of an article that a spider has cut out of its page. " * 5
    closing = "".join(f"</{name}>" for name in reversed(element.split("><")))
    assert words.strip()[:60] in extract_page(f"<{element}>{words}{closing}").text
