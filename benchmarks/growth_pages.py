"""Pages for `benchmarks.store_growth`, as a crawl hands them over.

They are made of their numbers alone: the same each time, whatever was made before.
"""

from __future__ import annotations

import pickle
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shingling import Page, Scheme, sign
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

SCHEME = Scheme()
SITES = 200
VOCABULARY = 20_000  # different words, the n-th of which is as frequent as 1 / n
OWN_WORDS, PARAGRAPHS = 240, 5  # of a page with a text; with its site's template it has 300 words
_SYLLABLES = [start + vowel for start in "bcdfghklmnprstvw" for vowel in ("a", "e", "i", "o", "u")]
_ENDINGS = ("", "", "n", "s", "r", "t", "ng", "ly", "ed", "tion")
_MONTHS = ("January", "March", "May", "July", "August", "November")
_FIRST_SECOND = 1_700_000_000
_SECONDS_OF_YEARS = 1 << 30


@cache
def _vocabulary() -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """Invented words, the frequent ones shorter, and the sums of their shares."""
    random = np.random.default_rng(1)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        syllables = 1 + int(random.integers(0, 2 + min(len(words) // 400, 3)))
        stem = "".join(_SYLLABLES[at] for at in random.integers(0, len(_SYLLABLES), syllables))
        words[stem + _ENDINGS[int(random.integers(len(_ENDINGS)))]] = None
    shares = np.cumsum(1 / (1 + np.arange(VOCABULARY)))
    return np.array([*words], dtype=object), shares / shares[-1]


def _draw(random: np.random.Generator, count: int) -> list[str]:
    words, shares = _vocabulary()
    drawn: list[str] = words[np.searchsorted(shares, random.random(count))].tolist()
    return drawn


@cache
def _site(number: int) -> tuple[str, list[str], list[str]]:
    """Name of a site, and what its pages show before and after their texts."""
    random = np.random.default_rng((2, number))
    menu = [" ".join(_draw(random, 1 + place % 2)).capitalize() for place in range(6)]
    footer = [" ".join(_draw(random, count)).capitalize() + "." for count in (12, 18, 5)]
    return " ".join(_draw(random, 2)).title(), menu, footer


def _sentences(words: list[str]) -> str:
    """Make a paragraph of sentences of up to 14 words."""
    parts = [" ".join(words[at : at + 14]).capitalize() for at in range(0, len(words), 14)]
    return ". ".join(parts) + "."


def _article(number: int) -> tuple[str, list[str]]:
    """Headline and paragraphs."""
    random = np.random.default_rng((3, number))
    headline = " ".join(_draw(random, int(random.integers(5, 9)))).capitalize()
    words = _draw(random, OWN_WORDS)
    cuts = np.sort(random.choice(np.arange(12, OWN_WORDS - 12), PARAGRAPHS - 1, replace=False))
    bounds = [0, *cuts.tolist(), OWN_WORDS]
    return headline, [_sentences(words[first:last]) for first, last in pairwise(bounds)]


def text_of(number: int) -> tuple[str, str]:
    """Title and main text of a page."""
    headline, paragraphs = _article(number)
    site, menu, footer = _site(number % SITES)
    day = f"{1 + number % 28} {_MONTHS[number % len(_MONTHS)]} {2010 + number % 15}"
    lines = [*menu, headline, day, *paragraphs, *footer]
    return f"{headline} | {site}", "\n".join(lines)


def template_of(site: int) -> str:
    """Text that all pages of a site show, by its number."""
    _, menu, footer = _site(site)
    return "\n".join([*menu, *footer])


def text_pages(chosen: Iterable[int]) -> list[Page]:
    """Pages of 300 words, signed, of `SITES` sites, each with the template of its site."""
    pages = []
    for number in chosen:
        title, text = text_of(number)
        prepared = PreparedText(text).ready(SCHEME.canonical)
        prepared = pickle.loads(pickle.dumps(prepared))  # noqa: S301 (as it comes from a worker)
        page = Page(
            url=f"https://site{number % SITES}.example/articles/{number}/words-of-a-title.html",
            title=title,
            language="en",
            prepared=prepared,
            signature=sign(text, SCHEME),
            fetched=_FIRST_SECOND + number % _SECONDS_OF_YEARS,
        )
        pages.append(page)
    return pages
