"""Find the stored pages that are like a text: by an index, or by reading all texts."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import bindparam, or_, select, text

from shingling.errors import StoreError
from shingling.rules.defaults import MAX_SIMHASH_DISTANCE
from shingling.rules.measures import UNIQUENESS
from shingling.similarity import Counts, distance as simhash_distance, measure_sets, overlap
from shingling.sketch import Banding, Signature, fingerprint_set
from shingling.store.decide.texts import estimated_containment, read_text
from shingling.store.model import Match
from shingling.store.queries import ROWS_READ_AT_ONCE, stored_pages
from shingling.store.schema.rows import read_minima
from shingling.store.schema.statements import chunked
from shingling.store.schema.tables import pages, texts
from shingling.text import PreparedText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import BindParameter, ColumnElement, Connection

    from shingling.sketch import Fingerprints, Scheme
    from shingling.store.index.keys import Index
    from shingling.store.index.postings import Postings

_NOT_EXACT_COPIES = select(pages.c.id, pages.c.original_id).where(
    pages.c.text_hash == bindparam("text_hash"), text("pages.status <> 'exact'")
)
_WITH_TEXTS = (
    select(texts.c.page_id, texts.c.zlib, pages.c.words)
    .join_from(texts, pages)
    .order_by(texts.c.page_id)
)
_HEADS: BindParameter[Any] = bindparam("heads", expanding=True)
_SAME_TEXT = select(pages.c.id).where(
    or_(pages.c.id.in_(_HEADS), pages.c.original_id.in_(_HEADS)),
    pages.c.text_hash == bindparam("text_hash"),
)


def similar(
    connection: Connection,
    bands: Postings,
    signature: Signature,
    main_text: str | None,
    scheme: Scheme,
    index: Index,
    threshold: float,
    limit: int,
) -> list[Match]:
    """Find the stored pages at or above the threshold, best first.

    Where the bands find 95 % of the pairs at the threshold, originals that share a band, their
    duplicates, and pages with the same text are measured; otherwise every page is.
    """
    if not signature.words:
        return []
    banding = index.keys_of
    if isinstance(banding, Banding) and banding.finds(threshold):
        estimates = _estimate_by_bands(connection, bands, signature, banding)
        estimates.update(dict.fromkeys(_with_same_text(connection, signature), 1.0))
    else:
        estimates = _estimate_all(connection, signature)
    ranked = sorted(estimates.items(), key=lambda item: (-item[1], item[0]))
    own = None if main_text is None else fingerprint_set(main_text, scheme)
    matches = []
    # Measured on the texts, a page may resemble more than its minima say.
    near = [page_id for page_id, estimate in ranked if estimate >= threshold / 2]
    for page_id in near[: max(4 * limit, 100)]:
        [page] = stored_pages(connection, [page_id])
        resemblance = estimates[page_id]
        containment = estimated_containment(
            resemblance, signature.words, page.words, scheme.shingle_size
        )
        match = Match(page, resemblance, containment, False)
        match = _measured(connection, match, own, scheme)
        if match.resemblance >= threshold:
            matches.append(match)
    matches.sort(key=lambda match: (-match.resemblance, match.page.id))
    return matches[:limit]


def _with_same_text(connection: Connection, signature: Signature) -> Iterator[int]:
    """Yield the ids of pages with the same text."""
    # The index on hashes leaves out exact duplicates; they are in the groups of the others.
    bound = {"text_hash": signature.text_hash}
    heads = {row.original_id or row.id for row in connection.execute(_NOT_EXACT_COPIES, bound)}
    for part in chunked(heads):
        yield from connection.scalars(_SAME_TEXT, {**bound, "heads": part})


def _measured(
    connection: Connection, match: Match, own: Fingerprints | None, scheme: Scheme
) -> Match:
    """Match measured on the texts, where both are there."""
    stored = read_text(connection, match.page.id) if own is not None else None
    if own is None or stored is None:
        return match
    both = overlap(own, fingerprint_set(stored.text, scheme))
    return match._replace(resemblance=both.resemblance, containment=both.containment, measured=True)


def within(
    connection: Connection,
    bands: Postings,
    signature: Signature,
    scheme: Scheme,
    index: Index,
    distance: int,
    limit: int,
    main_text: str | None,
) -> list[Match]:
    """Find the stored pages whose SimHash differs in at most `distance` bits, nearest first."""
    if not signature.words:
        return []
    own = None if main_text is None else fingerprint_set(main_text, scheme)
    query = select(pages.c.id, pages.c.simhash, pages.c.minima).where(pages.c.words > 0)
    found: list[tuple[int, float, int]] = []
    for part in _conditions_within(bands, signature, index, distance):
        chosen = query if part is None else query.where(part)
        streamed = chosen.execution_options(yield_per=ROWS_READ_AT_ONCE)
        for page_id, value, raw in connection.execute(streamed):
            if type(value) is not int:
                continue
            apart = simhash_distance(signature.simhash, value % (1 << 64))
            if apart <= distance:
                estimate = float(np.mean(read_minima(raw) == signature.minima))
                found.append((apart, -estimate, page_id))
    matches = []
    for apart, opposite, page_id in sorted(found)[:limit]:
        estimate = -opposite
        [page] = stored_pages(connection, [page_id])
        containment = estimated_containment(
            estimate, signature.words, page.words, scheme.shingle_size
        )
        match = Match(page, estimate, containment, False, apart)
        matches.append(_measured(connection, match, own, scheme))
    return matches


def _conditions_within(
    bands: Postings, signature: Signature, index: Index, distance: int
) -> Iterator[ColumnElement[bool] | None]:
    """Yield conditions that all pages within the distance fulfil one of; None selects all."""
    halves = index.keys_of
    if isinstance(halves, Banding) or distance > MAX_SIMHASH_DISTANCE:
        yield None
        return
    probes = halves.probes([signature.simhash], distance)[0].tolist()
    originals = {page_id for ids in bands.find(probes).values() for page_id in ids}
    for part in chunked(originals):
        yield or_(pages.c.id.in_(part), pages.c.original_id.in_(part))


def _estimate_by_bands(
    connection: Connection, bands: Postings, signature: Signature, banding: Banding
) -> dict[int, float]:
    keys = banding.keys([signature.minima])[0].tolist()
    originals = {page_id for ids in bands.find(keys).values() for page_id in ids}
    found: dict[int, float] = {}
    for part in chunked(originals):
        query = select(pages.c.id, pages.c.minima).where(
            or_(pages.c.id.in_(part), pages.c.original_id.in_(part))
        )
        for page_id, raw in connection.execute(query):
            found[page_id] = float(np.mean(read_minima(raw) == signature.minima))
    return found


def _estimate_all(connection: Connection, signature: Signature) -> dict[int, float]:
    query = select(pages.c.id, pages.c.minima).execution_options(yield_per=ROWS_READ_AT_ONCE)
    found: dict[int, float] = {}
    for part in connection.execute(query).partitions():
        minima = np.stack([read_minima(raw) for _, raw in part])
        estimates = (minima == signature.minima).mean(axis=1)
        for place in np.flatnonzero(estimates > 0).tolist():
            found[part[place][0]] = float(estimates[place])
    return found


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
