"""Which page an item with a text of its own was found on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the column: what is stored so far are pages, which have none."""
    for table in ("pages", "next_pages"):
        op.add_column(table, sa.Column("source", sa.Text))
