"""Folding as docs/explanation/algorithms.md tells it: slow, and without code of the package."""

from __future__ import annotations

import html
import re
import unicodedata

# Default_Ignorable_Code_Point, of DerivedCoreProperties.txt
_INVISIBLE = {
    *[0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0],
    *[*range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x202A, 0x202F)],
    *[*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000)],
}


_ONE_LETTER = dict(zip("ىیکٱٲٳةۀہۂۃı", "ييكاااهههههi", strict=True))


def _letter(char: str) -> str:
    """What stands for a character that is one with others to a reader."""
    name = unicodedata.name(char, "")
    if ord(char) in _INVISIBLE or name in (
        *("ARABIC TATWEEL", "NKO LAJANYALAN", "MONGOLIAN NIRUGU"),
    ):
        return ""
    if unicodedata.category(char) == "Mn" and name.split()[0] in ("HEBREW", "ARABIC", "SYRIAC"):
        return ""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if char not in _ONE_LETTER and name.startswith(("GREEK", "ARABIC LETTER")):
        char = unicodedata.normalize("NFD", char)[0]
    return _ONE_LETTER.get(char, char)


def _without_dot(found: re.Match[str]) -> str:
    """Take the dot from an i; canonical order may put other marks before the dot."""
    return (
        f"i{found[1]}" if {*map(unicodedata.combining, found[1])} <= {*range(1, 230)} else found[0]
    )


def reference_fold(text: str) -> str:
    """Fold a text by the text of docs/explanation/algorithms.md, one character at a time."""
    text = re.sub(
        r"&(?:(?:amp|AMP|#38|#x26|#X26);)*(#?[0-9A-Za-z]{1,31});",
        lambda reference: html.unescape(f"&{reference[1]};"),
        text,
    )
    text = re.sub("([\u0620-\u06ff])\u200c+", r"\1 ", text)
    text = re.sub("[ʻʼʽꞌ´]", "'", text).replace("ŉ", "'n")
    for nasal, first, last in ("ङकघ", "ञचझ", "णटढ", "नतध", "मपभ"):
        text = re.sub(f"{nasal}\u094d(?=[{first}-{last}])", "\u0902", text)
    before = None
    while text != before:
        before = text
        text = unicodedata.normalize("NFKC", text).casefold()
        text = re.sub("i([^\\w\u0307]*)\u0307+", _without_dot, text)
        text = unicodedata.normalize("NFKC", text)
        text = "".join(map(_letter, text))
    return " ".join("".join(" " if char.isspace() else char for char in text).split())
