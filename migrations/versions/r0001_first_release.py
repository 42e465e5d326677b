"""The tables of the first release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import op

if TYPE_CHECKING:
    from collections.abc import Iterator

revision = "r0001"
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
        sa.Column("indexed", sa.Text, nullable=False, server_default="minima"),
        sa.Column("sampled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("packs", sa.Text, nullable=False, server_default="{}"),
        sa.Column("extractors", sa.Text, nullable=False, server_default="[]"),
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
        "verdicts",
        sa.Column("run_id", _ID, primary_key=True, autoincrement=False),
        sa.Column("page_id", _ID, primary_key=True, autoincrement=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("original_id", _ID),
        sa.Column("resemblance", sa.Float),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_counts",
        sa.Column("run_id", _ID, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    _make_pages()
    _make_index()
    _make_sites()
    op.create_table(
        "rules",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("parameters", sa.Text, nullable=False, unique=True),
        sqlite_autoincrement=True,
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


def _make_pages() -> None:
    original = sa.ForeignKey("pages.id", deferrable=True, initially="DEFERRED")
    run = sa.ForeignKey("runs.id")
    op.create_table("pages", *_page_columns(original, run), sqlite_autoincrement=True)
    op.create_index("pages_url_key", "pages", ["url_key", "scope"], unique=True)
    _make_partial_index("pages_text_hash", "pages", ["text_hash"], "status <> 'exact'")
    columns = ["original_id", "status"]
    _make_partial_index("pages_original", "pages", columns, "original_id IS NOT NULL")
    op.create_table(
        "texts",
        sa.Column("page_id", _ID, sa.ForeignKey("pages.id"), primary_key=True, autoincrement=False),
        sa.Column("zlib", sa.LargeBinary, nullable=False),
        sa.Column("body_key", sa.LargeBinary(16)),
    )
    _make_partial_index("texts_body_key", "texts", ["body_key"], "body_key IS NOT NULL")


def _page_columns(original: sa.ForeignKey, run: sa.ForeignKey) -> Iterator[sa.Column[Any]]:
    yield sa.Column("id", _ID, primary_key=True)
    yield sa.Column("scope", sa.Text, nullable=False)
    yield sa.Column("url", sa.Text, nullable=False)
    yield sa.Column("url_key", sa.LargeBinary(16), nullable=False)
    yield sa.Column("site", sa.Text, nullable=False)
    yield sa.Column("title", sa.Text)
    yield sa.Column("language", sa.Text)
    yield sa.Column("words", sa.Integer, nullable=False)
    yield sa.Column("text_hash", sa.LargeBinary(16), nullable=False)
    yield sa.Column("minima", sa.LargeBinary(336), nullable=False)
    yield sa.Column("simhash", sa.BigInteger, nullable=False)
    yield sa.Column("status", sa.Text, nullable=False)
    yield sa.Column("last_verdict", sa.Text, nullable=False)
    yield sa.Column("original_id", _ID, original)
    yield sa.Column("resemblance", sa.Float)
    yield sa.Column("containment", sa.Float)
    yield sa.Column("first_seen", sa.BigInteger, nullable=False)
    yield sa.Column("last_seen", sa.BigInteger, nullable=False)
    yield sa.Column("run_id", _ID, run)
    yield sa.Column("source", sa.Text)
    yield sa.Column("fields", sa.LargeBinary)
    yield sa.Column("last_run_id", _ID)
    yield sa.Column("reason", sa.Text)
    yield sa.Column("compared_id", _ID)
    yield sa.Column("rules_id", _ID)


def _make_partial_index(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def _make_index() -> None:
    """Make the tables of the keys that pages are found by."""
    for table in ("bands", "samples"):
        op.create_table(
            table,
            sa.Column("key", sa.BigInteger, primary_key=True),
            sa.Column("page_id", _ID, primary_key=True),
            sqlite_with_rowid=False,
        )
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
        "commits",
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("page_ids", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "full_keys",
        sa.Column("key", sa.BigInteger, primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )


def _make_sites() -> None:
    """Make the tables of what is learned of sites and their URLs."""
    op.create_table(
        "site_blocks",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("entries", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("site_blocks_site", "site_blocks", ["site", "id"])
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
    )
    op.create_index("url_rules_site", "url_rules", ["site"])
