"""Write the changes of a batch of pages."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from shingling.store.known import read_text
from shingling.store.schema.rows import COLUMNS
from shingling.store.schema.tables import chunked, execute_each, insert_rows
from shingling.store.verdicts import drop_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from shingling.store.decide.batch import Batch
    from shingling.store.decide.texts import Texts
    from shingling.store.schema.rows import Row
    from shingling.store.schema.tables import Tables

_CHANGING = [name for name in COLUMNS if name not in ("id", "run_id")]
_PUT_TEXT = (
    "INSERT INTO texts (page_id, zlib, body_key) VALUES (?, ?, ?)"
    " ON CONFLICT (page_id) DO UPDATE SET zlib = excluded.zlib, body_key = excluded.body_key"
)
_changing_values = itemgetter(*map(COLUMNS.index, (*_CHANGING, "id")))


def write_batch(batch: Batch) -> None:
    """Write every changed row, its keys and its text, and what was learned of sites."""
    rows = sorted(batch.changed.values(), key=lambda row: row.id)
    _write_rows(batch.connection, rows, batch.tables)
    fewest = batch.scheme.min_comparable_words
    _write_index(batch, [(row, row.is_original and row.words >= fewest) for row in rows])
    _write_texts(batch.connection, batch.texts)
    if batch.templates is not None:
        batch.templates.write()
    if batch.lookup.full:
        note_full = f"INSERT INTO {batch.tables.full} (key) VALUES (?) ON CONFLICT DO NOTHING"  # noqa: S608 (ours)
        execute_each(batch.connection, note_full, [(key,) for key in sorted(batch.lookup.full)])
    batch.changed.clear()


def delete_rows(batch: Batch, rows: Sequence[Row]) -> None:
    """Delete rows with their keys and texts."""
    _write_index(batch, [(row, False) for row in rows])
    ids = [row.id for row in rows]
    _delete_texts(batch.connection, ids)
    for part in chunked(ids):
        drop_verdicts(batch.connection, part)
    delete = f"DELETE FROM {batch.tables.pages} WHERE id = ?"  # noqa: S608 (ours)
    execute_each(batch.connection, delete, [(page_id,) for page_id in ids])


def _write_rows(connection: Connection, rows: Sequence[Row], tables: Tables) -> None:
    insert_rows(connection, tables.pages, COLUMNS, [row.values() for row in rows if not row.stored])
    changing = ", ".join(f'"{name}" = ?' for name in _CHANGING)
    update = f"UPDATE {tables.pages} SET {changing} WHERE id = ?"  # noqa: S608 (ours)
    changed = [_changing_values(row.values()) for row in rows if row.stored]
    execute_each(connection, update, changed)
    for row in rows:
        row.stored = True


def _write_index(batch: Batch, rows: Iterable[tuple[Row, bool]]) -> None:
    # The database still holds the texts that the rows were indexed with.
    batch.lookup.write(
        rows,
        batch.sample,
        lambda row: batch.texts.sample(row.scope, read_text(batch.connection, row.id)),
    )


def _write_texts(connection: Connection, changed: Texts) -> None:
    """Write new texts, in place of those that are there, and what has changed in pages."""
    texts = changed.new.items()
    _delete_texts(connection, [page_id for page_id, (text, _) in texts if text is None])
    kept = [(page_id, text.packed, key) for page_id, (text, key) in texts if text is not None]
    execute_each(connection, _PUT_TEXT, kept)
    changes = [(change and change.packed, page_id) for page_id, change in changed.changes.items()]
    execute_each(connection, "UPDATE texts SET last_change = ? WHERE page_id = ?", changes)
    changed.new.clear()
    changed.changes.clear()


def _delete_texts(connection: Connection, ids: Iterable[int]) -> None:
    execute_each(connection, "DELETE FROM texts WHERE page_id = ?", [(page_id,) for page_id in ids])
