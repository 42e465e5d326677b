"""Pairs of pages of a store, which are labelled by their titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shingling.sketch import sign
from shingling.tuning.sampling import SampledPage, pairs_from
from tests.support.pages import article
from tests.tuning.settings.pairs import changed

if TYPE_CHECKING:
    from collections.abc import Iterator


def sampled(number: int = 30) -> Iterator[SampledPage]:
    for seed in range(number):
        text = article(seed, 150)
        for copy in range(2):
            own = changed(text, copy)
            yield SampledPage(f"Title {seed}!", "en", own, sign(own).minima)


def test_pages_of_one_title_are_taken_for_the_same() -> None:
    pairs = pairs_from(sampled())
    same = {frozenset(own[:1] for own in (pair.a, pair.b)) for pair in pairs if pair.same}
    assert sum(pair.same for pair in pairs) == 30
    assert same
    assert len(pairs) > 60
    texts = {text: seed for seed in range(30) for text in (article(seed, 150),)}
    for pair in pairs:
        seeds = [texts.get(text, texts.get(text)) for text in (pair.a, pair.b)]
        if pair.same:
            assert sum(seed is not None for seed in seeds) == 1
        else:
            assert pair.a.split()[5:20] != pair.b.split()[5:20]
    assert pairs == pairs_from(sampled())
    assert len(set(pairs)) == len(pairs)


def test_pages_that_tell_nothing_are_left_out() -> None:
    pages = list(sampled(4))
    minima = pages[0].minima
    pages += [SampledPage(None, "en", article(80), minima), SampledPage("?!", "en", "x y", minima)]
    pages += [SampledPage("Not found", "en", article(90 + i), minima) for i in range(11)]
    pages += [SampledPage("Other", "en", pages[0].text.upper(), minima)]
    pages += [SampledPage("Title 0", "de", article(200), sign(article(200)).minima)]
    texts = {text for pair in pairs_from(pages) for text in (pair.a, pair.b)}
    assert article(80) not in texts
    assert article(90) not in texts
    assert pages[0].text.upper() not in texts
    assert all(not pair.same for pair in pairs_from(pages) if article(200) in (pair.a, pair.b))


def test_the_pages_most_alike_are_among_the_different_ones() -> None:
    pages = list(sampled(40))[::2]
    twins = []
    for seed in range(5):
        text = changed(article(seed, 150), 8)
        twins.append(SampledPage(f"Twin {seed}", "en", text, sign(text).minima))
    pairs = {(pair.a, pair.b) for pair in pairs_from([*pages, *twins], 40) if not pair.same}
    for seed, twin in enumerate(twins):
        assert (article(seed, 150), twin.text) in pairs
    assert len(pairs) <= 20


def test_a_sample_has_no_more_pairs_than_asked_for() -> None:
    assert len(pairs_from(sampled(100), 60)) == 60
    assert pairs_from([]) == []
    assert pairs_from(list(sampled(1))[:1]) == []
