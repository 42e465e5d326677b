"""Every method of finding near-duplicates, against brute force over all pairs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from shingling import Page, Rules, Scheme, Signature, Store, sign
from shingling.errors import BandingError
from shingling.similarity import distance, equal_supershingles
from shingling.sketch import Banding, Halves, SimhashFeatures
from tests.support.invariants import beginning, ending, entries_of, jaccard, text, verify, words
from tests.support.stores import emptied, url_of

if TYPE_CHECKING:
    from pathlib import Path

BASE = words("base", 200)
NEAREST = text(ending(BASE, "nearest", 2))
NEAR = text(ending(BASE, "near", 12))
FAR = text(ending(BASE, "far", 90))
OTHER = text(words("other", 200))


def signed(simhash: int, seed: int = 0) -> Signature:
    """Return a signature of which only the SimHash is like any other."""
    minima = np.random.default_rng([seed, simhash % 2**32]).integers(0, 2**32, 84, np.uint32)
    text_hash = random.Random(simhash).randbytes(16)
    return Signature(minima, simhash, text_hash, 100)


def flipped(value: int, bits: int, seed: int, width: int = 64) -> int:
    for place in random.Random(seed).sample(range(width), bits):
        value ^= 1 << place
    return value


def test_megashingles_take_pages_with_two_equal_supershingles(file: Path) -> None:
    rules = Rules(method="megashingle")
    base = text(BASE)
    with Store.open(url_of(file), rules=rules) as store:
        assert store._session.index.keys_of == Banding(6, 14)
        for number, main_text in enumerate([base, NEAREST, NEAR, FAR, OTHER]):
            [verdict] = store.check([Page(f"https://a.example/{number}", main_text)], rules=rules)
            equal = equal_supershingles(sign(base).minima, sign(main_text).minima)
            found = number > 0 and equal >= 2
            assert (verdict.status == "near") == found, number
            if found:
                assert verdict.resemblance == jaccard(base, main_text)
                assert verdict.distance is None
    verify(file)


def test_one_equal_supershingle_is_not_enough_for_megashingles(file: Path) -> None:
    rules = Rules(method="megashingle")
    base, other, third = signed(1), signed(2), signed(3)
    one = Signature(np.concatenate([base.minima[:14], third.minima[14:]]), 3, b"1" * 16, 100)
    two = Signature(np.concatenate([base.minima[:28], other.minima[28:]]), 4, b"2" * 16, 100)
    with Store.open(url_of(file), rules=rules) as store:
        pages = [Page(f"https://a.example/{n}", signature=s) for n, s in enumerate([base, one])]
        assert [verdict.status for verdict in store.check(pages, rules=rules)] == ["new", "new"]
        [verdict] = store.check([Page("https://a.example/two", signature=two)], rules=rules)
        assert (verdict.status, verdict.original) == ("near", "https://a.example/0")
        assert verdict.resemblance == pytest.approx(28 / 84)


def test_the_usual_bands_find_megashingles_as_well(file: Path) -> None:
    assert [Banding(84 // rows, rows).finds_supershingles for rows in (1, 2, 3, 4, 6, 7, 14)] == [
        True
    ] * 7
    assert not Banding(7, 12).finds_supershingles
    assert not Banding(4, 21).finds_supershingles
    with Store.open(url_of(file)) as store:  # 14 x 6
        store._session.index.require(Rules(method="megashingle"))
    for rows in (1, 2, 3, 4, 6, 7, 14):
        for place in range(6):
            supershingle = set(range(14 * place, 14 * place + 14))
            bands = [set(range(start, start + rows)) for start in range(0, 84, rows)]
            assert any(band <= supershingle for band in bands), (rows, place)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 5])
def test_simhash_takes_exactly_the_pages_within_the_distance(
    file: Path, bits: int, most: int
) -> None:
    scheme = Scheme(simhash=SimhashFeatures(bits=bits))
    rules = Rules(method="simhash", simhash_distance=most)
    base = random.Random(7).getrandbits(bits)
    with Store.open(url_of(file), scheme=scheme, rules=rules) as store:
        assert store._session.index.keys_of == Halves(bits)
        head = Signature(signed(base).minima, base, b"head" * 4, 100, scheme.id)
        store.check([Page("https://a.example/head", signature=head)], rules=rules)
        for apart in range(9):
            for seed in range(4):
                value = flipped(base, apart, seed, bits)
                own = Signature(
                    signed(value, apart + 1).minima, value, bytes([apart, seed] * 8), 100, scheme.id
                )
                url = f"https://a.example/{apart}/{seed}"
                [verdict] = store.check([Page(url, signature=own)], rules=rules)
                assert (verdict.status == "near") == (apart <= most), (apart, seed)
                if apart <= most:
                    assert verdict.distance == apart
                store.admin.forget([url])
    verify(file)


def test_with_both_methods_a_page_is_near_only_where_both_say_so(file: Path) -> None:
    rules = Rules(method="minhash+simhash", threshold=0.8, simhash_distance=3)
    base = signed(0)
    alike = Signature(base.minima, flipped(0, 3, 1), b"a" * 16, 100)
    minima_only = Signature(base.minima, flipped(0, 4, 1), b"b" * 16, 100)
    simhash_only = signed(flipped(0, 1, 1), seed=1)
    with Store.open(url_of(file), rules=rules) as store:
        store.check([Page("https://a.example/", signature=base)], rules=rules)
        for number, (signature, status) in enumerate(
            [(minima_only, "new"), (simhash_only, "new"), (alike, "near")]
        ):
            url = f"https://a.example/{number}"
            [verdict] = store.check([Page(url, signature=signature)], rules=rules)
            assert verdict.status == status, number
            store.admin.forget([url])
        assert verdict.distance == 3
        assert verdict.resemblance == 1.0


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 5)), max_size=25))
def test_a_simhash_store_equals_a_search_through_all_pages(
    empty: Path, steps: list[tuple[int, int, int]]
) -> None:
    """Pages come around four centres; a page follows the first original within 3 bits."""
    rules = Rules(method="simhash")
    minima = signed(0).minima
    originals: dict[str, int] = {}
    with emptied(empty) as file, Store.open(url_of(file)) as store:
        store.admin.rebuild(rules=rules)
        for number, (centre, apart, seed) in enumerate(steps):
            value = flipped(random.Random(centre).getrandbits(64), apart, seed)
            url = f"https://a.example/{number}"
            own = Signature(minima, value, random.Random(number).randbytes(16), 100)
            [verdict] = store.check([Page(url, signature=own)], rules=rules)
            near = [head for head, other in originals.items() if distance(value, other) <= 3]
            # All minima are equal: all are as alike, and the oldest wins.
            assert verdict.original == (near[0] if near else None)
            if not near:
                originals[url] = value
        verify(file)


# The index that a method needs


@pytest.mark.parametrize(
    ("made_for", "asked", "command"),
    [
        (Rules(), Rules(method="simhash"), "rebuild --method simhash"),
        (Rules(method="simhash"), Rules(), "rebuild --method minhash --threshold 0.5"),
        (
            Rules(method="simhash"),
            Rules(method="megashingle"),
            "rebuild --method megashingle",
        ),
        (
            Rules(method="simhash"),
            Rules(method="minhash+simhash", threshold=0.7),
            r"rebuild --method minhash\+simhash --threshold 0.7",
        ),
        (Rules(method="megashingle"), Rules(), "rebuild --threshold 0.5"),
        (Rules(), Rules(containment=0.9), "rebuild --threshold 0.5 --containment"),
        (
            Rules(containment=0.9),
            Rules(containment=0.9, method="simhash"),
            "rebuild --method simhash --containment",
        ),
    ],
)
def test_a_method_that_the_index_does_not_serve_names_the_command_that_helps(
    file: Path, made_for: Rules, asked: Rules, command: str
) -> None:
    with Store.open(url_of(file), rules=made_for) as store:
        pages = [Page("https://a.example/", text(BASE))]
        store.check(pages, rules=made_for)
        with pytest.raises(BandingError, match=f"`scrapy dedup {command}`"):
            store.check(pages, rules=asked)
        store.admin.rebuild(rules=asked)
        verify(file)
        [verdict] = store.check(pages, rules=asked)
        assert verdict.status == "unchanged"
        [verdict] = store.check([Page("https://a.example/near", NEAREST)], rules=asked)
        assert (verdict.status == "near") == (
            "simhash" not in asked.method
            or distance(sign(text(BASE)).simhash, sign(NEAREST).simhash) <= 3
        )


@pytest.mark.parametrize("method", ["minhash", "megashingle", "simhash"])
@pytest.mark.parametrize("containment", [None, 0.9])
def test_a_rebuilt_store_equals_one_that_was_made_so(
    file: Path, method: str, containment: float | None
) -> None:
    texts = [text(words(number, 150)) for number in range(30)]
    texts += [text(beginning(words(number, 150), number, 3)) for number in range(30)]
    pages = [Page(f"https://a.example/{n}", t, fetched=n) for n, t in enumerate(texts)]
    rules = Rules(method=method, containment=containment)
    other = file.with_stem("other")
    with Store.open(url_of(file), rules=rules) as store:
        store.check(pages, rules=Rules(method="exact"))
    with Store.open(url_of(other), threshold=0.5) as store:
        store.check(pages, rules=Rules(method="exact"))
        store.admin.rebuild(rules=rules)
    for table in ("bands", "samples"):
        assert entries_of(file, table) == entries_of(other, table)
    verify(other)


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


def test_events_are_stars_of_originals_and_change_nothing(file: Path) -> None:
    story = words("story", 60)
    day = 86_400
    with Store.open(url_of(file)) as store:
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
        assert [page.url for page in group.duplicates] == [
            "https://a.example/2",
            "https://a.example/3",
        ]
        [group] = store.events(0.1, days=3)
        assert [page.url for page in group.duplicates] == ["https://a.example/2"]
        assert store.events(0.95) == []
        assert [page.as_dict() for page in store.pages()] == before


def test_an_empty_store_has_no_events(file: Path) -> None:
    with Store.open(url_of(file)) as store:
        assert store.events(0.1) == []


def test_a_large_group_of_events_is_one_group(file: Path) -> None:
    template = signed(0).minima
    chance = np.random.default_rng(1)
    pages = []
    for number in range(400):
        minima = np.where(chance.random(84) < 0.6, template, signed(number).minima)
        own = Signature(minima.astype(np.uint32), number, number.to_bytes(16), 100)
        pages.append(Page(f"https://a.example/{number}", signature=own, fetched=number))
    with Store.open(url_of(file)) as store:
        store.check(pages, rules=Rules(method="exact"))
        [group] = store.events(0.1)
        assert len(group.duplicates) == 399
        assert group.original.url == "https://a.example/0"


# What went wrong once


def test_under_the_method_exact_a_group_that_loses_its_original_keeps_only_copies(
    file: Path,
) -> None:
    edits = [text(ending(BASE, 1, 18)), text(beginning(BASE, 2, 18))]
    with Store.open(url_of(file)) as store:
        urls = [f"https://a.example/{number}" for number in range(4)]
        texts = [text(BASE), *edits, edits[1]]
        store.check([Page(url, one) for url, one in zip(urls, texts, strict=True)])
        store.admin.forget(urls[:1], rules=Rules(method="exact"))
        assert [page.original for page in store.pages()] == [None, None, urls[2]]
    verify(file)


def test_long_shingles_of_characters_leave_no_page_out(file: Path) -> None:
    scheme = Scheme(40, unit="characters")
    main_text = text([f"abcdefghij{number}" for number in range(30)])
    with Store.open(url_of(file), scheme=scheme) as store:
        pages = [Page(f"https://a.example/{n}", main_text) for n in range(2)]
        pages.append(Page("https://a.example/near", main_text + " more"))
        verdicts = store.check(pages)
        assert [verdict.status for verdict in verdicts] == ["new", "exact", "near"]
    verify(file)


def test_a_store_indexed_by_simhash_keeps_its_groups_when_an_original_is_forgotten(
    file: Path,
) -> None:
    rules = Rules(method="simhash")
    with Store.open(url_of(file), rules=rules) as store:
        pages = [Page(f"https://a.example/{n}", signature=signed(n, n)) for n in (0, 1, 2)]
        store.check(pages, rules=rules)
        store.admin.forget(["https://a.example/0"])
        assert [page.original for page in store.pages()] == [None, "https://a.example/1"]
    verify(file)
