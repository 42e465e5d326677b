"""Tar and WARC files with broken, absurd or very large entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.pages import article, html

if TYPE_CHECKING:
    from collections.abc import Iterable

BLOCK = 512  # bytes
TAR_END = bytes(2 * BLOCK)


def page(seed: int) -> bytes:
    """Make a page of its own for each seed."""
    return html(article(seed)).encode()


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def octal(number: int) -> bytes:
    return b"%011o\0" % number


def tar_header(
    name: bytes,
    size: bytes,
    *,
    kind: bytes = b"0",
    mtime: bytes = octal(1_000_000_000),
    prefix: bytes = b"",
    link: bytes = b"",
    checksum: bytes | None = None,
) -> bytes:
    """Make the header block of an entry; its checksum is right unless another is given."""
    head = name.ljust(100, b"\0") + octal(0o644)[4:] * 3 + size.ljust(12, b"\0")
    head += mtime.ljust(12, b"\0") + b" " * 8 + kind + link.ljust(100, b"\0")
    head += b"ustar\x0000" + bytes(80) + prefix.ljust(155, b"\0")
    head = head.ljust(BLOCK, b"\0")
    return head[:148] + (checksum or b"%06o\0 " % sum(head)) + head[156:]


def tar_entry(name: bytes, data: bytes, **fields: bytes) -> bytes:
    return tar_header(name, fields.pop("size", octal(len(data))), **fields) + padded(data)


def pax(records: Iterable[tuple[bytes, bytes]], kind: bytes = b"x") -> bytes:
    """Make a PAX header for the entry behind it."""
    return tar_entry(b"pax", b"".join(pax_record(*record) for record in records), kind=kind)


def pax_record(key: bytes, value: bytes) -> bytes:
    rest = b" " + key + b"=" + value + b"\n"
    length = len(rest) + 1
    while len(b"%d" % length) + len(rest) != length:
        length += 1
    return b"%d" % length + rest


def good(number: int) -> bytes:
    """Make an entry of a tar file that nothing is wrong with."""
    return tar_entry(b"%d.html" % number, page(number))


def broken_sparse(map_: bytes) -> bytes:
    """Make an entry in GNU's third sparse format, whose map comes first in its data."""
    records = [(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0")]
    records += [(b"GNU.sparse.name", b"5.html"), (b"GNU.sparse.realsize", b"10")]
    return pax(records) + tar_entry(b"5.html", padded(map_) + page(5))


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
