"""What is HTML is known by its opening."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, strategies as st

from shingling.extraction.html import sniff_html


@pytest.mark.parametrize(
    "body",
    [
        b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        b"<!DOCTYPE\n html>",
        b"<HTML lang=de>",
        b"<!-- a comment first --><html>",
        b"<!-- one -->\n<!-- two --> <!DOCTYPE html>",
        b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "a" "b">',
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">',
        b"\xef\xbb\xbf<!DOCTYPE html>",
        b"   \r\n\t<html>",
        b'<div class="a">',
        b"<p/>",
        b"<body ",
        "\ufeff<html>".encode("utf-16-be"),
        "<!DOCTYPE html><title>Мост</title>".encode("windows-1251"),
        b"<!-- a -->" * 500 + b"<html>",
    ],
)
def test_html_is_known_by_its_opening(body: bytes) -> None:
    assert sniff_html(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"html": "<html>"}',
        b"function a() { return '<div>' }",
        b"Just words, then <p>.",
        b"%PDF-1.7",
        b"<divine>",
        b"<abbr>",
        b'<?xml version="1.0"?><rss version="2.0">',
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"<!-- a comment only -->",
        b"<!-- <html> never closed",
        b"<!---->" * 1000 + b"x",
        b"\xff\xfea",
        gzip.compress(b"<html>", mtime=0),
    ],
)
def test_what_is_not_html_is_known_by_its_opening(body: bytes) -> None:
    assert not sniff_html(body)


@given(st.binary())
def test_only_the_opening_of_bytes_decides_whether_they_are_html(rest: bytes) -> None:
    assert sniff_html(b"<html>" + rest)
    assert not sniff_html(b"{" + rest)
