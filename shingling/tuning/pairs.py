"""Labelled pairs: two texts each, and whether they are the same page.

They are read from a file, or are pairs of stored pages: those that a person has reviewed, or else
pages with equal titles for the same and others for different.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from functools import cache
from heapq import nsmallest
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.errors import ExtractionError, TuningError
from shingling.extraction.html import extract_page, sniff_html
from shingling.extraction.lines import json_lines
from shingling.rules import MAX_FILE_BYTES
from shingling.text import canonical_words, clean, plain_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shingling.arrays import Minima
    from shingling.store import Store

MIN_PAIRS = 10
MIN_PAIRS_PER_LABEL = 2
MAX_REVIEWS_READ = 1000
"""Reviews that are taken, the newest ones."""

MAX_PAIRS = 2000
"""Pairs that are drawn by titles."""

_URL = re.compile(r"https?://\S+", re.IGNORECASE)
_MAX_VALUE_CHARACTERS = 80  # in a message
_MAX_SAMPLED_PAGES = 5000  # of a store that pairs are drawn from
_MAX_PAGES_PER_TITLE = 10  # a title of more pages is that of a site, or of an error page


class LabelledPair(NamedTuple):
    """A pair of texts with its label.

    Args:
        a: main text of a page.
        b: main text of the other page.
        same: whether they count as the same page.
    """

    a: str
    b: str
    same: bool


class LabelledPairs(NamedTuple):
    """Pairs, and where their labels are from.

    Args:
        pairs: those with a label.
        labels: `file`, `reviews`, or `titles`, which are no person's.
        unlabelled: number of pairs without one.
    """

    pairs: Sequence[LabelledPair]
    labels: str = "file"
    unlabelled: int = 0

    @property
    def shortage(self) -> str:
        """Say that they are too few; "" where they are enough."""
        number, same = len(self.pairs), sum(pair.same for pair in self.pairs)
        if number >= MIN_PAIRS and min(same, number - same) >= MIN_PAIRS_PER_LABEL:
            return ""
        return (
            f"{number} labelled pairs, {same} the same and {number - same} different, are too"
            f" few: at least {MIN_PAIRS}, and {MIN_PAIRS_PER_LABEL} of either label"
        )


def read_pairs(file: IO[bytes], look_up: Callable[[str], str | None]) -> LabelledPairs:
    """Read labelled pairs from JSON lines such as `{"a": ..., "b": ..., "same": true}`.

    Args:
        file: blank lines are skipped. `a` and `b` are each a text, the HTML of a page, or a URL;
            `same` is true, false, or null for a pair without a label.
        look_up: gives the main text of a URL, or None if it is not known.

    Raises:
        TuningError: a line cannot be used; the message has its number.
    """
    pairs = []
    unlabelled = 0
    for number, fields, problem in json_lines(file):
        try:
            if problem:
                raise TuningError(problem)
            if _label(fields) is None:
                unlabelled += 1
                continue
            a, b = (_text(name, fields[name], look_up) for name in ("a", "b"))
        except TuningError as error:
            raise TuningError(f"line {number}: {error}") from None
        pairs.append(LabelledPair(a, b, fields["same"]))
    return LabelledPairs(pairs, unlabelled=unlabelled)


def _label(fields: dict[str, Any]) -> bool | None:
    for name in ("a", "b", "same"):
        if name not in fields:
            raise TuningError(f'the field "{name}" is missing')
    same = fields["same"]
    if same is None or isinstance(same, bool):
        return same
    raise TuningError(f'"same" is {_quoted(same)}: it takes true, false or null')


def _text(name: str, value: Any, look_up: Callable[[str], str | None]) -> str:
    """Take the main text of a value: itself, that of its HTML, or of the page at its URL."""
    if not isinstance(value, str):
        raise TuningError(f'"{name}" is {_quoted(value)}: it takes a text, HTML or a URL')
    content = clean(value)
    if _URL.fullmatch(content.strip()):
        text = look_up(content.strip())
        if text is None:
            raise TuningError(
                f'"{name}": {plain_line(content)[:_MAX_VALUE_CHARACTERS]} is not stored, or its'
                " text is not (DEDUP_STORE_TEXT)"
            )
        return text
    if not sniff_html(content.encode()):
        return content
    try:
        return extract_page(content, max_bytes=MAX_FILE_BYTES).text
    except ExtractionError as error:
        raise TuningError(f'"{name}": no text could be had from the HTML ({error})') from None


def _quoted(value: Any) -> str:
    return plain_line(json.dumps(value))[:_MAX_VALUE_CHARACTERS]


def reviewed_pairs(store: Store) -> LabelledPairs:
    """Take the pairs of stored pages that a person has reviewed.

    Their texts are without the templates of their sites, as they are compared. Left out are pairs
    whose texts are not kept, have no words, or do not differ: no threshold decides on them.
    """

    @cache
    def text_of(url: str) -> str:
        split = map(store.split_text, store.find(url))
        return next((one.compared for one in split if one is not None), "")

    pairs = []
    for review in store.admin.reviews()[:MAX_REVIEWS_READ]:
        pair = LabelledPair(text_of(review.a), text_of(review.b), review.same)
        a, b = canonical_words(pair.a), canonical_words(pair.b)
        if a and b and a != b:
            pairs.append(pair)
    return LabelledPairs(pairs, "reviews")


class TitledPage(NamedTuple):
    """A stored page.

    Args:
        title: its language and the words of its title.
        text: its main text.
        minima: uint32[84], under the same scheme for all pages.
    """

    title: str
    text: str
    minima: Minima


def titled_pairs(store: Store) -> LabelledPairs:
    """Draw pairs of stored pages; of a large store, those of some of its titles.

    Raises:
        TuningError: there are too few of either label.
    """
    titled = (
        (hashlib.blake2b(title.encode(), digest_size=8).digest(), page.id, title, page)
        for page in store.pages()
        if (title := _title(page.title, page.language))
    )
    sampled = [
        TitledPage(title, text, store.signature(page).minima)
        for _, _, title, page in nsmallest(_MAX_SAMPLED_PAGES, titled)
        if (text := store.text(page)) is not None
    ]
    if not sampled:
        raise TuningError(
            "the store has no pages with a title and a text (DEDUP_STORE_TEXT): give a file of"
            " labelled pairs"
        )
    found = LabelledPairs(pairs_from(sampled), "titles")
    if found.shortage:
        raise TuningError(f"by the titles of {len(sampled):,} stored pages: {found.shortage}")
    return found


def _title(title: str | None, language: str | None) -> str:
    words = " ".join(canonical_words(title or ""))
    return f"{language or ''} {words}" if words else ""


def pairs_from(pages: Iterable[TitledPage], max_pairs: int = MAX_PAIRS) -> list[LabelledPair]:
    """Pair pages; those with equal titles are labelled the same, as a person might.

    Half of the pairs are the same, if there are enough of those. Half of the others are the most
    similar ones by estimated resemblance, and half are of titles that follow each other. Pages
    with a title of more than 10 pages, or with the text of an earlier page are left out.

    Args:
        pages: up to some thousands of them, in an order that says nothing of their texts.
        max_pairs: number of pairs, at most.
    """
    by_title: dict[str, list[TitledPage]] = defaultdict(list)
    texts = set()
    for page in pages:
        words = " ".join(canonical_words(page.text))
        # No threshold separates pages with equal texts, whatever their titles are.
        if words not in texts:
            texts.add(words)
            by_title[page.title].append(page)
    rare = [found for found in by_title.values() if len(found) <= _MAX_PAGES_PER_TITLE]
    same = [LabelledPair(a.text, b.text, True) for found in rare for a, b in pairwise(found)]
    alike = _most_alike(rare)[: max_pairs // 4]
    others = [LabelledPair(a[0].text, b[-1].text, False) for a, b in pairwise(rare)]
    different = [*dict.fromkeys(alike + others)]
    return sorted(same, key=order_hash)[: max_pairs // 2] + different[: max_pairs // 2]


def order_hash(pair: LabelledPair) -> bytes:
    """Hash by which pairs are drawn: it depends on nothing but the texts."""
    return hashlib.blake2b(f"{pair.a}\0{pair.b}".encode("utf-8", "replace")).digest()


def _most_alike(by_title: Sequence[Sequence[TitledPage]]) -> list[LabelledPair]:
    """Pair each page with the later one of another title that is most similar; these first."""
    pages = [page for found in by_title for page in found]
    minima = np.array([page.minima for page in pages])
    found = []
    later = 0
    for own in by_title:
        later += len(own)
        for page in own if later < len(pages) else ():
            shared = (minima[later:] == page.minima).sum(axis=1)
            place = int(shared.argmax())
            pair = LabelledPair(page.text, pages[later + place].text, False)
            found.append((int(shared[place]), pair))
    return [pair for shared, pair in sorted(found, reverse=True) if shared]
