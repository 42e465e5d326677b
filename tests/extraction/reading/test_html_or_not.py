"""What is HTML is known by its opening."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given, strategies as st

from shingling.extraction.html import sniff_html


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html>",
        b"<!doctype HTML PUBLIC '-//W3C//DTD HTML 4.01//EN'>",
        b"<!DOCTYPE\n html>",
        b"<html>",
        b"<HTML lang=de>",
        b"<head><title>",
        b"<!-- a comment first --><html>",
        b"<!-- one -->\n<!-- two --> <!DOCTYPE html>",
        b'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "a" "b">',
        b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">',
        b"\xef\xbb\xbf<!DOCTYPE html>",
        b"   \r\n\t<html>",
        b'<div class="a">',
        b"<p/>",
        b"<br>",
        b"<body ",
        b"<main>",
        "<!DOCTYPE html>".encode("utf-16"),
        "\ufeff<html>".encode("utf-16-be"),
        "<!DOCTYPE html><title>Мост</title>".encode("windows-1251"),
        b"<html>" + b"a" * 100_000,
    ],
)
def test_html_is_known_by_its_opening(body: bytes) -> None:
    assert sniff_html(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b'{"html": "<html>"}',
        b'["<p>"]',
        b"body { color: red }",
        b"function a() { return '<div>' }",
        b"Just words, then <p>.",
        b"%PDF-1.7",
        b"\x89PNG\r\n\x1a\n",
        b"<divine>",
        b"<abbr>",
        b"html>",
        b'<?xml version="1.0"?><rss version="2.0">',
        b'<?xml version="1.0"?><urlset>',
        b"<svg xmlns='http://www.w3.org/2000/svg'>",
        b"<!-- a comment only -->",
        b"<!-- <html> never closed",
        b"\xff\xfe",
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
