"""Odd pages, and any pages against what is certain of them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

from shingling import Page, Store
from tests.store.decide.templates.pages import (
    TEMPLATE,
    A,
    article,
    blocks_of,
    check,
    footer,
    headline,
    lines,
    one,
    page,
    said,
    statuses,
)
from tests.support.invariants import verify
from tests.support.stores import both_databases, emptied, execute, url_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_of_a_hundred_thousand_lines_is_decided(store: Store, file: Path) -> None:
    letters = "abcdefghijklmnopqr"  # 18 ** 4 > 100,000; numbers would not tell lines apart
    long = ["line " + "".join(four) for four in islice(product(letters, repeat=4), 100_000)]
    began = time.monotonic()
    verdict = one(store, page(A + "long", long, title="A long table"))
    assert (verdict.status, verdict.template) == ("new", 0.0)
    verdict = one(store, page(A + "part", article("x"), long[63_000:65_000], title="A part of it"))
    assert time.monotonic() - began < 60
    assert verdict.status == "new"
    assert verdict.template
    assert verdict.template > 0.9
    assert sum(blocks_of(file, "a.example")) < 11_000


@pytest.mark.parametrize("blank", ["\n", "\t \n\u3000\n\u2028\n\x85"])
def test_lines_of_blanks_are_no_template(store: Store, blank: str) -> None:
    pages = [
        Page(
            f"{A}{at}", blank * 2000 + (blank * 50).join(article(f"{at}")), title=headline(f"{at}")
        )
        for at in range(2)
    ]
    assert [(one.status, one.template) for one in check(store, pages)] == [("new", 0.0)] * 2


ODD = [
    "|||",
    "«»‹›",
    ":: : :",
    "\u202e\u200b\ufeff",
    "\U0001f600 \U0001f468\u200d\U0001f469",
    "\x01\x1c\x85\u2028",
    "' \" ; -- %s :name",
    "İ ﬁ ß ſ Σς \u0345\u0301",
    "ก漢カ゛゙각",
    "\ud800 lone \udfff",
    "x" * 100_000,
    "many | parts " * 10_000,
    "12:30 - 14:45 | 7",
]


@both_databases
def test_titles_and_lines_of_odd_characters_are_taken(store: Store) -> None:
    pages = [
        page(f"{A}{at}", article(f"{at}"), [odd[:1000]], footer(A), ODD[:8], title=odd)
        for at, odd in enumerate(ODD)
    ]
    assert {*statuses(check(store, pages, size=5))} == {"new"}
    assert {*statuses(check(store, pages, size=5))} == {"unchanged"}
    walls = [page(f"{A}wall{at}", footer(A), title=odd) for at, odd in enumerate(ODD)]
    assert TEMPLATE in said(check(store, walls, size=5))


# Any pages, against what is certain of them


HOSTS = ("a.example", "www.a.example", "b.example")
LINES = [*lines("pool", 9)]
NAMES = ("alpha rain", "rain alpha", "beta", "gamma", "gamma - delta", "Delta", None)


@dataclass
class Slow:
    """What is certainly template, in sets of lines.

    A line becomes template by a second title, on a page of another URL, that has nothing to do
    with another page of the site which has the line as well.
    """

    stored: dict[str, tuple[str, tuple[str, ...], str | None]] = field(default_factory=dict)
    first: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    template: set[tuple[str, str]] = field(default_factory=set)

    def learn(self, url: str, site: str, shown: tuple[str, ...], title: str | None) -> None:
        former = self.stored[url][1] if url in self.stored else ()
        related = self.related(url, site, title)
        self.stored[url] = site, shown, title
        if title is None:
            return
        for line in {*shown} - {*former}:
            if any(line in self.stored[other][1] for other in related):
                continue
            before, page_before = self.first.setdefault((site, line), (title, shown))
            if not self.are_related(before, title) and page_before != shown:
                self.template.add((site, line))

    def are_related(self, a: str | None, b: str | None) -> bool:
        return bool(self.parts(a) & self.parts(b))

    def parts(self, title: str | None) -> set[frozenset[str]]:
        return {frozenset(part.lower().split()) for part in (title or "").split(" - ") if part}

    def related(self, url: str, site: str, title: str | None) -> list[str]:
        """Return the other pages of a site whose title has something of this one."""
        return [
            other
            for other, (its_site, _, its_title) in self.stored.items()
            if other != url and its_site == site and self.are_related(title, its_title)
        ]

    def left(self, url: str) -> set[str]:
        site, shown, _ = self.stored[url]
        return {line for line in shown if (site, line) not in self.template}


_FETCHED = st.tuples(
    st.sampled_from(HOSTS),
    st.integers(0, 3),
    st.lists(st.integers(0, len(LINES) - 1), min_size=1, max_size=5, unique=True).map(sorted),
    st.sampled_from(NAMES),
)


@settings(max_examples=10)
@given(st.lists(_FETCHED, min_size=1, max_size=16), st.integers(1, 5))
def test_no_page_is_a_duplicate_of_one_with_which_it_shares_only_template(
    empty: Path, fetched: list[tuple[str, int, list[int], str | None]], size: int
) -> None:
    slow = Slow()
    with emptied(empty) as path:
        execute(path, "DELETE FROM site_blocks")
        with Store.open(url_of(path)) as store:
            for start in range(0, len(fetched), size):
                batch = [
                    (f"https://{host}/{at}", host, tuple(LINES[number] for number in which), title)
                    for host, at, which, title in fetched[start : start + size]
                ]
                verdicts = store.check(
                    [page(url, shown, title=name) for url, _, shown, name in batch]
                )
                verify(path)
                for (url, host, shown, title), verdict in zip(batch, verdicts, strict=True):
                    if url in slow.stored and slow.stored[url][1] == shown:
                        assert verdict.status == "unchanged"
                        continue
                    site = host.removeprefix("www.")
                    slow.learn(url, site, shown, title)
                    related = slow.related(url, site, title)
                    left = slow.left(url)
                    if not left and not related:
                        assert said([verdict]) == [TEMPLATE]
                    if verdict.status == "exact":
                        assert left or related
                    if verdict.status == "near":
                        assert verdict.original is not None
                        assert left & slow.left(verdict.original) or verdict.original in related
