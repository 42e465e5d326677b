"""Bodies of saved responses without the codings of their transfer.

Headers of archives are often not about the bytes that were saved. So what the bytes are decides,
and after that what is declared.
"""

from __future__ import annotations

import io
import re
import zlib
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.extraction.html import sniff_html
from shingling.files.lines import GZIP, ZSTANDARD

if TYPE_CHECKING:
    from collections.abc import Callable

DECODING_ERRORS = (OSError, ValueError, EOFError)
"""What decoding raises."""

_CHUNK = re.compile(rb"(?:\r?\n)?([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")  # its first line
_ZLIB_HEAD = b"\x78\x9c"  # that servers leave out
_ANY_HEADER, _NO_HEADER = 47, -15  # of gzip or zlib, as zlib calls them: `wbits`


def decoded(body: bytes, declared: str, most: int) -> bytes | None:
    """Body without its codings; None if it cannot be decoded.

    What is packed more than once is not unpacked: that can take any time and give nothing.

    Args:
        body: as it was saved.
        declared: codings that its headers name.
        most: number of bytes to give.
    """
    from fastwarc.stream_io import BrotliReader, GzipReader, ZstdReader

    if sniff_html(body):
        return body
    with suppress(ValueError):
        body = _without_chunks(body, may_be_cut="chunked" in declared)
        declared = declared.replace("chunked", "").strip(", ")
    coding = "gzip" if body.startswith(GZIP) else "zstd" if body.startswith(ZSTANDARD) else declared
    if sniff_html(body):
        return body
    readers: dict[str, Callable[[Any], Any]] = {
        "gzip": GzipReader,
        "zstd": ZstdReader,
        "br": BrotliReader,
        "deflate": partial(GzipReader, zlib=True),
    }
    if coding in readers:
        for packed in (body, body.rstrip(b"\r\n"), _ZLIB_HEAD + body):
            with suppress(*DECODING_ERRORS):
                unpacked: bytes = readers[coding](io.BytesIO(packed)).read(most)
                return None if unpacked.startswith((GZIP, ZSTANDARD)) else unpacked
    # Another way of packing than declared, or with something else behind it.
    for window in (_ANY_HEADER, _NO_HEADER):
        with suppress(zlib.error):
            page = zlib.decompressobj(window).decompress(body, most)
            if sniff_html(page):
                return page
    return body if coding in ("", "identity", "none") else None


def _without_chunks(body: bytes, *, may_be_cut: bool) -> bytes:
    """Join the chunks of a body; the last one may be missing.

    Args:
        body: as it was saved.
        may_be_cut: whether it may end within a chunk.

    Raises:
        ValueError: it has no chunks, or ends within one that may not be cut.
    """
    chunks: list[bytes] = []
    at = 0
    while line := _CHUNK.match(body, at):
        at = line.end() + int(line[1], 16)
        if at == line.end():
            break
        chunks.append(body[line.end() : at])
    is_cut = at > len(body) and not may_be_cut
    if not chunks or is_cut or (line is None and body[at : at + 4].strip()):
        raise ValueError("no chunks")
    return b"".join(chunks)
