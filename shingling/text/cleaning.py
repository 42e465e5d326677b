"""Take out of a text what UTF-8, a database or a terminal cannot show."""

from __future__ import annotations

import unicodedata


def clean(text: str) -> str:
    """Return a text that UTF-8 and every database can hold: no NUL, no lone surrogate."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def plain_line(text: str) -> str:
    """Return a text as one line without control, format or surrogate characters."""
    shown = "".join(" " if unicodedata.category(char)[0] == "C" else char for char in text)
    return " ".join(shown.split())
