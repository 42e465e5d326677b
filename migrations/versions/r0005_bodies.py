"""What the text of a page was read from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Make the column; it is filled by the pages that come."""
    op.add_column("texts", sa.Column("body_key", sa.LargeBinary(16)))
    filled = sa.text("body_key IS NOT NULL")
    op.create_index(
        "texts_body_key", "texts", ["body_key"], sqlite_where=filled, postgresql_where=filled
    )
