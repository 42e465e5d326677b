"""Pairs of stored pages that their titles tell to be the same, or different."""

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

MOST_PAIRS = 2000
_MOST_WITH_TITLE = 10  # a title that more pages have is that of a site, or of an error
_DEPTH = 3  # minima that pages are sorted by at a time
_NEIGHBOURS = 3  # pages after a page in the sorted order that it is paired with
_SEED = 84


class SampledPage(NamedTuple):
    """What a sample is drawn by: minima are uint32[84], all of one scheme."""

    title: str | None
    language: str | None
    text: str
    minima: Minima


def title_key(title: str | None, language: str | None) -> str:
    """Return what pages of one language and title have in common; "" where there is no title."""
    words = " ".join(canonical_words(title or ""))
    return f"{language or ''} {words}" if words else ""


def pairs_from(pages: Iterable[SampledPage], most: int = MOST_PAIRS) -> list[LabelledPair]:
    """Return pairs of pages, those with equal titles as the same: a proxy for a person's word.

    Half of the pairs are the same, where there are so many. Of the others, half are those
    most alike by estimated resemblance, and half are drawn at random. The same pages in the
    same order give the same pairs. Pages without a title, with a title that more than 10
    pages have, or with the text of an earlier page are left out.

    Args:
        pages: in any number.
        most: pairs.
    """
    titled = _titled(pages)
    groups = defaultdict(list)
    for place, (key, _) in enumerate(titled):
        groups[key].append(place)
    same = [
        pair
        for places in groups.values()
        for pair in pairwise(places)
        if len(places) <= _MOST_WITH_TITLE
    ]
    kept = sorted(
        place for places in groups.values() if len(places) <= _MOST_WITH_TITLE for place in places
    )
    same = sorted(same, key=lambda pair: _draw(titled[pair[0]][1].text, titled[pair[1]][1].text))
    same = same[: most // 2]
    keys = [titled[place][0] for place in kept]
    alike = _most_alike([titled[place][1].minima for place in kept], keys, most // 4)
    different = alike | _random(keys, alike, most // 2 - len(alike))
    chosen = [(pair, True) for pair in sorted(same)]
    chosen += [((kept[a], kept[b]), False) for a, b in sorted(different)]
    return [LabelledPair(titled[a][1].text, titled[b][1].text, same) for (a, b), same in chosen]


def _titled(pages: Iterable[SampledPage]) -> list[tuple[str, SampledPage]]:
    """Return pages with the keys of their titles, one of each text.

    No threshold parts pages of one text, whatever their titles are.
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


def _draw(*texts: str) -> bytes:
    """Return a lot that depends on nothing but the texts."""
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest()


def _most_alike(minima: list[Minima], keys: list[str], most: int) -> set[tuple[int, int]]:
    """Return the pairs of other titles most alike, among those that share a minimum.

    Pages are sorted by each minimum and the two after it: those that share many of them stand
    side by side (sorted neighbourhood; Hernandez and Stolfo 1995), and no page meets all others.
    """
    if len(minima) < 2:
        return set()
    rows = np.stack(minima)
    pairs: set[tuple[int, int]] = set()
    for first in range(rows.shape[1]):
        columns = [rows[:, (first + offset) % rows.shape[1]] for offset in range(_DEPTH)]
        order = np.lexsort(columns[::-1])
        for step in range(1, _NEIGHBOURS + 1):
            a, b = order[:-step], order[step:]
            shared = columns[0][a] == columns[0][b]
            pairs.update(zip(a[shared].tolist(), b[shared].tolist(), strict=True))
    others = sorted({(min(pair), max(pair)) for pair in pairs if keys[pair[0]] != keys[pair[1]]})
    ranked = sorted(others, key=lambda pair: (-int((rows[pair[0]] == rows[pair[1]]).sum()), pair))
    return set(ranked[:most])


def _random(keys: list[str], taken: set[tuple[int, int]], most: int) -> set[tuple[int, int]]:
    """Return pairs of other titles, drawn at random from those not taken."""
    if len(keys) < 2:
        return set()
    draws = np.random.default_rng(_SEED).integers(len(keys), size=(4 * most, 2)).tolist()
    found: set[tuple[int, int]] = set()
    for a, b in draws:
        pair = min(a, b), max(a, b)
        if len(found) < most and keys[a] != keys[b] and pair not in taken:
            found.add(pair)
    return found
