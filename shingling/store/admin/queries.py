"""Questions to the store, none of which changes it."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import bindparam, func, or_, select, text

from shingling.defaults import MOST_DISTANCE
from shingling.similarity import distance as simhash_distance, overlap
from shingling.sketch import Banding, Signature, text_fingerprints
from shingling.store.decide.texts import estimated_containment, read_text, unzip
from shingling.store.index.lookup import some
from shingling.store.model import Group, Match, Page, RunRecord, StoredPage, from_seconds
from shingling.store.schema import fields as kinds
from shingling.store.schema.rows import (
    EXPORTED_FIELDS,
    ORIGINS,
    PAGE_FIELDS,
    read_minima,
    url_key,
)
from shingling.store.schema.tables import full, pages, reviews, runs, texts
from shingling.store.urls import safe_url

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sqlalchemy import BindParameter, ColumnElement, Connection, RowMapping, Select

    from shingling.sketch import Fingerprints, Scheme
    from shingling.store.index.keys import Index
    from shingling.store.index.postings import Postings
    from shingling.store.session import Session

_ROWS_READ_AT_ONCE = 2000

_NOT_EXACT_COPIES = select(pages.c.id, pages.c.original_id).where(
    pages.c.text_hash == bindparam("text_hash"), text("pages.status <> 'exact'")
)
_HEADS: BindParameter[Any] = bindparam("heads", expanding=True)
_SAME_TEXT = select(pages.c.id).where(
    or_(pages.c.id.in_(_HEADS), pages.c.original_id.in_(_HEADS)),
    pages.c.text_hash == bindparam("text_hash"),
)

_IN: BindParameter[Any] = bindparam("some", expanding=True)
_READ = select(pages, texts.c.zlib, texts.c.body_key)
_BY_BODY = _READ.join_from(texts, pages).where(texts.c.body_key.in_(_IN))
_BY_URL = _READ.join_from(pages, texts, isouter=True).where(
    pages.c.url_key == bindparam("url_key"), pages.c.scope == bindparam("scope")
)

_original = pages.alias("original")
_shown = select(pages, _original.c.url.label("original")).join_from(
    pages, _original, pages.c.original_id == _original.c.id, isouter=True
)

_COLUMN_OF = {one.exported_as or name: name for name, one in PAGE_FIELDS.items()}
_SHOWN_COLUMNS = {one.name: _COLUMN_OF.get(one.name, one.name) for one in fields(StoredPage)}
_CONVERTERS = {
    name: convert for name in _SHOWN_COLUMNS if (convert := EXPORTED_FIELDS[name].kind.shown)
}


def stored_page(row: RowMapping) -> StoredPage:
    """Return a row of `_shown`."""
    values = {name: row[column] for name, column in _SHOWN_COLUMNS.items()}
    for name, convert in _CONVERTERS.items():
        values[name] = convert(values[name])
    return StoredPage(**values)


def find_url(connection: Connection, url: str) -> list[RowMapping]:
    """Return the rows of a URL, one for each scope that it was stored in."""
    query = _shown.where(pages.c.url_key == url_key(safe_url(url))).order_by(pages.c.id)
    return list(connection.execute(query).mappings())


def chosen(
    connection: Connection,
    urls: Sequence[str],
    site: str | None,
    run: int | None,
    before: int | None,
) -> list[int]:
    """Return the ids of pages by URL, and of those that are of a site, of a run, and old.

    Args:
        connection: to the store.
        urls: as in `Store.forget`.
        site: as well.
        run: as well.
        before: seconds since 1970 that old pages were last seen before.

    Returns:
        Duplicates first, then originals.
    """
    conditions: list[ColumnElement[bool]] = []
    if site is not None:
        conditions.append(pages.c.site == site)
    if run is not None:
        conditions.append(pages.c.run_id == run)
    if before is not None:
        conditions.append(pages.c.last_seen < before)
    named = {row["id"]: row["original_id"] for url in urls for row in find_url(connection, url)}
    found: list[int] = []
    for is_original in (False, True):
        ids = {page_id for page_id, head in named.items() if (head is None) is is_original}
        if conditions:
            original = pages.c.original_id.is_(None)
            query = select(pages.c.id).where(*conditions, original if is_original else ~original)
            ids.update(connection.scalars(query))
        found += sorted(ids)
    return found


def stored_pages(connection: Connection, ids: Sequence[int]) -> list[StoredPage]:
    """Return the pages of these ids, in this order."""
    found: dict[int, StoredPage] = {}
    for part in some(ids):
        for row in connection.execute(_shown.where(pages.c.id.in_(part))).mappings():
            found[row["id"]] = stored_page(row)
    return [found[page_id] for page_id in ids]


def list_pages(
    connection: Connection,
    *,
    status: str | None,
    site: str | None,
    since: float | None,
    limit: int | None,
) -> Iterator[StoredPage]:
    """Yield pages in the order in which they were stored."""
    query = _shown.order_by(pages.c.id)
    if status is not None:
        query = query.where(or_(pages.c.status == status, pages.c.last_verdict == status))
    if site is not None:
        query = query.where(pages.c.site == site)
    if since is not None:
        query = query.where(pages.c.last_seen >= since)
    if limit is not None:
        query = query.limit(limit)
    # Closed also where nobody reads to the end.
    with connection.execute(query, execution_options={"yield_per": _ROWS_READ_AT_ONCE}) as result:
        for row in result.mappings():
            yield stored_page(row)


def list_groups(connection: Connection, limit: int | None) -> Iterator[Group]:
    """Yield originals that have duplicates, those with most duplicates first."""
    size = func.count().label("size")
    query: Select[Any] = (
        select(pages.c.original_id, size)
        .where(pages.c.original_id.is_not(None))
        .group_by(pages.c.original_id)
        .order_by(size.desc(), pages.c.original_id)
    )
    if limit is not None:
        query = query.limit(limit)
    for original_id, _ in connection.execute(query).all():
        original = connection.execute(_shown.where(pages.c.id == original_id)).mappings().one()
        yield Group(stored_page(original), tuple(duplicates_of(connection, original_id)))


def duplicates_of(connection: Connection, page_id: int) -> list[StoredPage]:
    """Return the duplicates attached to an original, oldest first."""
    query = _shown.where(pages.c.original_id == page_id).order_by(pages.c.id)
    return [stored_page(row) for row in connection.execute(query).mappings()]


def counts(connection: Connection) -> dict[str, Any]:
    """Return how many pages of each kind, and the runs."""
    by_status: dict[str, int] = {
        row.status: row.number
        for row in connection.execute(
            select(pages.c.status, func.count().label("number"))
            .where(pages.c.original_id.is_not(None))
            .group_by(pages.c.status)
        )
    }
    total = connection.scalar(select(func.count()).select_from(pages)) or 0
    duplicates = sum(by_status.values())
    return {
        "pages": total,
        "originals": total - duplicates,
        "duplicates": duplicates,
        "exact": by_status.get("exact", 0),
        "near": by_status.get("near", 0),
        "runs": connection.scalar(select(func.count()).select_from(runs)) or 0,
        "reviews": connection.scalar(select(func.count()).select_from(reviews)) or 0,
        "full_keys": connection.scalar(
            select(func.count()).select_from(full).where(full.c.owner == "bands")
        )
        or 0,
    }


def list_runs(connection: Connection, limit: int) -> list[RunRecord]:
    """Last runs, newest first."""
    query = select(runs).order_by(runs.c.id.desc()).limit(limit)
    return [
        RunRecord(
            id=row["id"],
            spider=row["spider"],
            started=from_seconds(row["started"]),
            finished=None if row["finished"] is None else from_seconds(row["finished"]),
            outcome=row["outcome"],
            counts=json.loads(row["counts"]),
            settings=json.loads(row["settings"]),
        )
        for row in connection.execute(query).mappings()
    ]


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
    """Return the stored pages at or above the threshold, best first.

    Where the bands find 95 % of the pairs at the threshold, originals that share a band and
    their duplicates are measured, and what has the same text; below that, every page.
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
    own = None if main_text is None else text_fingerprints(main_text, scheme)
    matches = []
    # Measured on texts, a page may come out on the other side of the estimate.
    near = [page_id for page_id, estimate in ranked if estimate >= threshold / 2]
    for page_id in near[: max(4 * limit, 100)]:
        row = connection.execute(_shown.where(pages.c.id == page_id)).mappings().one()
        resemblance = estimates[page_id]
        containment = estimated_containment(
            resemblance, signature.words, row["words"], scheme.shingle_size
        )
        match = Match(stored_page(row), resemblance, containment, False)
        match = _measured(connection, match, own, scheme)
        if match.resemblance >= threshold:
            matches.append(match)
    matches.sort(key=lambda match: (-match.resemblance, match.page.id))
    return matches[:limit]


