"""What is learned of the URLs of sites, so that fewer pages are fetched."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the tables; nothing is learned of what was stored before."""
    op.create_table(
        "url_rules",
        sa.Column("rule_key", sa.LargeBinary(16), primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("change", sa.Text, nullable=False),
        sa.Column("node", sa.Text, nullable=False),
        sa.Column("agreed", sa.BigInteger, nullable=False),
        sa.Column("contradicted", sa.BigInteger, nullable=False),
        sa.Column("saved", sa.BigInteger, nullable=False),
        sa.Column("explored", sa.BigInteger, nullable=False),
        sa.Column("pinned", sa.Boolean),
        sa.Column("updated", sa.BigInteger, nullable=False),
    )
    op.create_index("url_rules_site", "url_rules", ["site"])
    op.create_table(
        "skipped_urls",
        sa.Column("skip_key", sa.LargeBinary(16), primary_key=True),
        sa.Column("spider", sa.Text, nullable=False),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("page", sa.Text, nullable=False),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("request", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_index("skipped_urls_site", "skipped_urls", ["site", "created"])
