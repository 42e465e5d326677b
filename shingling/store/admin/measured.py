"""Measure stored texts by other measures than resemblance: every text that is kept is read."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sqlalchemy import select

from shingling.errors import StoreError
from shingling.rules.measures import UNIQUENESS
from shingling.similarity import Counts, measure_sets, overlap
from shingling.sketch import fingerprint_set
from shingling.store.admin.queries import ROWS_READ_AT_ONCE, stored_pages
from shingling.store.model import Match
from shingling.store.schema.tables import pages, texts
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection

    from shingling.sketch import Scheme

_WITH_TEXTS = (
    select(texts.c.page_id, texts.c.zlib, pages.c.words)
    .join_from(texts, pages)
    .order_by(texts.c.page_id)
)


class StoredText(NamedTuple):
    """A text that is kept, of a page with this id and so many canonical words."""

    page_id: int
    words: int
    text: str


def stored_texts(connection: Connection) -> Iterator[StoredText]:
    """Yield the texts that are kept, those of the oldest pages first."""
    with connection.execute(
        _WITH_TEXTS, execution_options={"yield_per": ROWS_READ_AT_ONCE}
    ) as rows:
        for page_id, raw, words in rows:
            yield StoredText(page_id, words, PreparedText.unpacked(raw).text)


def measure_stored(
    connection: Connection,
    text: str,
    scheme: Scheme,
    measure: str,
    threshold: float,
    limit: int,
    without: Collection[int],
) -> tuple[list[Match], float]:
    """Measure a text against all texts that are kept.

    Args:
        connection: to the store.
        text: that is measured.
        scheme: of the store.
        measure: one of `SET_MEASURES`; "uniqueness" matches pages by the share of the text's
            shingles that they have.
        threshold: least measure of a match.
        limit: at most so many matches.
        without: ids of pages that are left out.

    Returns:
        Matches, best first, and the share of the text's shingles that no page has.

    Raises:
        StoreError: no texts are kept.
    """
    own, own_words = fingerprint_set(text, scheme), len(scheme.canonical.words(text))
    is_new = np.ones(len(own), bool)
    found = []
    is_empty = True
    for stored in stored_texts(connection):
        is_empty = False
        if stored.page_id in without:
            continue
        other = fingerprint_set(stored.text, scheme)
        both = overlap(own, other)
        if not both.shared:
            continue
        if measure == UNIQUENESS:
            is_new &= ~np.isin(own, other)
            value = both.shared / both.a
        else:
            counts = Counts(both.a, both.b, own_words, stored.words)
            value = float(measure_sets(measure, both.shared, counts))
        if value >= threshold:
            found.append((value, -stored.page_id, both))
            if len(found) >= 2 * limit + 1000:
                found = nlargest(limit, found, key=lambda one: one[:2])
    if is_empty:
        raise StoreError(f"the store keeps no texts to measure {measure} on (DEDUP_STORE_TEXT)")
    best = nlargest(limit, found, key=lambda one: one[:2])
    shown = stored_pages(connection, [-opposite for _, opposite, _ in best])
    matches = [
        Match(page, both.resemblance, both.containment, True, value=value)
        for page, (value, _, both) in zip(shown, best, strict=True)
    ]
    return matches, float(is_new.mean()) if len(own) else 1.0
