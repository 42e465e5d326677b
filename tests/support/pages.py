"""Texts and HTML pages."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in ("n", "r", "sta", "lo")]


def article(seed: int, words: int = 300) -> str:
    """Return a text of its own for each seed."""
    state, chosen = seed * 7919 + 1, []
    for _ in range(words):
        state = (state * 1103515245 + 12345) % (1 << 31)
        chosen.append(WORDS[(state >> 8) % len(WORDS)])
    return " ".join(chosen)


def html(text: str, title: str = "A page", navigation: str = "") -> str:
    """Return an article as a page."""
    paragraphs = "".join(f"<p>{line}.</p>" for line in textwrap.wrap(text, 400))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>'
        f"<body><nav>{navigation}</nav><article><h1>{title}</h1>{paragraphs}</article></body></html>"
    )


def links(paths: Iterable[str], kind: str = "article") -> str:
    """Return a page of links, such as the home page of a site."""
    items = "".join(f'<li><a class="{kind}" href="{path}">{path}</a></li>' for path in paths)
    return f"<!DOCTYPE html><html><title>Home</title><body><ul>{items}</ul></body></html>"


def edited(text: str) -> str:
    """Return a text with another word in its middle."""
    words = text.split()
    return " ".join([*words[: len(words) // 2], "edited", *words[len(words) // 2 + 1 :]])


def linked(pages: dict[str, str]) -> dict[str, str]:
    """Return the pages of a site, with a home page that links to them."""
    return {"/": links(pages), **pages}
