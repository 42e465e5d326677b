"""Write what a batch of pages has changed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, delete, text, update

from shingling.store.known import read_text
from shingling.store.schema.rows import COLUMNS
from shingling.store.schema.tables import chunked, insert_rows, texts
from shingling.store.verdicts import drop_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, TextClause

    from shingling.store.decide.batch import Batch
    from shingling.store.decide.texts import Texts
    from shingling.store.schema.rows import Row
    from shingling.store.schema.tables import Tables

_NEW_BODY_KEY = (
    update(texts).where(texts.c.page_id == bindparam("of")).values(body_key=bindparam("key"))
)


def write_batch(batch: Batch) -> None:
    """Write every changed row, its keys and its text, and what was learned of sites."""
    rows = sorted(batch.changed.values(), key=lambda row: row.id)
    known = {row.id for row in rows if row.stored}
    _write_rows(batch.connection, rows, batch.tables)
    fewest = batch.scheme.min_comparable_words
    _write_index(batch, [(row, row.is_original and row.words >= fewest) for row in rows])
    _write_texts(batch.connection, batch.texts, known)
    if batch.templates is not None:
        batch.templates.write()
    if batch.lookup.full:
        full = [{"key": key} for key in sorted(batch.lookup.full)]
        batch.connection.execute(_note_full(batch.tables), full)
    batch.changed.clear()


def delete_rows(batch: Batch, rows: Sequence[Row]) -> None:
    """Delete rows with their keys and texts."""
    _write_index(batch, [(row, False) for row in rows])
    pages = batch.tables.pages
    for part in chunked(row.id for row in rows):
        _delete_texts(batch.connection, part)
        drop_verdicts(batch.connection, part)
        batch.connection.execute(delete(pages).where(pages.c.id.in_(part)))


@cache
def _update_of(tables: Tables) -> TextClause:
    changed = ", ".join(f'"{name}" = :{name}' for name in COLUMNS[1:] if name != "run_id")
    return text(f"UPDATE {tables.pages.name} SET {changed} WHERE id = :id")  # noqa: S608 (ours)


@cache
def _note_full(tables: Tables) -> TextClause:
    return text(f"INSERT INTO {tables.full} (key) VALUES (:key) ON CONFLICT DO NOTHING")  # noqa: S608 (ours)


def _write_rows(connection: Connection, rows: Sequence[Row], tables: Tables) -> None:
    insert_rows(connection, tables.pages, COLUMNS, [row.values() for row in rows if not row.stored])
    changed = [dict(zip(COLUMNS, row.values(), strict=True)) for row in rows if row.stored]
    if changed:
        connection.execute(_update_of(tables), changed)
    for row in rows:
        row.stored = True


def _write_index(batch: Batch, rows: Iterable[tuple[Row, bool]]) -> None:
    # The database still holds the texts that the rows were indexed with.
    batch.lookup.write(
        rows,
        batch.sample,
        lambda row: batch.texts.sample(row.scope, read_text(batch.connection, row.id)),
    )


def _write_texts(connection: Connection, changed: Texts, known: set[int]) -> None:
    """Write new texts, in place of those of pages that are known."""
    _delete_texts(connection, [page_id for page_id in changed.new if page_id in known])
    kept = [
        (page_id, main_text.packed, body_key)
        for page_id, (main_text, body_key) in changed.new.items()
        if main_text is not None
    ]
    insert_rows(connection, texts, ("page_id", "zlib", "body_key"), kept)
    if changed.new_body_keys:
        rows = [{"of": page_id, "key": key} for page_id, key in changed.new_body_keys.items()]
        connection.execute(_NEW_BODY_KEY, rows)
    changed.new.clear()
    changed.new_body_keys.clear()


def _delete_texts(connection: Connection, ids: Iterable[int]) -> None:
    for part in chunked(ids):
        connection.execute(delete(texts).where(texts.c.page_id.in_(part)))
