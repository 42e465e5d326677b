"""A checksum of each page's signature, which finds damage."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the columns; no row is written. `scrapy dedup check --repair` fills them in."""
    if op.get_bind().dialect.name == "postgresql":
        # What an earlier migration has changed is to be checked before its table can change.
        op.execute("SET CONSTRAINTS ALL IMMEDIATE")
        op.execute("SET CONSTRAINTS ALL DEFERRED")
    for table in ("pages", "next_pages"):
        op.add_column(table, sa.Column("checksum", sa.Integer))
