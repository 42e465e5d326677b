"""Recent keys, reviews, and the tables that a rebuild fills."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables; pages and their keys stay as they are."""
    op.add_column("scheme", sa.Column("rebuilding", sa.Text))
    op.create_table(
        "logs",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("written", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "recent",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("slice", sa.SmallInteger, primary_key=True),
        sa.Column("batch", sa.BigInteger, primary_key=True),
        sa.Column("entries", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "filters",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("slice", sa.SmallInteger, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("merged", sa.BigInteger, nullable=False),
        sa.Column("words", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "full_keys",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("key", sa.BigInteger, primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "reviews",
        sa.Column("a_key", sa.LargeBinary(16), primary_key=True),
        sa.Column("b_key", sa.LargeBinary(16), primary_key=True),
        sa.Column("a_url", sa.Text, nullable=False),
        sa.Column("b_url", sa.Text, nullable=False),
        sa.Column("same", sa.Boolean, nullable=False),
        sa.Column("note", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_index("reviews_b_key", "reviews", ["b_key"])
    _make_next_tables()


def _make_next_tables() -> None:
    op.create_table(
        "next_pages",
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
        sa.Column("original_id", _ID),
        sa.Column("resemblance", sa.Float),
        sa.Column("containment", sa.Float),
        sa.Column("first_seen", sa.BigInteger, nullable=False),
        sa.Column("last_seen", sa.BigInteger, nullable=False),
        sa.Column("run_id", _ID),
    )
    op.create_index("next_pages_url_key", "next_pages", ["url_key", "scope"], unique=True)
    op.create_index(
        "next_pages_text_hash",
        "next_pages",
        ["text_hash"],
        sqlite_where=sa.text("status <> 'exact'"),
        postgresql_where=sa.text("status <> 'exact'"),
    )
    op.create_index(
        "next_pages_original",
        "next_pages",
        ["original_id", "status"],
        sqlite_where=sa.text("original_id IS NOT NULL"),
        postgresql_where=sa.text("original_id IS NOT NULL"),
    )
    for name in ("next_bands", "next_samples"):
        op.create_table(
            name,
            sa.Column("key", sa.BigInteger, primary_key=True),
            sa.Column("page_id", _ID, primary_key=True),
            sqlite_with_rowid=False,
        )
