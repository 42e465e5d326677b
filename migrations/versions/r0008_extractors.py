"""Which extractors the texts come from."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the column; the last crawl that noted its extractor says what the texts come from."""
    column = sa.Column("extractors", sa.Text, nullable=False, server_default="[]")
    op.add_column("scheme", column)
    runs = sa.table("runs", sa.column("id"), sa.column("settings"))
    connection = op.get_bind()
    for settings in connection.scalars(sa.select(runs.c.settings).order_by(runs.c.id.desc())):
        if extractor := json.loads(settings).get("extractor"):
            scheme = sa.table("scheme", sa.column("extractors"))
            connection.execute(sa.update(scheme).values(extractors=json.dumps([extractor])))
            break
