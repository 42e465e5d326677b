"""Run the migrations on the connection that the store hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from shingling.store.schema.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
