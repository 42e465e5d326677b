"""Pairs that a threshold decides on, as the store finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import shingling.admin.candidates as module
from shingling import Page, Store
from tests.support.invariants import ending, jaccard, text, words
from tests.support.stores import execute, url_of

if TYPE_CHECKING:
    from pathlib import Path

    from shingling import Candidates


def look(file: Path, seed: int = 84) -> Candidates:
    with Store.open(url_of(file)) as opened:
        return opened.admin.candidates(seed)


def family(name: str, *changed: int) -> list[Page]:
    """Return a page, and others with so many of its last words replaced."""
    base = words(name, 120)
    texts = [base, *(ending(base, f"{name} {count}", count) for count in changed)]
    return [
        Page(f"http://{name}.example/{number}", text(parts)) for number, parts in enumerate(texts)
    ]


def test_each_page_stands_with_its_nearest_earlier_page(file: Path, store: Store) -> None:
    given = [*family("a", 4, 30), *family("b", 12), *family("c")]
    store.check(given)
    found = look(file)
    texts = {page.url: page.main_text.text for page in given if page.main_text}
    assert {(pair.url, pair.nearest) for pair in found.pairs} == {
        ("http://a.example/1", "http://a.example/0"),
        ("http://a.example/2", "http://a.example/0"),
        ("http://b.example/1", "http://b.example/0"),
    }
    for pair in found.pairs:
        assert pair.resemblance == pytest.approx(jaccard(texts[pair.url], texts[pair.nearest]))
    assert (found.stored, found.sampled, found.exact) == (6, 6, 0)


def test_pairs_below_the_threshold_are_found_as_well(file: Path, store: Store) -> None:
    store.check(family("a", 40))
    assert [page.status for page in store.pages()] == ["new", "new"]
    (pair,) = look(file).pairs
    assert 0.3 < pair.resemblance < 0.7


def test_exact_duplicates_are_counted_and_not_paired(file: Path, store: Store) -> None:
    same = text(words("a"))
    store.check([Page("http://a.example/", same), Page("http://b.example/", same)])
    found = look(file)
    assert (found.exact, found.pairs) == (1, [])


def test_pages_of_other_scopes_and_documents_of_one_page_are_no_pair(
    file: Path, store: Store
) -> None:
    base = words("a", 120)
    first, second, third = (text(ending(base, count, count)) for count in (0, 4, 8))
    store.check(
        [
            Page("http://a.example/", first),
            Page("http://b.example/", second, scope="other"),
            Page("http://a.example/#1", third, source="http://a.example/"),
        ]
    )
    assert look(file).pairs == []


def test_what_is_found_tells_of_thresholds(file: Path, store: Store) -> None:
    store.check([*family("a", 4), *family("b", 8), *family("c", 40)])
    found = look(file)
    assert [found.dropped[at].pages for at in (0, 45)] == [3, 2]
    store.admin.review("http://c.example/0", "http://c.example/1", same=False)
    found = look(file)
    assert [found.dropped[at].pages for at in (0, 45)] == [2, 2]  # a review goes before measures


def test_damaged_pages_are_left_out(file: Path, store: Store) -> None:
    store.check([*family("a", 4), *family("b", 4), *family("c", 4)])
    execute(
        file,
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://a.example/1'",
        "UPDATE pages SET minima = substr(minima, 1, 9) WHERE url = 'http://b.example/0'",
    )
    found = look(file)
    assert [pair.url for pair in found.pairs] == ["http://c.example/1"]
    assert store.admin.check(repair=True).is_mended


def test_a_large_store_is_sampled_at_random(
    file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_PAGES_SAMPLED", 20)
    store.check([page for number in range(40) for page in family(f"n{number}", 4)])
    store.admin.forget(site="n3.example")
    samples = [look(file, seed) for seed in (1, 1, 2)]
    assert {sample.sampled for sample in samples} == {20}
    assert samples[0] == samples[1] != samples[2]
    assert samples[0].stored == 78
    assert 3 <= len(samples[0].pairs) <= 17


def test_long_titles_and_empty_stores_do_no_harm(file: Path, store: Store) -> None:
    found = look(file)
    assert (found.stored, found.sampled, found.pairs) == (0, 0, [])
    assert {one.pages for one in found.dropped} == {0}
    first, second = family("a", 4)
    titled = [
        Page(page.url, page.main_text.text, title="<script>\u202e" * 10_000)
        for page in (first, second)
        if page.main_text
    ]
    store.check([*titled, Page("http://short.example/", "three short words")])
    assert len(look(file).pairs) == 1
