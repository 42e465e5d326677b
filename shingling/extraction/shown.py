"""Content that Resiliparse leaves out, changed in the tree of a page so that it is taken.

Resiliparse goes by the names and classes of elements, wherever they stand: it leaves out lists near
`<body>`, asides, captions and times, and parts that are folded up or have names such as menu. In
the content of a page, readers see them.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from math import inf
from typing import TYPE_CHECKING

from shingling.extraction.parsed import words

if TYPE_CHECKING:
    from resiliparse.parse.html import DocumentNode, ElementNode

_MOST_CONTENTS, _MOST_CHANGED, _MOST_PARENTS = 8, 256, 16
_MOST_READ = 4_000_000  # characters of markup, of each element with all that is in it
_MOST_LINKS = 0.2  # of the text of a list or part, as Resiliparse has it for lists
_LEAST_CAPTION = 6  # words; the name of a photographer has fewer
_MUCH = 0.25  # of the text of the content: links are what it says
_MOST_PARTS = 512  # of those that a page has, evenly spread
_MOST_LINKS_OF_PART = {"ul": _MOST_LINKS, "div": 0.6}  # of its text, as Resiliparse has it


def _named(*names: str) -> str:
    """Select elements by a part of their classes or ids."""
    return ", ".join(f"[class*={name} i], [id*={name} i]" for name in names)


_CONTENT = "main, [role=main]"
_RENAMED = {"ul": "menu", "aside": "div", "time": "span", "figure": "div", "figcaption": "p"}
_IN_SHOWN_LIST = f"{_RENAMED['ul']} > li > ul"
_TEXT, _ASIDE = ":is(p, h2, h3, ul, ol, dl, pre, table)", ":is(aside, [role=complementary])"
_IN_TEXT = "figure, figcaption, :is(p, li, dt, dd, th, td) time"
_FOLDS = _named("tab-", "tabs", "tabpan", "collaps", "accordion", "expand")
_FOLDED = f"[role=tabpanel], {_FOLDS}"
_PARTS = _named("menu", "galler", "carousel", "legal", "copyright", "banner", "modal", "feedback")
_IN_CONTENT = f"""{_IN_TEXT}, ul, {_TEXT} + {_ASIDE}, {_ASIDE}:has(+ {_TEXT}),
    [role=presentation], {_FOLDED}, {_PARTS}"""
_IN_BODY = f"{_IN_TEXT}, body > ul, body > * > ul, body > * > * > ul"
LINES = "div:not(:has(div, ul, table, form))"
"""Selects parts of a line or two."""

_AROUND = re.compile("nav|header|footer|aside|banner|contentinfo|complementary|dialog")
_LEADS_ELSEWHERE = re.compile("nav|crumb|pager|pagination", re.IGNORECASE)
_NAVIGATION = re.compile("nav|dialog")
_LINK = re.compile(r"<a[\s>]")
_TAG = re.compile("<[^>]*+>?")
_NAMING = "class", "id", "role"
_HIDING = "hidden", "style", "aria-hidden"


def show_content(document: DocumentNode) -> None:
    """Change the tree of a page so that Resiliparse takes what its content shows.

    The content is `<main>` or what has this role, or else each `<article>`. In a page without
    these, lists near `<body>`, times and captions outside of navigation, header, footer and aside
    are shown.
    """
    contents = document.query_selector_all(_CONTENT).values()
    contents = contents or document.query_selector_all("article").values()
    shown, left = _IN_CONTENT if contents else _IN_BODY, _MOST_READ
    met: list[ElementNode] = []
    for content in contents[:_MOST_CONTENTS] or document.query_selector_all("body").values():
        least = _MUCH * _characters(content) if contents else inf
        for element in content.query_selector_all(shown).values()[:_MOST_CHANGED]:
            markup = element.html
            left -= len(markup)
            if left < 0:
                return
            names = _NAVIGATION if contents and element.tag != "time" else _AROUND
            if _says_something(element, markup, least) and not _is_around(element, names, met):
                _show(document, element)


def largest_listing(document: DocumentNode, parts: str) -> int:
    """Count the characters of parts of a page that are mostly links, of the kind that has most.

    Parts of one kind are in parents of one class or, if these have none, have one class. Parts that
    are nested deeply count as none, because Resiliparse would measure each with all that is in it.

    Args:
        document: the page.
        parts: selects lists, or `LINES`, or both.
    """
    found = document.query_selector_all(parts)
    step, left = len(found) // _MOST_PARTS + 1, _MOST_READ
    sizes = Counter[tuple[str | None, str]]()
    met: list[ElementNode] = []
    for part in found[::step]:
        parent, markup = part.parent_element, part.html
        left -= len(markup)
        if left < 0:
            return 0
        if parent is None or "</a>" not in markup or (part.tag == "ul" and parent.tag == "li"):
            continue
        size, least = _characters(part), _MOST_LINKS_OF_PART[part.tag or ""]
        is_left_out = _characters_of_links(markup) > least * size
        if is_left_out and not _leads_elsewhere(part) and not _is_around(part, _AROUND, met):
            sizes[part.tag, parent.class_name or f" {part.class_name}"] += step * size
    return max(sizes.values(), default=0)


def _is_around(element: ElementNode | None, names: re.Pattern[str], met: list[ElementNode]) -> bool:
    """Whether an element is around the content, or in one that is, by its name or role.

    Args:
        element: of the page.
        names: of elements around the content.
        met: takes the elements that are looked at: one that is in use is found again quickly.
    """
    for _ in range(_MOST_PARENTS):
        if element is None:
            return False
        met.append(element)
        if names.search(f"{element.tag} {element.get_attribute('role') or ''}"):
            return True
        element = element.parent_element
    return False


def _says_something(element: ElementNode, markup: str, least: float) -> bool:
    """Whether an element has more text than links, or is a list of at least so many characters."""
    if element.tag in ("time", "figure"):
        return True
    if element.tag == "figcaption" and words(element.inner_text) < _LEAST_CAPTION:
        return False
    if _leads_elsewhere(element):
        return False
    whole = _characters(element)
    is_text = _characters_of_links(markup) < _MOST_LINKS * whole
    if is_text or element.tag != "ul":
        return is_text
    return whole > least or element.matches(_IN_SHOWN_LIST)


def _leads_elsewhere(element: ElementNode) -> bool:
    return _LEADS_ELSEWHERE.search(f"{element.class_name} {element.id}") is not None


def _show(document: DocumentNode, element: ElementNode) -> None:
    """Take away by what an element is left out; what is hidden, and not folded up, stays hidden."""
    for name in (*_NAMING, *_HIDING) if element.matches(_FOLDED) else _NAMING:
        element.remove_attribute(name)
    if element.tag in _RENAMED:
        renamed = document.create_element(_RENAMED[element.tag])
        for name in filter(element.has_attribute, _HIDING):
            renamed.set_attribute(name, element.get_attribute(name) or "")
        while (child := element.first_child) is not None:  # a list of them takes quadratic time
            renamed.append_child(child)
        element.replace_with(renamed)


def characters(text: str) -> int:
    """Count the characters of a text, without blanks."""
    return len("".join(text.split()))


def _characters(element: ElementNode) -> int:
    """Count the characters of an element's text, without blanks and scripts."""
    return characters(element.inner_text)


def _characters_of_links(markup: str) -> int:
    """Count the characters of links, by markup: each node that is asked for takes long."""
    texts = []
    for piece in markup.split("</a>")[:-1]:
        link = _LINK.search(piece)
        texts.append("" if link is None else _TAG.sub("", piece[link.start() :]))
    return characters(unescape(" ".join(texts)))
