"""What is known of lines that move is kept beside the template of a site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"


def upgrade() -> None:
    """Add the column; nothing is known yet."""
    op.add_column("site_blocks", sa.Column("lines", sa.LargeBinary))
