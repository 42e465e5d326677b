"""Text -> text that UTF-8, every database and a terminal can hold."""

from __future__ import annotations

from shingling.errors import printable


def clean(text: str) -> str:
    """Remove NUL from a text, and replace lone surrogates by question marks."""
    text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def plain_line(text: str) -> str:
    """Put a text on one line, without control, format or surrogate characters."""
    return " ".join(printable(text).split())
