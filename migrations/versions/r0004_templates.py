"""Templates of sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table; it is filled by the pages that come."""
    op.create_table(
        "site_blocks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("entries", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("site_blocks_site", "site_blocks", ["site", "id"])
