"""Keys that pages are found by are salted with their scopes, which are indexed."""

from __future__ import annotations

import hashlib
import struct

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"

_ROWS_AT_ONCE = 1000
_ENTRY_BYTES = 16

_RECENT = sa.text("SELECT entries FROM recent WHERE owner = 'bands' ORDER BY batch")
_REMOVE = sa.text("DELETE FROM bands WHERE key = :key AND page_id = :page_id")
_ADD = sa.text("INSERT INTO bands (key, page_id) VALUES (:key, :page_id) ON CONFLICT DO NOTHING")
_ALL_ARE_MERGED = (
    "DELETE FROM recent WHERE owner = 'bands'",
    "UPDATE logs SET epoch = epoch + 1, written = written + 1 WHERE owner = 'bands'",
)
_IN_SCOPES = sa.text("SELECT id, scope FROM pages WHERE scope <> '' AND original_id IS NULL")
_SALT = (
    (  # an exclusive or, by operators that both databases have
        "CREATE TEMPORARY TABLE salted AS SELECT (key | salt) & ~(key & salt) AS key, page_id"
        " FROM bands JOIN salts USING (page_id)"
    ),
    "DELETE FROM bands WHERE page_id IN (SELECT page_id FROM salts)",
    "INSERT INTO bands (key, page_id) SELECT key, page_id FROM salted ORDER BY key, page_id",
    "DROP TABLE salted",
    "DROP TABLE salts",
    "DELETE FROM full_keys",
)


def upgrade() -> None:
    """Make the keys of pages with a scope anew; all others stay."""
    condition = sa.text("scope <> ''")
    op.create_index(
        "pages_scope", "pages", ["scope"], sqlite_where=condition, postgresql_where=condition
    )
    connection = op.get_bind()
    if connection.scalar(sa.text("SELECT 1 FROM pages WHERE scope <> '' LIMIT 1")) is None:
        return
    _merge_recent(connection)
    salts = op.create_table(
        "salts",
        sa.Column("page_id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("salt", sa.BigInteger, nullable=False),
        prefixes=["TEMPORARY"],
    )
    with connection.execute(_IN_SCOPES, execution_options={"yield_per": _ROWS_AT_ONCE}) as rows:
        for part in rows.partitions():
            given = [{"page_id": page_id, "salt": _salt(scope)} for page_id, scope in part]
            connection.execute(salts.insert(), given)
    for statement in _SALT:
        connection.execute(sa.text(statement))


def _merge_recent(connection: sa.Connection) -> None:
    """Put the recent keys, which SQLite has in a log, into the table of all keys."""
    with connection.execute(_RECENT, execution_options={"yield_per": 1}) as rows:
        for entries in rows.scalars():
            if type(entries) is not bytes or len(entries) % _ENTRY_BYTES:  # a damaged store
                continue
            changes = [*struct.iter_unpack("<qq", entries)]  # the page of a removed one is negative
            gone = [{"key": key, "page_id": -page_id} for key, page_id in changes if page_id < 0]
            come = [{"key": key, "page_id": page_id} for key, page_id in changes if page_id > 0]
            if gone:
                connection.execute(_REMOVE, gone)
            if come:
                connection.execute(_ADD, come)
    for statement in _ALL_ARE_MERGED:
        connection.execute(sa.text(statement))


def _salt(scope: object) -> int:
    if not isinstance(scope, str):  # a damaged row
        return 0
    digest = hashlib.blake2b(scope.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
