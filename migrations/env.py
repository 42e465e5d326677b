"""Run the migrations on the connection that the store hands over, inside its transaction."""

from __future__ import annotations

from typing import Any

from alembic import context

from shingling.store.schema.tables import metadata

connection = context.config.attributes["connection"]


def _check_foreign_keys(*_: Any, **__: Any) -> None:
    """Have PostgreSQL check now what a revision has written, so that the next may alter tables."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET CONSTRAINTS ALL IMMEDIATE")
        connection.exec_driver_sql("SET CONSTRAINTS ALL DEFERRED")


context.configure(
    connection=connection,
    target_metadata=metadata,
    transactional_ddl=True,
    on_version_apply=_check_foreign_keys,
)
with context.begin_transaction():
    context.run_migrations()