def pages_by_body(session: Session, keys: Collection[bytes]) -> dict[bytes, Page]:
    """Find what was extracted from bodies before: pages with their texts and signatures.

    Of several pages with one body, any: they have all that was extracted from it in common.

    Args:
        session: the store.
        keys: as pages were stored with, `Page.body_key`.
    """
    with session.database.reading() as connection:
        rows = (
            row
            for part in some(keys)
            for row in connection.execute(_BY_BODY, {"some": part}).mappings()
        )
        return {row["body_key"]: _checked_page(row, session.scheme) for row in rows}


def page_by_url(session: Session, url: str, scope: str = "") -> Page | None:
    """Page as `check` was given it for a URL last: its text, if it is kept, and signature."""
    bound = {"url_key": url_key(safe_url(url)), "scope": scope}
    with session.reading() as connection:
        row = connection.execute(_BY_URL, bound).mappings().one_or_none()
    return None if row is None else _checked_page(row, session.scheme)


def _checked_page(row: RowMapping, scheme: Scheme) -> Page:
    return Page(
        url=row["url"],
        text=None if row["zlib"] is None else unzip(row["zlib"]),
        signature=signature_of(row, scheme),
        **{name: row[name] for name in ORIGINS["extracted"]},
        scope=row["scope"],
        body_key=row["body_key"],
    )


