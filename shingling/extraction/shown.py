"""Content that Resiliparse leaves out, changed in the tree of a page so that it is taken.

Resiliparse goes by the names and classes of elements, wherever they stand: it leaves out lists near
`<body>`, asides, captions and times, and parts that are folded up or have names such as menu. In
the content of a page, readers see them.
"""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

from resiliparse.parse.html import ElementNode

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

_MOST_CONTENTS, _MOST_CHANGED, _MOST_PARENTS = 8, 256, 16
_MOST_LINKS = 0.2  # of the text of a list or part, as Resiliparse has it for lists
_MUCH = 0.25  # of the text of the content: links are what it says

_CONTENT = "main, [role=main]"
_FOLDS = "tab-", "tabs", "tabpan", "collaps", "accordion", "expand"
_NAMES = (
    *_FOLDS,
    "menu",
    "galler",
    "carousel",
    "legal",
    "copyright",
    "banner",
    "modal",
    "feedback",
)
_RENAMED = {"ul": "ol", "aside": "div", "time": "span", "figure": "div", "figcaption": "p"}
_IN_CONTENT = ", ".join(
    (
        *(*_RENAMED, "[role=tabpanel]", "[role=presentation]", "[role=complementary]"),
        *(f"[{kind}*={name} i]" for kind in ("class", "id") for name in _NAMES),
    )
)
_IN_SENTENCES = "p time, li time, td time, dd time"
_IN_BODY = f"body > ul, body > * > ul, body > * > * > ul, figure, figcaption, {_IN_SENTENCES}"
_AROUND = re.compile("nav|header|footer|aside|banner|contentinfo|complementary|dialog")
_LEADS_ELSEWHERE = re.compile("nav|crumb|pager|pagination", re.IGNORECASE)
_NAVIGATION = re.compile("nav|dialog")
_JUDGED = ("class", "id", "role", "hidden", "style")


def show_content(tree: HTMLTree) -> None:
    """Change the tree of a page so that Resiliparse takes what its content shows.

    The content is `<main>` or what has this role, or else each `<article>`. In a page without
    these, lists near `<body>`, times and captions outside of navigation, header, footer and aside
    are shown.
    """
    document = tree.document
    assert document is not None
    contents = document.query_selector_all(_CONTENT).values()
    contents = contents or document.query_selector_all("article").values()
    for content in contents[:_MOST_CONTENTS]:
        least = _MUCH * _characters(content)
        for element in content.query_selector_all(_IN_CONTENT).values()[:_MOST_CHANGED]:
            if _says_something(element, least) and not _is_around(element, _NAVIGATION):
                _show(tree, element)
    if not contents:
        for element in document.query_selector_all(_IN_BODY).values()[:_MOST_CHANGED]:
            if _says_something(element, inf) and not _is_around(element, _AROUND):
                _show(tree, element)


def _is_around(element: ElementNode, names: re.Pattern[str]) -> bool:
    """Whether an element stands in one that is around the content, by its name or role."""
    parent = element.parent_element
    for _ in range(_MOST_PARENTS):
        if parent is None:
            return False
        if names.search(f"{parent.tag} {parent.get_attribute('role') or ''}"):
            return True
        parent = parent.parent_element
    return False


def _says_something(element: ElementNode, least: float) -> bool:
    """Whether an element has more text than links, or at least so many characters."""
    if element.tag in ("time", "figure", "figcaption"):
        return True
    if _LEADS_ELSEWHERE.search(f"{element.class_name} {element.id}"):
        return False
    whole = _characters(element)
    links = element.get_elements_by_tag_name("a").values()
    return sum(map(_characters, links)) < _MOST_LINKS * whole or whole > least


def _show(tree: HTMLTree, element: ElementNode) -> None:
    """Take away by what an element is left out; what is hidden, and not folded up, stays hidden."""
    names = f"{element.class_name} {element.id} {element.get_attribute('role') or ''}".lower()
    is_folded = any(name in names for name in _FOLDS)
    for name in _JUDGED if is_folded else _JUDGED[:3]:
        element.remove_attribute(name)
    if element.tag in _RENAMED:
        renamed = tree.create_element(_RENAMED[element.tag])
        assert isinstance(renamed, ElementNode)
        renamed.append(*element.child_nodes)
        element.replace_with(renamed)


def _characters(element: ElementNode) -> int:
    """Count the characters of an element's text, without blanks."""
    return len("".join((element.text_content or "").split()))
