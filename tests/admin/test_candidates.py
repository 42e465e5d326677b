"""Pairs that a threshold decides on, and what is told of other thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import shingling.admin.thresholds as module
from shingling import Page, Rules, Store
from tests.support.invariants import ending, jaccard, text, words
from tests.support.pages import article
from tests.support.stores import execute, url_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from shingling import Candidates


def family(name: str, *changed: int) -> list[Page]:
    """Return a page, and others with so many of its last words replaced."""
    base = words(name, 120)
    texts = [base, *(ending(base, f"{name} {count}", count) for count in changed)]
    return [Page(f"http://{name}.example/{at}", text(parts)) for at, parts in enumerate(texts)]


def test_each_page_stands_with_its_nearest_earlier_page(store: Store) -> None:
    given = [*family("a", 4, 30), *family("b", 12), *family("c"), *family("far", 40)]
    copy = Page("http://copy.example/", text(words("c", 120)))
    store.check([*given, copy])
    found = store.admin.candidates()
    texts = {page.url: page.main_text.text for page in given if page.main_text}
    assert {(pair.url, pair.nearest) for pair in found.pairs} == {
        ("http://a.example/1", "http://a.example/0"),
        ("http://a.example/2", "http://a.example/0"),
        ("http://b.example/1", "http://b.example/0"),
        ("http://far.example/1", "http://far.example/0"),
    }
    for pair in found.pairs:
        assert pair.resemblance == pytest.approx(jaccard(texts[pair.url], texts[pair.nearest]))
    assert store.find("http://far.example/1")[0].status == "new", "below the threshold"
    assert (found.stored, found.sampled, found.exact) == (9, 9, 1)


def test_pages_of_other_scopes_and_documents_of_one_page_are_no_pair(store: Store) -> None:
    base = words("a", 120)
    first, second, third = (text(ending(base, count, count)) for count in (0, 4, 8))
    store.check(
        [
            Page("http://a.example/", first),
            Page("http://b.example/", second, scope="other"),
            Page("http://a.example/#1", third, source="http://a.example/"),
        ]
    )
    assert store.admin.candidates().pairs == []


def test_damaged_pages_are_left_out(store: Store, file: Path) -> None:
    store.check([*family("a", 4), *family("b", 4), *family("c", 4)])
    execute(
        file,
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://a.example/1'",
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://b.example/0'",
    )
    found = store.admin.candidates()
    assert [pair.url for pair in found.pairs] == ["http://c.example/1"]
    store.admin.redecide()


def test_a_large_store_is_sampled_at_random(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAGES_SAMPLED", 20)
    store.check([page for number in range(40) for page in family(f"n{number}", 4)])
    store.admin.forget(site="n3.example")
    samples = [store.admin.candidates(seed) for seed in (1, 1, 2)]
    assert {sample.sampled for sample in samples} == {20}
    assert samples[0] == samples[1] != samples[2]
    assert samples[0].stored == 78
    assert 3 <= len(samples[0].pairs) <= 17


def test_long_titles_and_empty_stores_do_no_harm(store: Store) -> None:
    found = store.admin.candidates()
    assert (found.stored, found.sampled, found.pairs) == (0, 0, [])
    assert {one.pages for one in found.dropped} == {0}
    titled = [replace(page, title="<script>\u202e" * 10_000) for page in family("a", 4)]
    store.check([*titled, Page("http://short.example/", "three short words")])
    assert len(store.admin.candidates().pairs) == 1


# What a rebuild would give


COMPARED = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LONG = 240  # words, from which on a text says more than its title


def dry_runs(store: Store, rules: Rules) -> dict[float, int]:
    """Pages that are dropped at each threshold, if all are decided again."""
    found = {}
    for threshold in COMPARED:
        asked = Rules(**{**vars(rules), "threshold": threshold})
        changes = store.admin.redecide(asked, dry_run=True)
        found[threshold] = changes.pages - changes.originals[1]
    return found


def told(found: Candidates) -> dict[float, int]:
    return {one.threshold: one.pages for one in found.dropped if one.threshold in COMPARED}


def versions(name: str, *, site: str, same_title: bool) -> Iterator[Page]:
    """Yield a page and later versions of it, each of which is like the one before."""
    parts = words(name, LONG)
    for number, count in enumerate((0, 8, 16, 30, 60, 110)):
        parts = [*words(f"{name} {number}", count), *parts[count:]]
        title = name if same_title else f"{name} in the edition of {words(name, 9)[number]}"
        yield Page(f"http://{site}/{name}/{number}", text(parts), title=title)


def templated(site: str, count: int) -> Iterator[Page]:
    """Yield pages of a site that have more of its template than text of their own."""
    frame = "\n".join(article(900 + number, 40) for number in range(4))
    for number in range(count):
        own = article(number // 2, 12 + 30 * (number % 3))
        yield Page(f"http://{site}/{number}", f"{frame}\n{own}", title=f"Entry {words(number, 3)}")


def mixed() -> list[Page]:
    """Pages that are decided by texts, titles, templates, scopes, or a word."""
    shared = words("shared", LONG)
    return [
        *versions("chain", site="a.example", same_title=True),
        *versions("titles", site="b.example", same_title=False),
        *templated("c.example", 24),
        *(Page(f"http://copy{n}.example/", text(shared), title="Copy") for n in range(3)),
        *(
            Page(f"http://e{n}.example/", text(ending(shared, n, 20 * n)), scope="x" * (n % 2))
            for n in range(1, 7)
        ),
        Page("http://short.example/1", "only a few words here", title="Short"),
        Page("http://short.example/2", "only a few words here", title="Short"),
    ]


@pytest.mark.parametrize("rules", [Rules(), Rules(templates=False), Rules(containment=0.9)])
def test_where_all_pages_are_looked_at_it_is_what_a_dry_run_gives(file: Path, rules: Rules) -> None:
    with Store.open(url_of(file), rules=rules) as store:
        for page in mixed():
            store.check([page])
        for same, (a, b) in ((True, (0, 5)), (False, (0, 1))):
            urls = (f"http://a.example/chain/{number}" for number in (a, b))
            store.admin.review(*urls, same=same)
        expected = dry_runs(store, rules)
        found, stored = store.admin.candidates(), store.status()
    assert told(found) == expected
    assert (found.stored, found.duplicates) == (stored.pages, stored.duplicates)
    assert found.sampled == stored.pages
    assert len({*expected.values()}) > 4


def test_a_sample_tells_nearly_what_a_dry_run_gives(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PAGES_SAMPLED", 75)
    families = [family(f"n{number}", 4, 9, 20, 35, 60) for number in range(20)]
    pages = [page for pages in families for page in pages]
    for number in range(20):  # texts of which more and more is cut: few are like the first one
        whole = words(f"cut {number}", LONG)
        pages += [
            Page(f"http://cut{number}.example/{at}", text(whole[20 * at :])) for at in range(7)
        ]
    store.check(pages)
    expected = dry_runs(store, Rules())
    margin = 1.96 * 0.5 / 75**0.5  # of a share, by 75 pages
    draws = [store.admin.candidates(seed) for seed in range(5)]
    held = [
        abs(expected[one.threshold] / found.stored - one.share) <= margin
        for found in draws
        for one in found.dropped
        if one.threshold in COMPARED
    ]
    assert len({*expected.values()}) > 4
    assert sum(held) >= 0.9 * len(held)
    for found in draws:
        assert found.sampled < found.stored == 260
        assert found.duplicates == store.status().duplicates


def test_pairs_without_a_difference_that_can_be_seen_are_not_asked_about(store: Store) -> None:
    frame = "\n".join(article(number, 60) for number in range(4))
    own = [article(50 + number, 80) for number in range(3)]
    # The template of the site is learned from pages with other titles.
    entries = [
        Page(f"http://a.example/{number}", f"{frame}\n{one}", title=f"Entry {words(number, 2)}")
        for number, one in enumerate(own)
    ]
    others = [
        Page("http://b.example/", own[0].replace(" ", ", ", 3), title="Punctuation alone"),
        Page("http://c.example/", own[1].replace(" ", " one word more ", 1), title="A word more"),
        Page("http://a.example/x", frame, title="Nothing but template"),
    ]
    for page in (*entries, *others):
        store.check([page])
    split = store.split_text(store.find("http://a.example/0")[0])
    assert split is not None
    assert split.compared == own[0]
    found = store.admin.candidates()
    assert [(pair.url, pair.nearest) for pair in found.pairs] == [
        ("http://c.example/", "http://a.example/1")
    ]
    assert told(found) == dry_runs(store, Rules())  # what cannot be seen is decided all the same
