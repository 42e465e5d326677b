"""What pages are found by: bands of minima or of SimHashes, and samples of their shingles."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Say how old stores are indexed, and make the table of samples."""
    op.add_column("scheme", sa.Column("indexed", sa.Text, nullable=False, server_default="minima"))
    op.add_column(
        "scheme", sa.Column("sampled", sa.Boolean, nullable=False, server_default=sa.false())
    )
    op.add_column("scheme", sa.Column("packs", sa.Text, nullable=False, server_default="{}"))
    op.create_table(
        "samples",
        sa.Column("key", sa.BigInteger, primary_key=True),
        sa.Column("page_id", _ID, primary_key=True),
        sqlite_with_rowid=False,
    )
