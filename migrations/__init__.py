"""Alembic migrations of the signature store; `Store.open` runs them."""
