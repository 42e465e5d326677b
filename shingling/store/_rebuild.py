"""Make a new index from what is stored; nothing is decided again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from shingling.errors import BandingError
from shingling.sketch import shingles_of
from shingling.store._lookup import keys_of_sample
from shingling.store._rows import Keyed, read_minima
from shingling.store._tables import bands, pages, samples, texts
from shingling.store._tables import scheme as scheme_table
from shingling.store._working_set import unzip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlalchemy import Connection, Table

    from shingling.sketch import Scheme
    from shingling.store._index import Index

_BATCH = 1000  # pages at a time


def rebuild(connection: Connection, scheme: Scheme, index: Index) -> None:
    """Index all originals anew, within the caller's transaction."""
    for table in (bands, samples):
        connection.execute(delete(table))
    originals = (pages.c.original_id.is_(None), pages.c.words >= scheme.fewest_words)
    query = select(pages.c.id, pages.c.minima, pages.c.simhash).where(*originals)
    for part in connection.execute(query.execution_options(yield_per=_BATCH)).partitions():
        keyed = [Keyed(read_minima(raw), simhash % (1 << 64)) for _, raw, simhash in part]
        found = zip(part, index.keys(keyed), strict=True)
        _insert(connection, bands, ((key, row[0]) for row, own in found for key in set(own)))
    if index.sampled:
        _require_texts(connection)
        kept = (
            select(texts.c.page_id, pages.c.scope, texts.c.zlib)
            .join(pages)
            .where(*originals, pages.c.status != "skipped")
        )
        for rows in connection.execute(kept.execution_options(yield_per=_BATCH)).partitions():
            sampled = (
                (key, page_id)
                for page_id, scope, raw in rows
                for key in keys_of_sample(
                    shingles_of(scheme.canonical.words(unzip(raw)), scheme), scope
                )
            )
            _insert(connection, samples, sampled)
    connection.execute(update(scheme_table).values(index.columns()))


def _require_texts(connection: Connection) -> None:
    stored = select(func.count()).select_from(pages)
    if connection.scalar(stored) and not connection.scalar(stored.join(texts)):
        raise BandingError(
            "the store keeps no texts (DEDUP_STORE_TEXT), so there is nothing to take samples of"
        )


def _insert(connection: Connection, table: Table, keys: Iterable[tuple[int, int]]) -> None:
    """Insert keys in their order: neighbours in the index are written together."""
    rows = [{"key": key, "page_id": page_id} for key, page_id in sorted(keys)]
    if rows:
        connection.execute(insert(table), rows)
