"""What all methods of finding near-duplicates share; the reference decides by each of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from shingling import Page, Rules, Scheme, Signature, Store, sign
from shingling.rules import METHODS, Keys, Method
from shingling.similarity import equal_supershingles
from tests.support.invariants import beginning, ending, text, verify, words
from tests.support.stores import both_databases, url_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

BASE = words("base", 200)


def signed(simhash: int, seed: int = 0) -> Signature:
    """Return a signature of which only the SimHash is like any other."""
    minima = np.random.default_rng([seed, simhash % 2**32]).integers(0, 2**32, 84, np.uint32)
    text_hash = random.Random(simhash).randbytes(16)
    return Signature(minima, simhash, text_hash, 100)


def flipped(value: int, bits: int, seed: int, width: int = 64) -> int:
    for place in random.Random(seed).sample(range(width), bits):
        value ^= 1 << place
    return value


def test_a_method_is_an_entry_of_the_table_and_nothing_else(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = Method("supershingle3", "by three of six", Keys.SUPERSHINGLES, supershingles=3)
    monkeypatch.setitem(METHODS, method.name, method)
    base = text(BASE)
    found = []
    with Store.open(url_of(file), method=method.name) as store:
        store.check([Page("https://a.example/", base)])
        for changed in range(1, 30):
            other = text(ending(BASE, "other", changed))
            equal = equal_supershingles(sign(base).minima, sign(other).minima)
            [verdict] = store.check([Page("https://a.example/other", other)], dry_run=True)
            assert (verdict.status == "near") == (equal >= 3), changed
            found.append(equal)
    assert {2, 3} <= {*found}


def test_pages_within_a_distance_are_found_with_and_without_an_index(file: Path) -> None:
    values = [flipped(0, apart, apart) for apart in range(12)]
    pages = [Page(f"https://a.example/{n}", signature=signed(v, n)) for n, v in enumerate(values)]
    for name, rules in (("a", Rules(method="exact")), ("b", Rules(method="simhash"))):
        with Store.open(url_of(file.with_stem(name)), rules=rules) as store:
            store.check(pages, rules=rules)
            found = store.within(signed(0, 0), 5, limit=100)
            assert [match.distance for match in found] == [0, 1, 2, 3, 4, 5]
            assert [match.page.url for match in found] == [
                f"https://a.example/{n}" for n in range(6)
            ]
            assert len(store.within(signed(0, 0), 64, limit=100)) == 12
            assert len(store.within(signed(0, 0), 5, limit=2)) == 2


# Events


@both_databases
def test_events_are_stars_of_originals_with_their_duplicates_and_change_nothing(
    store: Store,
) -> None:
    story = words("story", 60)
    day = 86_400
    store.check(
        [
            Page("https://a.example/1", text([*story, *words("a", 100)]), fetched=0),
            Page("https://a.example/2", text([*words("b", 100), *story]), fetched=day),
            Page("https://a.example/3", text([*story[:50], *words("c", 50)]), fetched=9 * day),
            Page("https://a.example/4", text(words("d", 100)), fetched=day),
            Page("https://a.example/5", text([*story, *words("a", 100)]), fetched=2 * day),
        ]
    )
    before = [page.as_dict() for page in store.pages()]
    [group] = store.events(0.1)
    assert group.original.url == "https://a.example/1"
    assert [page.url[-1] for page in group.duplicates] == ["5", "2", "3"]
    assert [page.original for page in group.duplicates] == [group.original.url, None, None]
    assert group.duplicates[0].resemblance == 1
    [group] = store.events(0.1, days=3)
    assert [page.url[-1] for page in group.duplicates] == ["5", "2"]
    [group] = store.events(0.1, days=1)
    assert [page.url[-1] for page in group.duplicates] == ["2"]
    [group] = store.events(0.95)
    assert [page.url[-1] for page in group.duplicates] == ["5"]
    assert [page.as_dict() for page in store.pages()] == before


# What went wrong once


def test_under_the_method_exact_a_group_that_loses_its_original_keeps_only_copies(
    store: Store,
) -> None:
    edits = [text(ending(BASE, 1, 18)), text(beginning(BASE, 2, 18))]
    urls = [f"https://a.example/{number}" for number in range(4)]
    texts = [text(BASE), *edits, edits[1]]
    store.check([Page(url, one) for url, one in zip(urls, texts, strict=True)])
    store.admin.forget(urls[:1], rules=Rules(method="exact"))
    assert [page.original for page in store.pages()] == [None, None, urls[2]]


def test_long_shingles_of_characters_leave_no_page_out(file: Path) -> None:
    scheme = Scheme(40, unit="characters")
    main_text = text([f"abcdefghij{number}" for number in range(30)])
    with Store.open(url_of(file), scheme=scheme) as store:
        pages = [Page(f"https://a.example/{n}", main_text) for n in range(2)]
        pages.append(Page("https://a.example/near", main_text + " more"))
        verdicts = store.check(pages)
        assert [verdict.status for verdict in verdicts] == ["new", "exact", "near"]
    verify(file)
