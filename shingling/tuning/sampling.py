"""Pairs drawn from stored pages, labelled by their titles: those with equal titles are the same."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.text import canonical_words
from shingling.tuning.pairs import LabelledPair

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.sketch import Minima

MAX_PAIRS = 2000
_MAX_PAGES_PER_TITLE = 10  # a title of more pages is that of a site, or of an error page
_SORT_MINIMA = 3  # by which pages are sorted at a time
_PAIRED_NEIGHBOURS = 3  # pages after a page in the sorted order
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
        pages: any number of them.
        max_pairs: number of pairs, at most.
    """
    titled = _titled(pages)
    groups = defaultdict(list)
    for place, (key, _) in enumerate(titled):
        groups[key].append(place)
    rare = [places for places in groups.values() if len(places) <= _MAX_PAGES_PER_TITLE]
    kept = sorted(place for places in rare for place in places)
    same = [pair for places in rare for pair in pairwise(places)]
    same.sort(key=lambda pair: _order_hash(*(titled[place][1].text for place in pair)))
    same = same[: max_pairs // 2]
    keys = [titled[place][0] for place in kept]
    alike = _most_alike([titled[place][1].minima for place in kept], keys, max_pairs // 4)
    different = alike | _random(keys, alike, max_pairs // 2 - len(alike))
    chosen = [(pair, True) for pair in sorted(same)]
    chosen += [((kept[a], kept[b]), False) for a, b in sorted(different)]
    return [LabelledPair(titled[a][1].text, titled[b][1].text, same) for (a, b), same in chosen]


def _titled(pages: Iterable[SampledPage]) -> list[tuple[str, SampledPage]]:
    """Pages with the keys of their titles, one page of each text.

    No threshold separates pages with equal texts, whatever their titles are.
    """
    titled = []
    texts = set()
    for page in pages:
        key = title_key(page.title, page.language)
        text = hashlib.blake2b(" ".join(canonical_words(page.text)).encode()).digest()
        if key and text not in texts:
            texts.add(text)
            titled.append((key, page))
    return titled


def _order_hash(*texts: str) -> bytes:
    """Hash by which pairs are drawn: it depends on nothing but the texts."""
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest()


def _most_alike(minima: list[Minima], keys: list[str], number: int) -> set[tuple[int, int]]:
    """Find the most similar pairs with different titles, among those that share a minimum.

    Pages are sorted by each minimum and the two after it, so that those which share many are
    neighbours (sorted neighbourhood; Hernandez and Stolfo 1995): not all pairs are compared.
    """
    if len(minima) < 2:
        return set()
    rows = np.stack(minima)
    pairs: set[tuple[int, int]] = set()
    for first in range(rows.shape[1]):
        columns = [rows[:, (first + offset) % rows.shape[1]] for offset in range(_SORT_MINIMA)]
        order = np.lexsort(columns[::-1])
        for step in range(1, _PAIRED_NEIGHBOURS + 1):
            a, b = order[:-step], order[step:]
            shared = columns[0][a] == columns[0][b]
            pairs.update(zip(a[shared].tolist(), b[shared].tolist(), strict=True))
    others = sorted({(min(pair), max(pair)) for pair in pairs if keys[pair[0]] != keys[pair[1]]})
    ranked = sorted(others, key=lambda pair: (-int((rows[pair[0]] == rows[pair[1]]).sum()), pair))
    return set(ranked[:number])


def _random(keys: list[str], excluded: set[tuple[int, int]], number: int) -> set[tuple[int, int]]:
    """Draw pairs with different titles at random."""
    if len(keys) < 2:
        return set()
    draws = np.random.default_rng(_SEED).integers(len(keys), size=(4 * number, 2)).tolist()
    found: set[tuple[int, int]] = set()
    for a, b in draws:
        pair = min(a, b), max(a, b)
        if len(found) < number and keys[a] != keys[b] and pair not in excluded:
            found.add(pair)
    return found
