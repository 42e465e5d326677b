"""The first store: scheme, runs, pages, bands and texts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "scheme",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("parameters", sa.Text, nullable=False),
        sa.Column("bands", sa.SmallInteger, nullable=False),
        sa.Column("rows", sa.SmallInteger, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("spider", sa.Text, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.BigInteger),
        sa.Column("outcome", sa.Text),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "pages",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("url_key", sa.LargeBinary(16), nullable=False),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("title", sa.Text),
        sa.Column("language", sa.Text),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("text_hash", sa.LargeBinary(16), nullable=False),
        sa.Column("minima", sa.LargeBinary(336), nullable=False),
        sa.Column("simhash", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("last_verdict", sa.Text, nullable=False),
        sa.Column(
            "original_id",
            _ID,
            sa.ForeignKey("pages.id", deferrable=True, initially="DEFERRED"),
        ),
        sa.Column("resemblance", sa.Float),
        sa.Column("containment", sa.Float),
        sa.Column("first_seen", sa.BigInteger, nullable=False),
        sa.Column("last_seen", sa.BigInteger, nullable=False),
        sa.Column("run_id", _ID, sa.ForeignKey("runs.id")),
        sqlite_autoincrement=True,
    )
    op.create_index("pages_url_key", "pages", ["url_key", "scope"], unique=True)
    op.create_index(
        "pages_text_hash",
        "pages",
        ["text_hash"],
        sqlite_where=sa.text("status <> 'exact'"),
        postgresql_where=sa.text("status <> 'exact'"),
    )
    op.create_index(
        "pages_original",
        "pages",
        ["original_id", "status"],
        sqlite_where=sa.text("original_id IS NOT NULL"),
        postgresql_where=sa.text("original_id IS NOT NULL"),
    )
    op.create_table(
        "bands",
        sa.Column("key", sa.BigInteger, primary_key=True),
        sa.Column("page_id", _ID, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "texts",
        sa.Column("page_id", _ID, sa.ForeignKey("pages.id"), primary_key=True, autoincrement=False),
        sa.Column("zlib", sa.LargeBinary, nullable=False),
    )
