"""What may be shown of a text on a terminal, in a log or in JSON."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_MESSAGE_CHARACTERS = 2000

_USER_AND_PASSWORD = re.compile(r"(://[^\s:/?#@]*:)[^\s/]*@")
_PASSWORD_PARAMETER = re.compile(
    r"(?i)((?:password|passwd|pwd|passphrase|secret|token|api_?key)=)[^\s&;,'\"]+"
)


def printable(text: str) -> str:
    """Replace every character that is not to be seen by a space: control, format and others.

    These are line ends, terminal escapes, C1 controls, marks that change the direction of what
    follows, zero-width characters and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def message_line(message: str) -> str:
    """Put a message on one line, without passwords and without what is not to be seen.

    It is cut after `MAX_MESSAGE_CHARACTERS` characters.
    """
    line = " ".join(printable(message[: 2 * MAX_MESSAGE_CHARACTERS]).split())
    line = _USER_AND_PASSWORD.sub(r"\1***@", line)
    line = _PASSWORD_PARAMETER.sub(r"\1***", line)
    if len(line) > MAX_MESSAGE_CHARACTERS:
        return f"{line[:MAX_MESSAGE_CHARACTERS]} …"
    return line


def json_text(value: Any, *, ascii_only: bool = False, indent: int | None = None) -> str:
    r"""Write JSON that a terminal shows as it is: what `printable` replaces is escaped as `\u`.

    Args:
        value: what `json.dumps` takes.
        ascii_only: whether all characters beyond ASCII are escaped.
        indent: spaces of each level; None writes one line.
    """
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    lines = text.split("\n")  # JSON's own: within strings they are escaped
    return "\n".join(line if line.isprintable() else _escaped(line) for line in lines)


def _escaped(line: str) -> str:
    # json.dumps gives the pair of escapes for a character beyond U+FFFF.
    return "".join(
        char if char.isprintable() else json.dumps(char)[1:-1] for char in line
    )
