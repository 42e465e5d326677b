"""Bytes are read in the encoding that they are declared in, or look like."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from shingling.extraction.html import decode, extract_page
from tests.extraction.reading.pages import CHINESE, ENGLISH, JAPANESE, RUSSIAN, page_of


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ENGLISH, "ascii"),
        (RUSSIAN, "utf-8"),
        (RUSSIAN, "windows-1251"),
        (RUSSIAN, "koi8-r"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc-jp"),
        (JAPANESE, "iso-2022-jp"),
        (CHINESE, "gb18030"),
    ],
)
def test_bytes_are_read_as_their_meta_element_or_http_header_declares(
    text: str, encoding: str
) -> None:
    page = page_of(text, head=f'<meta charset="{encoding}">')
    assert decode(page.encode(encoding)) == page
    assert extract_page(page.encode(encoding)) == extract_page(page)
    page = page_of(text)
    assert decode(page.encode(encoding), encoding) == page
    assert extract_page(page.encode(encoding), encoding=encoding) == extract_page(page)


def test_the_http_header_wins_over_the_meta_element() -> None:
    page = page_of(RUSSIAN, head='<meta charset="iso-8859-1">')
    assert decode(page.encode("windows-1251"), "windows-1251") == page


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("declared", [None, "windows-1251", "utf-8"])
def test_a_byte_order_mark_wins_over_what_is_declared(encoding: str, declared: str | None) -> None:
    page = page_of(RUSSIAN, head='<meta charset="iso-8859-1">')
    assert decode(f"\ufeff{page}".encode(encoding), declared) == page


@pytest.mark.parametrize("declared", ["iso-8859-1", "windows-1251", "shift_jis"])
def test_valid_utf_8_is_utf_8_whatever_is_declared(declared: str) -> None:
    page = page_of(RUSSIAN, head=f'<meta charset="{declared}">')
    assert decode(page.encode(), declared) == page
    assert extract_page(page.encode(), encoding=declared) == extract_page(page)


@pytest.mark.parametrize("declared", ["no-such-charset", "", "\0", "é"])
def test_bytes_of_an_unknown_declared_encoding_are_guessed(declared: str) -> None:
    assert decode(page_of(RUSSIAN).encode("windows-1251"), declared) == page_of(RUSSIAN)


@given(st.binary(), st.sampled_from([None, "utf-8", "ascii", "utf-16", "shift_jis", "gb18030"]))
def test_any_bytes_are_decoded(body: bytes, declared: str | None) -> None:
    assert len(decode(body, declared)) <= len(body)


def test_pages_declared_utf_8_that_are_not_keep_their_words() -> None:
    latin = " ".join(f"product{number} model{number}" for number in range(40))
    texts = []
    for russian in ("Первая статья о погоде и природе.", "Совсем другая новость: выборы мэра."):
        page = f"<html><body><article><p>{russian * 3}</p><p>{latin}</p></article></body></html>"
        texts.append(extract_page(page.encode("cp1251"), encoding="utf-8").text)
    assert "погоде" in texts[0]
    assert "выборы" in texts[1]


def test_a_few_broken_bytes_do_not_make_utf_8_something_else() -> None:
    page = f"<html><body><p>{'Слово и дело. ' * 30}</p></body></html>".encode()
    broken = page[:100] + b"\xd0" + page[100:]
    assert "Слово и дело" in extract_page(broken, encoding="utf-8").text


@pytest.mark.parametrize("charset", ["base64", "idna", "undefined", "punycode"])
def test_a_charset_that_is_none_does_not_raise(charset: str) -> None:
    words = "<p>Some words of an article, and an accent: \xe9. </p>" * 9
    page = f"<html><meta charset='{charset}'><body>{words}</body></html>".encode("latin-1")
    assert "Some words" in extract_page(page).text
    assert "Some words" in extract_page(page, encoding=charset).text
