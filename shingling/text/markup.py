"""Markup removed from a text that is HTML in part, for the option `markup` of the canonicaliser."""

from __future__ import annotations

import re

# Comments, scripts and styles that are not closed end with the text, as in browsers. A tag that
# is not closed is text.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^<>]*+>", re.DOTALL)
_SCRIPT = re.compile(
    r"<(script|style)(?=[\s/>])[^<>]*+>.*?(?:</\1(?=[\s/>])[^<>]*+>?|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"</?([a-z][^\s/<>]*+)[^<>]*+(>?)", re.IGNORECASE)
# Values in quotes may hold "<" and ">".
_TAG_WITH_VALUES = re.compile(
    r"""</?([a-z][^\s/<>]*+)(?:=\s*+"[^"]*+(?:"|\Z)|=\s*+'[^']*+(?:'|\Z)|[^<>])*+(>?)""",
    re.IGNORECASE,
)
# Elements that may be part of a word: their tags are not replaced by a space.
_WITHIN_WORDS = re.compile(
    "a|abbr|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike"
    "|strong|sub|sup|time|tt|u|var|wbr",
    re.IGNORECASE,
)


def remove_markup(text: str) -> str:
    """Remove HTML tags, comments, scripts and styles.

    Tags become a blank, except those of elements within words (`<b>`, `<sub>`). The time is
    linear in the length of any text, and elements may be nested to any depth.
    """
    pieces, end = [], 0
    wasted = 0  # characters scanned for tags that turned out not to be closed
    start = text.find("<")
    while start >= 0:
        space = ""
        match = _COMMENT.match(text, start) or _SCRIPT.match(text, start)
        if not match:
            match = _TAG_WITH_VALUES.match(text, start) if wasted <= len(text) else None
            if match and not match[2]:
                wasted += match.end() - start
                match = None
            match = match or _TAG.match(text, start)
            if match and not match[2]:
                match = None
            if match and not _WITHIN_WORDS.fullmatch(match[1]):
                space = " "
        if match:
            pieces += [text[end:start], space]
            end = match.end()
        start = text.find("<", match.end() if match else start + 1)
    return "".join([*pieces, text[end:]])
