"""The pages of the documentation, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.installed import ROOT

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), *sorted(ROOT.glob("*.md"))]

_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\S+)(?: (?P<argument>\S+))?\n"
    r"(?::caption: (?P<caption>[^\n]+)\n\n?)?"
    r"(?P<text>.*?)^(?P=indent)```$",
    flags=re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block of code.

    Args:
        language: such as `python` or `console`.
        text: as it is shown.
        line: number of its first line in the page.
        caption: the file that it is, or is added to; None for other blocks.
    """

    language: str
    text: str
    line: int
    caption: str | None


def read(name: str) -> str:
    """Text of a page of the site, by its path below docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """Blocks of code in the order of the page."""
    return [
        Block(
            found["argument"] or found["language"],
            found["text"],
            text.count("\n", 0, found.start("text")) + 1,
            found["caption"],
        )
        for found in _BLOCK.finditer(text)
    ]


def sections(name: str) -> dict[str, str]:
    """Parts of a page by their headings of the second level."""
    parts = re.split(r"^## (.+)$", read(name), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub and MyST make them from the words."""
    outside = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", outside, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}
