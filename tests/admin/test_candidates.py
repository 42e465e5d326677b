"""Pairs that a threshold decides on, as the store finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import shingling.admin.candidates as module
from shingling import Page, Store
from tests.support.invariants import ending, jaccard, text, words
from tests.support.stores import execute

if TYPE_CHECKING:
    from pathlib import Path


def family(name: str, *changed: int) -> list[Page]:
    """Return a page, and others with so many of its last words replaced."""
    base = words(name, 120)
    texts = [base, *(ending(base, f"{name} {count}", count) for count in changed)]
    return [
        Page(f"http://{name}.example/{number}", text(parts)) for number, parts in enumerate(texts)
    ]


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


def test_what_is_found_tells_of_thresholds(store: Store) -> None:
    store.check([*family("a", 4), *family("b", 8), *family("c", 40)])
    found = store.admin.candidates()
    assert [found.dropped[at].pages for at in (0, 45)] == [3, 2]
    store.admin.review("http://c.example/0", "http://c.example/1", same=False)
    found = store.admin.candidates()
    assert [found.dropped[at].pages for at in (0, 45)] == [2, 2]  # a review goes before measures


def test_damaged_pages_are_left_out(store: Store, file: Path) -> None:
    store.check([*family("a", 4), *family("b", 4), *family("c", 4)])
    execute(
        file,
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://a.example/1'",
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://b.example/0'",
    )
    found = store.admin.candidates()
    assert [pair.url for pair in found.pairs] == ["http://c.example/1"]
    assert store.admin.check(repair=True).is_mended


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
    first, second = family("a", 4)
    titled = [
        Page(page.url, page.main_text.text, title="<script>\u202e" * 10_000)
        for page in (first, second)
        if page.main_text
    ]
    store.check([*titled, Page("http://short.example/", "three short words")])
    assert len(store.admin.candidates().pairs) == 1
