"""What has changed last in a page is kept with its text."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0005"
down_revision = "r0004"


def upgrade() -> None:
    """Of the changes until now, nothing is known."""
    op.add_column("texts", sa.Column("last_change", sa.Text))
