"""What is learned of a site, and left out of what is compared; pages that are template all over."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings, strategies as st

import shingling.store.templates
from shingling import Page, Rules, Store
from shingling.store.schema.tables import select_in
from shingling.store.templates import TEMPLATE as TEMPLATE_TITLE, Site, pack_entries
from tests.store.decide.templates.pages import (
    TEMPLATE,
    A,
    B,
    C,
    article,
    blocks_of,
    check,
    footer,
    headline,
    lines,
    one,
    page,
    pages_of,
    said,
    short_article,
    short_pages,
    statuses,
)
from tests.support.invariants import jaccard, verify
from tests.support.stores import both_databases, emptied, execute, rows_of, url_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from sqlalchemy import Connection


# What pages of one site have in common


def test_the_share_that_was_left_out_is_that_of_the_characters(store: Store) -> None:
    body, around = article("a"), footer("a")
    first, second = (
        page(f"{A}{at}", around, body if at else article("other"), title=f"Title {'xy'[at]}")
        for at in range(2)
    )
    assert one(store, first).template == 0.0
    verdict = one(store, second)
    left, gone = sum(map(len, body)), sum(map(len, around))
    assert verdict.template == pytest.approx(gone / (left + gone))
    assert verdict.as_dict()["template"] == round(gone / (left + gone), 4)
    assert one(store, second).as_dict()["template"] is None, "it is not compared again"


# What teaches nothing, and what little


@pytest.mark.parametrize("title", [None, "?! — |"])
def test_pages_without_a_title_teach_nothing(store: Store, file: Path, title: str | None) -> None:
    pages = [page(one.url, [one.text or ""], title=title) for one in short_pages(A, 3)]
    verdicts = check(store, pages)
    assert statuses(verdicts) == ["new", "near", "near"]
    assert [verdict.template for verdict in verdicts] == [0.0] * 3
    assert rows_of(file, "SELECT site FROM site_blocks") == []


@pytest.mark.parametrize("prefix", ["page-", "file:///"])
def test_pages_without_a_host_are_of_one_site(store: Store, prefix: str) -> None:
    verdicts = check(store, short_pages(prefix, 3))
    assert statuses(verdicts) == ["new"] * 3
    assert [bool(verdict.template) for verdict in verdicts] == [False, True, True]


def test_blocks_that_one_title_has_are_template_only_once_all_pages_have_it(store: Store) -> None:
    pages = [page(f"{A}{at}", article(f"{at}"), footer(A), title="The Site") for at in range(9)]
    verdicts = check(store, pages)
    assert statuses(verdicts) == ["new"] * 9
    assert [verdict.template == 0.0 for verdict in verdicts] == [True] * 6 + [False] * 3
    assert all(verdict.template for verdict in verdicts[6:])
    walls = [page(f"{A}wall{at}", footer(A), title=headline(f"{at}")) for at in range(2)]
    assert said(check(store, walls)) == [TEMPLATE] * 2


def test_a_page_that_changes_its_text_and_title_keeps_its_paragraphs(store: Store) -> None:
    first, *others = pages_of(A, 3, footer(A))
    check(store, [first, *others])
    body = article(f"{A} 0")
    around = sum(map(len, footer(A)))
    for at in range(3):
        body = [*body, *lines(f"update {at}", 1)]
        verdict = one(store, page(first.url, body, footer(A), title=headline(f"update {at}")))
        assert verdict.status == "changed"
        assert verdict.template == pytest.approx(around / (sum(map(len, body)) + around))
    verdict = one(store, page(C, body))
    assert (verdict.original, verdict.resemblance) == (first.url, 1.0)


# Rules


def test_templates_have_no_effect_without_texts(store: Store, file: Path) -> None:
    rules = Rules(store_text=False)
    verdicts = check(store, short_pages(A, 4, 60), rules)
    assert "near" in statuses(verdicts)
    assert {verdict.template for verdict in verdicts} == {None}
    assert rows_of(file, "SELECT site FROM site_blocks") == []


def test_redecide_corrects_what_was_said_before_a_template_was_known(store: Store) -> None:
    shared = footer("what a network of sites has below each page", 8)
    early = [
        page(site + "first", short_article(site), shared, title=headline("early"))
        for site in (A, B)
    ]
    assert said(check(store, early)) == [("new", None, None), ("near", None, A + "first")]
    for site in (A, B):
        later = page(site + "second", short_article(f"{site} 2"), shared, title="A second one")
        assert one(store, later).status == "new"
    copy = page(A + "third", short_article(A), shared, title=headline("early"))
    assert one(store, copy).original == A + "first"
    dry = store.admin.redecide(Rules(), dry_run=True)
    assert (dry.to_original, dry.to_duplicate) == (1, 0)
    assert store.admin.redecide(Rules()) == dry
    duplicates = {stored.url: stored.original for stored in store.pages() if stored.original}
    assert duplicates == {A + "third": A + "first"}
    assert store.status().originals == 4


# Copies, which have all in common: they are found, and make no template


TITLES = [
    ("Rain falls hard on the old town", "The old town: hard on Rain falls!"),
    ("Rain falls hard on the old town | A Site", "Rain falls hard on the old town"),
    (
        "Rain falls hard on the old town - Local news | A Site",
        "Rain falls hard on the old town | A Site",
    ),
    ("Local news: Rain falls hard on the old town", "Rain falls hard on the old town"),
    ("A Site » Rain falls hard on the old town", "Rain falls hard on the old town"),
]
BOTH_WAYS = [*TITLES, *(titles[::-1] for titles in TITLES[1:])]


@pytest.mark.parametrize(("pages_before", "around"), [(0, 0), (7, 2)])
def test_copies_within_a_site_are_found_and_make_no_template_of_their_paragraphs(
    store: Store, pages_before: int, around: int
) -> None:
    for number, (first, second) in enumerate(BOTH_WAYS):
        site = f"https://site{number}.example/"
        others = [
            page(
                f"{site}{at}",
                article(f"{number} {at}"),
                footer(site, around),
                title=f"{headline(f'{number} {at}')} | A Site",
            )
            for at in range(pages_before)
        ]
        assert {*statuses(check(store, others, size=5))} <= {"new"}
        body = article(f"body {number}")
        extra = [headline(f"extra {number}")]
        copies = [
            page(site + "original", body, footer(site, around), title=first),
            page(site + "copy", body, extra, footer(site, around), title=second),
            page(site + "again", body, extra, footer(site, around), title=second),
            page(site + "third", body, footer(site, around), title=first),
            page(f"https://far{number}.example/", body),
        ]
        verdicts = check(store, copies)
        assert {verdict.original for verdict in verdicts[1:]} == {site + "original"}
        assert {verdict.status for verdict in verdicts[1:]} <= {"near", "exact"}


def test_a_copy_of_the_same_title_teaches_nothing_where_it_lacks_the_template(store: Store) -> None:
    body, title = article("body"), headline("body")
    check(store, [page(A + "original", body, footer(A, 8), title=title)])
    check(store, pages_of(A, 2, footer(A, 8)))
    assert one(store, page(A + "print", body, title=title)).template == 0.0
    verdict = one(store, page(C + "copy", body))
    assert verdict.original in (A + "original", A + "print")
    assert verdict.resemblance == 1.0


def test_a_copy_on_another_site_is_found_in_its_template(store: Store) -> None:
    around = {site: footer(site, 4) for site in (A, B)}
    for site in around:
        check(store, pages_of(site, 2, around[site]))
    bodies = [article(f"shared {at}") for at in range(12)]
    for_a, for_b = (
        [
            page(f"{site}x{at}", body, around[site], title=headline(f"{at}"))
            for at, body in enumerate(bodies)
        ]
        for site in around
    )
    alike = [jaccard(a.text or "", b.text or "") for a, b in zip(for_a, for_b, strict=True)]
    assert max(alike) < Rules().threshold
    assert statuses(check(store, for_a)) == ["new"] * 12
    found = [verdict for verdict in check(store, for_b) if verdict.original]
    assert len(found) >= 10
    for verdict in found:
        assert verdict.original in [first.url for first in for_a]
        assert verdict.resemblance == 1.0


# Pages that are template all over


@pytest.fixture
def site(store: Store) -> list[Page]:
    """Return stored pages of site A, whose template is known then."""
    pages = pages_of(A, 4, footer(A, 3))
    check(store, pages)
    return pages


@pytest.mark.parametrize(("path", "first"), [("wall/", "new"), ("", "changed")])
def test_consent_walls_with_the_titles_of_articles_are_skipped_at_urls_of_theirs_too(
    store: Store, site: list[Page], path: str, first: str
) -> None:
    wall = footer("we value your privacy", 4)
    walls = [page(f"{A}{path}{at}", wall, title=known.title) for at, known in enumerate(site)]
    verdicts = check(store, walls)
    assert said(verdicts[1:]) == [TEMPLATE] * 3
    assert [verdict.template for verdict in verdicts[1:]] == [1.0] * 3
    assert (verdicts[0].status, verdicts[0].original) == (first, None)


@pytest.mark.parametrize(("count", "reason"), [(19, "template"), (20, None)])
def test_a_page_with_fewer_words_left_than_the_least_length_is_template(
    store: Store, site: list[Page], count: int, reason: str | None
) -> None:
    rest = " ".join(f"own{at}" for at in range(count))
    verdict = one(store, page(A + "x", [rest], footer(A, 3), title="Something else"))
    assert verdict.reason == reason
    assert verdict.status == ("skipped" if reason else "new")


def test_a_short_page_is_template_only_if_nothing_is_left(store: Store, site: list[Page]) -> None:
    menu = " ".join(footer(A, 1)[0].split()[:5])
    pages = [
        page(A + "x", [menu], title="One title"),
        page(A + "y", [menu, "and three words"], title="Another title"),
        page(A + "z", [menu], title="A third title"),
    ]
    assert [one.reason for one in check(store, pages)] == ["short", "short", "template"]


# What is kept in the store, its bounds, and how it is taken out


@both_databases
def test_two_open_stores_share_what_they_learn(store: Store, file: Path) -> None:
    pages = short_pages(A, 8)
    with Store.open(url_of(file)) as other:
        for at, checked in enumerate(pages):
            verdict = one((store, other)[at % 2], checked)
            assert (verdict.status, bool(verdict.template)) == ("new", at > 0)
        store.admin.forget(site="a.example")
        assert one(other, page(A + "x", footer(A, 8), title="Another")).template == 0.0


@both_databases
def test_stores_that_write_in_turns_learn_what_one_learns(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reads only the rows that the others have added, until they are merged."""
    monkeypatch.setattr(shingling.store.templates, "_MAX_ROWS", 6)
    monkeypatch.setattr(shingling.store.templates, "_MAX_LOOKED_UP", 50)
    random_ = random.Random(3)
    pages = []
    for at in range(60):
        site = random_.choice((A, B, C))
        around = footer(site, random_.choice((1, 4, 6)))[: random_.choice((1, 3, 9))]
        title = random_.choice((headline(f"{at}"), headline(f"{at % 7}"), "The Site"))
        pages.append(page(f"{site}{at}", article(f"{at % 40}"), around, title=title))
    with Store.open(url_of(file)) as second, Store.open(url_of(file)) as third:
        turns = [one(random_.choice((store, second, third)), checked) for checked in pages]
    with Store.open(f"sqlite:///{file.with_name('alone.db')}") as alone:
        expected = [one(alone, checked) for checked in pages]
    assert [(was, was.template) for was in turns] == [(is_, is_.template) for is_ in expected]
    assert {was.template for was in turns if was.template}