def signature_of(row: RowMapping, scheme: Scheme) -> Signature:
    """Return the signature in a row of `pages`."""
    return Signature(
        minima=read_minima(row["minima"]),
        simhash=kinds.SIGNED.read(row["simhash"]),
        text_hash=row["text_hash"],
        words=row["words"],
        scheme=scheme.id,
    )


def _with_same_text(connection: Connection, signature: Signature) -> Iterator[int]:
    """Yield the ids of the pages that have the same text."""
    # The index has no exact duplicates; those are in the groups of the others.
    bound = {"text_hash": signature.text_hash}
    heads = {row.original_id or row.id for row in connection.execute(_NOT_EXACT_COPIES, bound)}
    for part in some(heads):
        yield from connection.scalars(_SAME_TEXT, {**bound, "heads": part})


def _measured(
    connection: Connection, match: Match, own: Fingerprints | None, scheme: Scheme
) -> Match:
    """Return a match measured on the texts, where both are there."""
    stored = read_text(connection, match.page.id) if own is not None else None
    if own is None or stored is None:
        return match
    both = overlap(own, text_fingerprints(stored, scheme))
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
    """Return the stored pages whose SimHash differs in at most so many bits, nearest first."""
    if not signature.words:
        return []
    own = None if main_text is None else text_fingerprints(main_text, scheme)
    query = select(pages.c.id, pages.c.simhash, pages.c.minima).where(pages.c.words > 0)
    found: list[tuple[int, float, int]] = []
    for part in _some_within(bands, signature, index, distance):
        chosen = query if part is None else query.where(part)
        streamed = chosen.execution_options(yield_per=_ROWS_READ_AT_ONCE)
        for page_id, value, raw in connection.execute(streamed):
            apart = simhash_distance(signature.simhash, value % (1 << 64))
            if apart <= distance:
                estimate = float(np.mean(read_minima(raw) == signature.minima))
                found.append((apart, -estimate, page_id))
    matches = []
    for apart, opposite, page_id in sorted(found)[:limit]:
        estimate = -opposite
        row = connection.execute(_shown.where(pages.c.id == page_id)).mappings().one()
        containment = estimated_containment(
            estimate, signature.words, row["words"], scheme.shingle_size
        )
        matches.append(
            _measured(
                connection,
                Match(stored_page(row), estimate, containment, False, apart),
                own,
                scheme,
            )
        )
    return matches


def _some_within(
    bands: Postings, signature: Signature, index: Index, distance: int
) -> Iterator[ColumnElement[bool] | None]:
    """Yield conditions under which all pages within the distance are; None is no condition."""
    halves = index.keys_of
    if isinstance(halves, Banding) or distance > MOST_DISTANCE:
        yield None
        return
    probes = halves.probes([signature.simhash], distance)[0].tolist()
    originals = {page_id for ids in bands.find(probes).values() for page_id in ids}
    for part in some(originals):
        yield or_(pages.c.id.in_(part), pages.c.original_id.in_(part))


def _estimate_by_bands(
    connection: Connection, bands: Postings, signature: Signature, banding: Banding
) -> dict[int, float]:
    keys = banding.keys([signature.minima])[0].tolist()
    originals = {page_id for ids in bands.find(keys).values() for page_id in ids}
    found: dict[int, float] = {}
    for part in some(originals):
        query = select(pages.c.id, pages.c.minima).where(
            or_(pages.c.id.in_(part), pages.c.original_id.in_(part))
        )
        for page_id, raw in connection.execute(query):
            found[page_id] = float(np.mean(read_minima(raw) == signature.minima))
    return found


def _estimate_all(connection: Connection, signature: Signature) -> dict[int, float]:
    query = select(pages.c.id, pages.c.minima).execution_options(yield_per=_ROWS_READ_AT_ONCE)
    found: dict[int, float] = {}
    for part in connection.execute(query).partitions():
        minima = np.frombuffer(b"".join(raw for _, raw in part), dtype="<u4").reshape(len(part), -1)
        estimates = (minima == signature.minima).mean(axis=1)
        for place in np.flatnonzero(estimates > 0).tolist():
            found[part[place][0]] = float(estimates[place])
    return found
