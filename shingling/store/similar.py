"""Find the stored pages that are like a text: by an index, or by reading all texts."""

from __future__ import annotations

from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import or_, select, text

from shingling.errors import StoreError
from shingling.rules import MAX_SIMHASH_DISTANCE, UNIQUENESS
from shingling.similarity.measures import (
    Counts,
    distance as simhash_distance,
    estimated_containment,
    measure_sets,
    overlap,
)
from shingling.sketch import Banding, Signature, fingerprint_set
from shingling.store.index import salted
from shingling.store.known import read_text
from shingling.store.model import Match
from shingling.store.queries import ROWS_READ_AT_ONCE, stored_pages
from shingling.store.schema.rows import LITTLE_ENDIAN
from shingling.store.schema.tables import LIVE, chunked, pages, texts
from shingling.text import unpack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Select

    from shingling.arrays import Integers
    from shingling.similarity.measures import Overlap
    from shingling.sketch import Scheme
    from shingling.store.model import StoredPage
    from shingling.store.session import Session

_SIGNED = select(pages.c.id, pages.c.words, pages.c.minima, pages.c.simhash).where(
    pages.c.words > 0
)
_WITH_TEXTS = (
    select(texts.c.page_id, texts.c.zlib, pages.c.words)
    .join_from(texts, pages)
    .order_by(texts.c.page_id)
)
# The index on hashes leaves out exact duplicates; they are in the groups of the others.
_SAME_TEXT = text(
    "SELECT id FROM pages WHERE text_hash = :text_hash AND status <> 'exact'"
    " UNION SELECT twin.id FROM pages AS page"
    " JOIN pages AS twin ON twin.original_id = coalesce(page.original_id, page.id)"
    " WHERE page.text_hash = :text_hash AND page.status <> 'exact'"
    " AND twin.text_hash = page.text_hash"
)

# By an index that has no entries without a scope.
_SCOPES = text(
    "WITH RECURSIVE known(scope) AS (SELECT CAST('' AS text) UNION ALL"
    " SELECT (SELECT min(scope) FROM pages WHERE scope <> '' AND scope > known.scope)"
    " FROM known WHERE scope IS NOT NULL)"
    " SELECT scope FROM known WHERE scope IS NOT NULL LIMIT :most"
)
_MAX_KEYS = 1 << 18  # that are looked up; instead of more, all pages are read

_IDS_AROUND = 20_000  # of a page, among which those are that may share most with it
_MAX_SHARING, _SHARING_MEASURED = 5000, 5  # of these: estimated, and measured
_LEAST_SHARED = 0.5


def similar(
    session: Session,
    connection: Connection,
    signature: Signature,
    main_text: str | None,
    threshold: float,
    limit: int,
) -> list[Match]:
    """Find the stored pages at or above the threshold, best first.

    Where the bands find 95 % of the pairs at the threshold, originals that share a band, their
    duplicates, and pages with the same text are measured; otherwise every page is.
    """
    if not signature.words:
        return []
    banding, keys = session.index.keys_of, None
    if isinstance(banding, Banding) and banding.finds(threshold):
        keys = _in_all_scopes(connection, banding.keys([signature.minima]))
    looked_up = _looked_up(session, connection, signature, keys)
    estimates = {row.id: estimate for row, estimate in looked_up if estimate}
    if keys is not None:
        same = connection.scalars(_SAME_TEXT, {"text_hash": signature.text_hash})
        estimates.update(dict.fromkeys(same, 1.0))
    ranked = sorted(estimates.items(), key=lambda item: (-item[1], item[0]))
    # Measured on the texts, a page may resemble more than its minima say.
    near = [estimated for estimated in ranked if estimated[1] >= threshold / 2][
        : max(4 * limit, 100)
    ]
    measured = _matches(session, connection, near, signature, main_text)
    matches = [match for match in measured if match.resemblance >= threshold]
    matches.sort(key=lambda match: (-match.resemblance, match.page.id))
    return matches[:limit]


def sharing_most(
    session: Session, connection: Connection, page: StoredPage, signature: Signature
) -> Match | None:
    """As `Store.shares_most`."""
    near = pages.c.id.between(page.id - _IDS_AROUND, page.id + _IDS_AROUND)
    query = _SIGNED.where(
        near, pages.c.site == page.site, pages.c.scope == page.scope, pages.c.id != page.id
    )
    size = session.scheme.shingle_size
    best = nlargest(
        _SHARING_MEASURED,
        (
            (estimated_containment(estimate, page.words, row.words, size), -row.id)
            for row, estimate in _estimated(connection, query.limit(_MAX_SHARING), signature)
            if estimate
        ),
    )
    text = read_text(connection, page.id)
    matches = _matches(
        session,
        connection,
        [(-opposite, 0.0) for _, opposite in best],
        signature,
        None if text is None else text.text,
    )
    most = max(matches, key=lambda match: match.containment, default=None)
    return most if most is not None and most.containment >= _LEAST_SHARED else None


