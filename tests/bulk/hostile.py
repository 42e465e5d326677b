"""Extractors that crash, hang, or are slow."""

from __future__ import annotations

import os
import time
from pathlib import Path


def deadly(html: str, _: str | None) -> str:
    """End the process, or hang, if the page says so."""
    if "DIE ALWAYS" in html:
        os._exit(1)
    if "DIE ONCE" in html:
        mark = Path(os.environ["HOSTILE_MARK"])
        if not mark.exists():
            mark.touch()
            os._exit(1)
    if "HANG" in html:
        time.sleep(60)
    return html


def slow(html: str, _: str | None) -> str:
    """Take long enough that a run can be interrupted."""
    time.sleep(0.02)
    return html
