"""WARC files with broken, absurd or very large records."""

from __future__ import annotations

from tests.support.pages import article, html


def page(seed: int) -> bytes:
    """Make a page of its own for each seed."""
    return html(article(seed)).encode()


def warc_record(
    url: bytes,
    body: bytes,
    *,
    http: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
    length: bytes | None = None,
    date: bytes = b"2026-01-02T03:04:05Z",
    extra: bytes = b"",
) -> bytes:
    """Make the record of a response; its length is right unless another is given."""
    block = http + body
    length = b"%d" % len(block) if length is None else length
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\n%s"
        b"Content-Type: application/http; msgtype=response\r\nContent-Length: %s\r\n\r\n%s\r\n\r\n"
    ) % (url, date, extra, length, block)


def http(*lines: bytes) -> bytes:
    """Make the header of a response of HTML."""
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Type: text/html", *lines, b"", b""])


def good_record(number: int) -> bytes:
    """Make a record that nothing is wrong with."""
    return warc_record(b"https://example.com/%d" % number, page(number))