def test_rows_of_a_site_are_listed_only_if_others_have_written(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []

    def listing(connection: Connection, statement: str, values: Iterable[Any]) -> Iterator[Any]:
        wanted = [*values]
        if statement == shingling.store.templates._IDS:
            listed.extend(wanted)
        return select_in(connection, statement, wanted)

    monkeypatch.setattr(shingling.store.templates, "select_in", listing)
    pages = short_pages(A, 5)
    check(store, pages[:2])
    check(store, pages[2:3])
    assert listed == []
    with Store.open(url_of(file)) as other:
        check(other, pages[3:4])
    assert listed == ["a.example"]
    check(store, pages[4:])
    assert listed == ["a.example"] * 2


@given(
    st.lists(st.dictionaries(st.integers(0, 9), st.integers(0, 3)), max_size=6),
    st.integers(0, 6),
)
def test_rows_that_are_read_later_add_the_same(entries: list[dict[int, int]], first: int) -> None:
    rows = [(at, (pack_entries(row), None)) for at, row in enumerate(entries)]
    at_once, in_parts = Site(), Site()
    at_once.add_rows(dict(rows))
    in_parts.add_rows(dict(rows[:first]))
    in_parts.add_rows(dict(rows[first:]))
    assert [*map(in_parts.title, range(10))] == [*map(at_once.title, range(10))]
    assert in_parts.rows == at_once.rows
    for block, title in enumerate(map(at_once.title, range(10))):
        seen = {row[block] for row in entries if block in row}
        assert title == (None if not seen else seen.pop() if len(seen) == 1 else TEMPLATE_TITLE)


# Bounds


@both_databases
def test_rows_of_a_site_are_merged_and_have_so_many_blocks_at_most(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shingling.store.templates, "_MAX_ROWS", 8)
    monkeypatch.setattr(shingling.store.templates, "MAX_TEMPLATE_BLOCKS", 10)
    monkeypatch.setattr(shingling.store.templates, "MAX_OTHER_BLOCKS", 20)
    rows, merged = [], []
    for at in range(40):
        around = footer(f"seen twice {at // 2}")[:2]
        check(store, [page(f"{A}{at}", article(f"{at}"), around, title=headline(f"{at}"))])
        blocks = blocks_of(file, "a.example")
        rows.append(len(blocks))
        merged += blocks if len(blocks) == 1 else []
    assert max(rows) == 8
    assert merged[0] <= 11
    assert max(merged) == 30
    assert len(merged) == 5
    assert check(store, pages_of(A + "more/", 2, footer(A)))[1].template


@pytest.mark.parametrize("rules", [Rules(), Rules(containment=0.9, threshold=0.8)])
def test_verdicts_do_not_depend_on_the_size_of_batches(file: Path, rules: Rules) -> None:
    random_ = random.Random(1)
    pages = []
    for _ in range(48):
        site = random_.choice((A, B, C))
        which = random_.randrange(24)
        body = article(f"{which}")[: random_.choice((0, 2, 4, 5))]
        title = random_.choice(
            (headline(f"{which}"), headline(f"{which}") + " | " + site, "The Site", None)
        )
        around = footer(site, random_.choice((1, 4, 6)))
        pages.append(page(f"{site}{random_.randrange(50)}", body, around, title=title))
    found = []
    for size in (1, 64):
        path = file.with_stem(f"by{size}")
        with Store.open(url_of(path), rules=rules) as store:
            verdicts = check(store, pages, rules, size)
        verify(path)
        found.append([(verdict, verdict.template) for verdict in verdicts])
    assert {*statuses(verdict for verdict, _ in found[0])} >= {"new", "near", "exact", "skipped"}
    assert found[0] == found[1]


# Taking out


def test_forgetting_a_site_forgets_its_template(store: Store, file: Path) -> None:
    for site in (A, B):
        check(store, pages_of(site, 3, footer(site)))
    assert store.admin.forget(site="a.example") == 3
    assert rows_of(file, "SELECT DISTINCT site FROM site_blocks") == [("b.example",)]
    again = [verdict.template for verdict in check(store, pages_of(A, 2, footer(A)))]
    assert again[0] == 0.0
    assert again[1]
    assert one(store, page(B + "x", footer(B), title="Another")).reason == "template"


def test_forgetting_pages_by_url_leaves_the_template_of_a_site(store: Store, file: Path) -> None:
    pages = pages_of(A, 3, footer(A))
    check(store, pages)
    copy = page(C, [pages[0].text or ""])
    assert one(store, copy).original == pages[0].url
    assert store.admin.forget([one.url for one in pages]) == 3
    verify(file)
    assert [stored.original for stored in store.pages()] == [None]
    assert one(store, page(A + "x", footer(A), title="Another")).reason == "template"
    assert one(store, pages[1]).status == "new"


# Odd pages, and any pages against what is certain of them


def test_a_page_of_a_hundred_thousand_lines_is_decided(store: Store, file: Path) -> None:
    letters = "abcdefghijklmnopqr"  # 18 ** 4 > 100,000; numbers would not tell lines apart
    long = ["line " + "".join(four) for four in islice(product(letters, repeat=4), 100_000)]
    verdict = one(store, page(A + "long", long, title="A long table"))
    assert (verdict.status, verdict.template) == ("new", 0.0)
    verdict = one(store, page(A + "part", article("x"), long[63_000:65_000], title="A part of it"))
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


HOSTS = ("a.example", "www.a.example", "b.example")
LINES = [" ".join(line.split()[:6]) for line in lines("pool", 9)]
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
                pages = [page(url, shown, title=name) for url, _, shown, name in batch]
                verdicts = store.check(pages)
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
