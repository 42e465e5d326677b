"""How foreign text, URLs and numbers are shown: cut, with what cannot be seen made visible."""

from __future__ import annotations

import re
import unicodedata
from os.path import commonprefix
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from shingling.console.output import counted, cut_url
from shingling.store.decided import change_said, reason_said, why
from shingling.store.model import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_SHOWN_CHARACTERS = 300  # of a title or URL in a list
MAX_WHOLE_CHARACTERS = 10_000  # of a title or URL that is shown whole
# Persian and Hindi are written with the joiners, and emoji; a soft hyphen hides nothing.
_WEB_URL = re.compile(r"(?i)https?://(?:\[[0-9a-f:.]+\]|[^/?#\[])")
_STAY_IN_TEXTS = "\n\t\u200c\u200d\u00ad"


def visible(text: str, stays: str = "\n\t") -> str:
    r"""Replace what is not to be seen, or turns a line around, by an escape like `\u202e`.

    Args:
        text: foreign text.
        stays: characters that are not replaced.
    """
    if text.isprintable():
        return text
    return "".join(_visible_character(char, stays) for char in text)


def visible_text(text: str) -> str:
    """Replace the same in a main text, but for the joiners that some scripts are written with."""
    return visible(text, _STAY_IN_TEXTS)


def _visible_character(char: str, stays: str) -> str:
    if char.isprintable() or char in stays:
        return char
    if unicodedata.category(char) == "Zs":
        return " "
    return f"\\u{ord(char):04x}" if ord(char) <= 0xFFFF else f"\\U{ord(char):08x}"


def cut(text: str, characters: int = MAX_SHOWN_CHARACTERS) -> str:
    """Cut a text to so many characters on one line, with an ellipsis if some are missing.

    A URL is cut in its middle: those of a site differ near their ends.
    """
    if _WEB_URL.match(text):
        text = cut_url(text, characters)
    line = " ".join(visible(text[:characters]).split())
    return f"{line}…" if len(text) > characters else line


def differing(url: str, other: str) -> str:
    """End of a URL, from the segment on in which it differs from another one."""
    same = len(commonprefix([url, other]))  # noqa: RUF071 (no paths)
    return f"…{url[url.rfind('/', 0, same) :]}"


def web_link(url: str) -> str | None:
    """URL if a browser may be sent there; None for any scheme but http and https."""
    return url if _WEB_URL.match(url) else None


def measure(value: float | None) -> str:
    """Write a measure from 0 to 1 with three digits; a dash if there is none."""
    return "–" if value is None else f"{value:.3f}"


def link(path: str, values: Mapping[str, object] | Iterable[tuple[str, object]]) -> str:
    """Address of a page of the application, with those of the values that say something."""
    said = {name: value for name, value in dict(values).items() if value not in (None, "")}
    query = urlencode(said)
    return f"{path}?{query}" if query else path


def environment() -> Environment:
    """Templates, in which every value is escaped."""
    made = Environment(
        loader=PackageLoader("shingling.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for shown in (
        visible,
        visible_text,
        cut,
        differing,
        web_link,
        measure,
        counted,
        why,
        reason_said,
        change_said,
    ):
        made.filters[shown.__name__] = shown
    made.globals.update(
        link=link,
        layout="base.html",
        root="",
        MAX_WHOLE_CHARACTERS=MAX_WHOLE_CHARACTERS,
        STATUSES=STATUSES,
    )
    return made
