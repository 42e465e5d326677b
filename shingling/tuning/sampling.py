"""Pairs drawn from stored pages, labelled by their titles: those with equal titles are the same."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from heapq import nsmallest
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.text import canonical_words
from shingling.tuning.pairs import LabelledPair

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.sketch import Minima

MAX_PAIRS = 2000
_MAX_PAGES_PER_TITLE = 10  # a title of more pages is that of a site, or of an error page
_PAIRED_WITH_EACH = 3
_SEED = 84


class SampledPage(NamedTuple):
    """A stored page.

    Args:
        title: of the page.
        language: code of its language.
        text: its main text.
        minima: uint32[84], under the same scheme for all pages.
    """

    title: str | None
    language: str | None
    text: str
    minima: Minima


def title_key(title: str | None, language: str | None) -> str:
    """Key that is equal for pages with the same language and title; "" without a title."""
    words = " ".join(canonical_words(title or ""))
    return f"{language or ''} {words}" if words else ""


def pairs_from(pages: Iterable[SampledPage], max_pairs: int = MAX_PAIRS) -> list[LabelledPair]:
    """Draw pairs of pages; those with equal titles are labelled the same, as a person might.

    Half of the pairs are the same, if there are enough of those. Half of the others are the most
    similar ones by estimated resemblance, and half are drawn at random. Equal pages in the same
    order give the same pairs. Pages without a title, with a title of more than 10 pages, or with
    the text of an earlier page are left out.

    Args:
        pages: up to some thousands of them, of which all pairs are estimated.
        max_pairs: number of pairs, at most.
    """
    by_title: dict[str, list[SampledPage]] = defaultdict(list)
    texts = set()
    for page in pages:
        key = title_key(page.title, page.language)
        words = " ".join(canonical_words(page.text))
        # No threshold separates pages with equal texts, whatever their titles are.
        if key and words not in texts:
            texts.add(words)
            by_title[key].append(page)
    rare = [found for found in by_title.values() if len(found) <= _MAX_PAGES_PER_TITLE]
    same = sorted((pair for found in rare for pair in pairwise(found)), key=_order_hash)
    kept = [(page, number) for number, found in enumerate(rare) for page in found]
    alike = _most_alike(kept, max_pairs // 4)
    different = alike | _random(kept, alike, max_pairs // 2 - len(alike))
    chosen = [LabelledPair(a.text, b.text, True) for a, b in same[: max_pairs // 2]]
    return chosen + [
        LabelledPair(kept[a][0].text, kept[b][0].text, False) for a, b in sorted(different)
    ]


def _order_hash(pair: Sequence[SampledPage]) -> bytes:
    """Hash by which pairs are drawn: it depends on nothing but the texts."""
    texts = "\0".join(page.text for page in pair)
    return hashlib.blake2b(texts.encode("utf-8", "replace"), digest_size=8).digest()


def _most_alike(kept: Sequence[tuple[SampledPage, int]], number: int) -> set[tuple[int, int]]:
    """Find the most similar pairs with different titles: at most three later pages of each."""
    rows = np.array([page.minima for page, _ in kept])
    titles = np.array([title for _, title in kept])
    found: list[tuple[int, int, int]] = []
    for a in range(len(rows)):
        shared = (rows[a + 1 :] == rows[a]).sum(axis=1) * (titles[a + 1 :] != titles[a])
        nearest = np.argsort(-shared, kind="stable")[:_PAIRED_WITH_EACH]
        found += [
            (-int(shared[place]), a, a + 1 + int(place)) for place in nearest if shared[place]
        ]
    return {(a, b) for _, a, b in nsmallest(number, found)}


def _random(
    kept: Sequence[tuple[SampledPage, int]], excluded: set[tuple[int, int]], number: int
) -> set[tuple[int, int]]:
    """Draw pairs with different titles at random."""
    if len(kept) < 2:
        return set()
    draws = np.random.default_rng(_SEED).integers(len(kept), size=(4 * number, 2))
    pairs = ((min(draw), max(draw)) for draw in draws.tolist())
    fresh = (pair for pair in pairs if kept[pair[0]][1] != kept[pair[1]][1])
    return {*islice(dict.fromkeys(pair for pair in fresh if pair not in excluded), number)}
