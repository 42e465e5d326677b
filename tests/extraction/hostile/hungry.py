"""An extractor that takes memory as a page asks for it; workers import it."""

from __future__ import annotations

import os

_KEPT: list[bytearray] = []


def extract(html: str, _: str | None) -> str:
    """Give the number of the process as text, or end for want of memory."""
    if "eat" in html:
        _KEPT.append(bytearray(1 << 30))
    if "keep" in html:
        _KEPT.append(bytearray(150 << 20))
    if "abort" in html:  # as C code does that gets no memory
        os.abort()
    return f"{html[3:]} {os.getpid()}" if "words" in html else f"process {os.getpid()}"
