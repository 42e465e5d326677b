"""Extractors of a user's own; worker processes import them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import shingling

_KEPT: list[bytearray] = []


def awkward(html: str, url: str | None) -> str | None:
    if "begin" in html:
        Path(os.environ["HOSTILE_MARK"]).touch()
    if "hang" in html:
        time.sleep(3600)
    while "wait" in html and not Path(os.environ["HOSTILE_MARK"]).exists():
        time.sleep(0.02)
    while "spin" in html and not Path(os.environ["HOSTILE_MARK"]).exists():
        pass
    if "busy" in html:
        end = time.process_time() + float(html.split("busy ")[1].split()[0])
        while time.process_time() < end:
            pass
    if "die" in html or ("end once" in html and _is_first(Path(os.environ["HOSTILE_MARK"]))):
        os._exit(1)
    if "leave" in html:
        raise SystemExit(1)
    if "print" in html:
        print("not a message of the worker")
    return html


def _is_first(mark: Path) -> bool:
    is_first = not mark.exists()
    mark.touch()
    return is_first


def plain(html: str, url: str | None) -> str | None:
    return shingling.extract(html, url, extractor="trafilatura")


def hungry(html: str, _: str | None) -> str:
    """Give the number of the process as text, or end for want of memory."""
    if "eat" in html:
        _KEPT.append(bytearray(1 << 30))
    if "keep" in html:
        _KEPT.append(bytearray(150 << 20))
    if "abort" in html:  # as C code does that gets no memory
        os.abort()
    return f"{html[3:]} {os.getpid()}" if "words" in html else f"process {os.getpid()}"
