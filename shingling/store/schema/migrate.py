"""Make the tables of a new store, and bring those of an old one up to date by Alembic."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    insert,
    inspect,
    select,
)

from shingling.errors import StoreVersionError
from shingling.store.schema.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection


def migrations_folder() -> Path:
    """Folder of the migrations: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    inside = package / "migrations"
    return inside if inside.is_dir() else package.parent / "migrations"


_REVISIONS = {path.name[:5] for path in migrations_folder().glob("versions/r*.py")}
HEAD = max(_REVISIONS)
"""Revision of the tables of this release: the highest number of a migration."""

# As Alembic makes it.
_version = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def current_revision(connection: Connection) -> str | None:
    """Revision of the tables, or None for an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(select(_version.c.version_num))
    return revision


def upgrade(connection: Connection) -> None:
    """Bring the tables to this release's revision, within the connection's transaction.

    Raises:
        StoreVersionError: another release has written the store, and this one does not know its
            revision.
    """
    before = current_revision(connection)
    # The usual cases do not pay for the import of Alembic.
    if before == HEAD:
        return
    if before is None:
        for tables in (metadata, _version.metadata):
            tables.create_all(connection, checkfirst=False)  # another's of that name is an error
        connection.execute(insert(_version).values(version_num=HEAD))
        return
    require_known(before)
    # Alembic reports at INFO what is no news to somebody who runs a crawl.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def require_known(revision: str) -> None:
    """Check that a store has the revision of this release, or of an earlier one.

    Raises:
        StoreVersionError: it has not.
    """
    if revision not in _REVISIONS:
        raise StoreVersionError(
            f"the store has revision {revision}, which this release of scrapy-shingling does not"
            f" know (its own is {HEAD}): install the release that has written the store, or use"
            " another DEDUP_STORE_URL"
        )


def alembic_config(connection: Connection) -> Config:
    """Configure Alembic's commands to use this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
