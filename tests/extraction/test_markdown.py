"""Main texts as Markdown: what is kept of a page, and what a hostile page makes of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from crawler.serve import SAMPLE
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.rules import MAX_BYTES
from shingling.sketch import Scheme
from tests.support.pages import article

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "https://a.example/docs/page.html"
TEXT = f"<p>{article(1)}</p>"
TARGET = re.compile(r"(?<!\\)\]\(([^)]*)\)")


def page(inner: str) -> str:
    return f"<html><body><article><h1>Title</h1>{TEXT}{inner}{TEXT}</article></body></html>"


def markdown(html: str | bytes, url: str = URL, max_bytes: int = MAX_BYTES) -> str | None:
    extractor = PageExtractor(Scheme(), max_bytes=max_bytes)
    return extractor.main_text(Fetched(html, is_html=True, url=url), "markdown")


def test_headings_lists_links_and_tables_are_kept() -> None:
    found = markdown(
        page(
            "<h2>Second</h2><ul><li>one <a href='other.html?a=1'>link</a></li>"
            "<li>two <b>bold</b><ul><li>deep</li></ul></li></ul><ol><li>first</li></ol>"
            "<table><tr><th>Name</th><th>Price</th></tr><tr><td>A|B</td><td>5</td></tr></table>"
        )
    )
    assert found is not None
    lines = [line.rstrip() for line in found.split("\n")]
    for line in (
        *("# Title", "## Second", "- two **bold**", "  - deep", "1. first"),
        *("| Name | Price |", "|---|---|", r"| A\|B | 5 |"),
    ):
        assert line in lines
    assert re.search(r"^- one \[link\]\(https://a\.example/\S*other\.html\?a=1\)$", found, re.M)


def test_a_real_page_keeps_its_table_and_its_links() -> None:
    html = (SAMPLE / "amd64" / "en" / "ch02s01.html").read_bytes()
    found = markdown(html, "https://manual.example/amd64/en/ch02s01.html")
    assert found is not None
    assert "| Architecture | Debian Designation | Subarchitecture | Flavor |" in found
    assert "[https://www.debian.org/ports/amd64/](https://www.debian.org/ports/amd64/)" in found
    assert {target.partition(":")[0] for target in TARGET.findall(found)} <= {"http", "https"}


@pytest.mark.parametrize(
    "href",
    [
        "javascript:alert(1)",
        " JaVaScRiPt:alert(1)",
        "java\tscript:alert(1)",
        "&#1;javascript:alert(1)",
        "&#160;javascript:alert(1)",
        "javascript&colon;alert(1)",
        "vbscript:x",
        "data:text/html,x",
        "https://b.example/&#10;&#10;[x](javascript:alert(1))",
        "https://b.example/)[x](javascript:alert(1)",
        "b.html> [x](javascript:alert(1)) <",
        "http://[",
    ],
)
def test_no_link_leads_anywhere_but_to_pages_and_addresses(href: str) -> None:
    said = "[a](javascript:b) &lt;javascript:c> &lt;script>d&lt;/script> ![e](javascript:f)"
    kept = '<a href="mailto:me@a.example">write</a> <a href="/a_(b)">read</a>'
    found = markdown(page(f'<p>{said} <a href="{href}">words</a> {kept} {article(2)}</p>'))
    assert found is not None
    targets = TARGET.findall(found)
    assert targets[-2:] == ["mailto:me@a.example", "https://a.example/a_%28b%29"]
    for target in targets:
        assert re.fullmatch(r"(?:https?://|mailto:)[^\s<>()]*", target)
    assert len(targets) <= 3
    assert "words" in found
    assert not re.search(r"(?<!\\)<", found)


@pytest.mark.parametrize(
    "around",
    ["{}", r"\({}\)", r"\[{}\]", "&#92;({}&bsol;)", r"\<span>(</span>{}\<span>)</span>", r"\\{}"],
)
def test_a_text_brings_neither_links_nor_html(around: str) -> None:
    said = "[a](javascript:b) &lt;script>alert(c)&lt;/script>"
    found = markdown(page(f"<p>{around.format(said)} {article(2)}</p>"))
    assert found is not None
    assert "javascript:b" in found
    assert TARGET.findall(found.replace("\\\\", "")) == []
    assert not re.search(r"(?<!\\)<", found.replace("\\\\", ""))


def test_backslashes_stay_in_prose_and_in_code() -> None:
    found = markdown(page(r"<p>In C:\dir and <code>C:\dir\n</code> it is said.</p>"))
    assert found is not None
    assert r"In C:\dir and `C:\dir\n` it is said." in found


HOSTILE: dict[str, Callable[[], str]] = {
    "nested tables": lambda: "<table><tr><td>cell " * 1_000,
    "nested lists": lambda: "<ul><li>item " * 1_000,
    "nested emphasis": lambda: "<p>" + "<b><i>word " * 1_000,
    "links": lambda: "".join(f'text <a href="/p/{n}">link {n}</a> ' for n in range(20_000)),
    "a wide table": lambda: f"<table><tr>{'<td>a|b</td>' * 5_000}</tr></table>",
    "brackets": lambda: f"<p>{'[' * 100_000}</p>",
    "formulas": lambda: "<p>" + r"\(x" * 50_000 + r"\[x" * 50_000,
    "backslashes": lambda: "<p>" + "\\" * 200_000 + "_",
    "odd columns": lambda: "<table><tr><td colspan=1000000000>a</td></tr></table>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_made_of_a_hostile_page_is_bounded(name: str) -> None:
    html = page(HOSTILE[name]())
    found = markdown(html)
    assert found is None or len(found) < 3 * len(html)


def test_markdown_that_is_longer_than_a_page_may_be_is_none() -> None:
    html = page("".join(f'text <a href="/{n}">{n}</a> ' for n in range(500)))
    host = f"https://{'long.' * 40}example/"
    assert markdown(html, host) is not None
    assert markdown(html, host, max_bytes=len(html)) is None
