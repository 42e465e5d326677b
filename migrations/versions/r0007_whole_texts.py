"""Exact hashes of whole texts, where all texts are stored; else the store stays as it is."""

from __future__ import annotations

from alembic import op

from shingling.store.schema.whole_texts import hash_whole_texts

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the hashes anew; exact duplicates that are none by them become near ones."""
    hash_whole_texts(op.get_bind())