def within(
    session: Session,
    connection: Connection,
    signature: Signature,
    main_text: str | None,
    distance: int,
    limit: int,
) -> list[Match]:
    """Find the stored pages whose SimHash differs in at most `distance` bits, nearest first."""
    if not signature.words:
        return []
    halves, keys = session.index.keys_of, None
    if not isinstance(halves, Banding) and distance <= MAX_SIMHASH_DISTANCE:
        keys = _in_all_scopes(connection, halves.probes([signature.simhash], distance))
    ranked: list[tuple[int, float, int]] = []
    for row, estimate in _looked_up(session, connection, signature, keys):
        apart = simhash_distance(signature.simhash, row.simhash % (1 << 64))
        if apart <= distance:
            ranked.append((apart, -estimate, row.id))
    ranked = sorted(ranked)[:limit]
    nearest = [(page_id, -opposite) for _, opposite, page_id in ranked]
    distances = {page_id: apart for apart, _, page_id in ranked}
    matches = _matches(session, connection, nearest, signature, main_text)
    return [match._replace(distance=distances[match.page.id]) for match in matches]


def _in_all_scopes(connection: Connection, keys: Integers) -> list[int] | None:
    """Salt the keys of a page with every scope of a store; None if they are too many."""
    scopes = connection.scalars(_SCOPES, {"most": _MAX_KEYS // keys.size + 1}).all()
    salted_keys = salted(keys, scopes)
    return None if salted_keys.size > _MAX_KEYS else salted_keys.ravel().tolist()


def _looked_up(
    session: Session, connection: Connection, signature: Signature, keys: Sequence[int] | None
) -> Iterator[tuple[Any, float]]:
    """Yield what `_estimated` does of the originals under keys, and of their duplicates.

    Of all pages, if there are no keys.
    """
    if keys is None:
        yield from _estimated(connection, _SIGNED, signature)
        return
    bands = session.database.postings(connection, LIVE.bands)
    originals = {page_id for ids in bands.find(keys).values() for page_id in ids}
    for part in chunked(originals):
        in_groups = or_(pages.c.id.in_(part), pages.c.original_id.in_(part))
        yield from _estimated(connection, _SIGNED.where(in_groups), signature)


def _estimated(
    connection: Connection, query: Select[Any], signature: Signature
) -> Iterator[tuple[Any, float]]:
    """Yield the rows of a query like `_SIGNED` with their estimated resemblance."""
    streamed = query.execution_options(yield_per=ROWS_READ_AT_ONCE)
    for part in connection.execute(streamed).partitions():
        minima = np.stack([LITTLE_ENDIAN.read(row.minima) for row in part])
        yield from zip(part, (minima == signature.minima).mean(axis=1).tolist(), strict=True)


def _matches(
    session: Session,
    connection: Connection,
    estimates: Sequence[tuple[int, float]],
    signature: Signature,
    main_text: str | None,
) -> list[Match]:
    """Measure pages on the texts, if both are there, or keep the estimates.

    Args:
        session: of the store.
        connection: to it.
        estimates: ids of pages, each with its estimated resemblance.
        signature: of what was asked for.
        main_text: of that.
    """
    scheme, matches = session.scheme, []
    own = None if main_text is None else fingerprint_set(main_text, scheme)
    shown = stored_pages(connection, [page_id for page_id, _ in estimates])
    for page_id, estimate in estimates:
        page = shown[page_id]
        stored = None if own is None else read_text(connection, page_id)
        if own is None or stored is None:
            containment = estimated_containment(
                estimate, signature.words, page.words, scheme.shingle_size
            )
            matches.append(Match(page, estimate, containment, False))
        else:
            both = overlap(own, fingerprint_set(stored.text, scheme))
            matches.append(Match(page, both.resemblance, both.containment, True))
    return matches


def stored_texts(connection: Connection) -> Iterator[tuple[int, int, str]]:
    """Yield id, canonical words and text of the pages whose text is kept, the oldest first."""
    with connection.execute(
        _WITH_TEXTS, execution_options={"yield_per": ROWS_READ_AT_ONCE}
    ) as rows:
        for page_id, raw, words in rows:
            yield page_id, words, unpack(raw)


def measure_stored(
    connection: Connection,
    text: str,
    scheme: Scheme,
    measure: str,
    threshold: float,
    limit: int,
    without: StoredPage | None,
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
        without: a page that is left out.

    Returns:
        Matches, best first, and the share of the text's shingles that no page has.

    Raises:
        StoreError: no texts are kept.
    """
    own, own_words = fingerprint_set(text, scheme), len(scheme.canonical.words(text))
    is_new = np.ones(len(own), bool)
    number = 0

    def alike() -> Iterator[tuple[float, int, Overlap]]:
        nonlocal number
        for page_id, words, stored in stored_texts(connection):
            number += 1
            other = fingerprint_set(stored, scheme)
            both = overlap(own, other)
            if (without is not None and page_id == without.id) or not both.shared:
                continue
            if measure == UNIQUENESS:
                is_new[np.isin(own, other)] = False
                value = both.shared / both.a
            else:
                counts = Counts(both.a, both.b, own_words, words)
                value = float(measure_sets(measure, both.shared, counts))
            if value >= threshold:
                yield value, -page_id, both

    best = nlargest(limit, alike(), key=itemgetter(0, 1))
    if not number:
        raise StoreError(f"the store keeps no texts to measure {measure} on (DEDUP_STORE_TEXT)")
    shown = stored_pages(connection, [-opposite for _, opposite, _ in best])
    matches = [
        Match(shown[-opposite], both.resemblance, both.containment, True, value=value)
        for value, opposite, both in best
    ]
    return matches, float(is_new.mean()) if len(own) else 1.0
