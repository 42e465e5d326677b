"""Open the database of a store, whether it is there, old, or still to be made."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from shingling.errors import NoStoreError, SchemeError, StoreError
from shingling.sketch import Scheme
from shingling.store.backends.base import AgainError, Trouble
from shingling.store.backends.engine import database_of, parse_url
from shingling.store.backends.sqlite import sqlite_path
from shingling.store.index.keys import Index
from shingling.store.schema.migrate import HEAD, current_revision, refuse_newer, upgrade
from shingling.store.schema.tables import scheme as scheme_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shingling.store.backends.base import Database
    from shingling.store.model import Rules


logger = logging.getLogger(__name__)

_ALIVE = 30  # seconds after which a rebuild that notes nothing was interrupted
_INDEX = select(
    scheme_table.c.indexed,
    scheme_table.c.bands,
    scheme_table.c.rows,
    scheme_table.c.sampled,
    scheme_table.c.rebuilding,
)


def open_database(
    url: str, scheme: Scheme | None, rules: Rules, *, create: bool
) -> tuple[Database, Scheme, Index]:
    """Return the database of a store, and what the store was made with.

    Arguments and errors are those of `Store.open`.
    """
    database = database_of(parse_url(url))
    where = database.where

    def make(connection: Connection) -> tuple[Scheme, Index]:
        """Bring the tables up to date, all or nothing."""
        upgrade(connection)
        stored = read_scheme(connection)
        if stored is None:
            chosen = scheme or Scheme()
            stored = _write_scheme(connection, chosen, Index.for_rules(rules, chosen))
        _check_scheme(scheme, stored[0], where)
        return stored

    try:
        if not database.is_there() and not create:
            raise NoStoreError(f"{where}: there is no store yet; a crawl makes one")
        stored = database.read(_read_current)
        if stored is None:
            stored = database.write(make, alone=True)
        _check_scheme(scheme, stored[0], where)
        if scheme is not None:  # it is going to sign
            _check_packs(database, stored[0])
    except BaseException:
        database.close()
        raise
    return database, *stored


def look_at_store(url: str, scheme: Scheme, rules: Rules) -> None:
    """See whether the store in a SQLite file can be used; nothing is changed, or made.

    One that is not there will be made; a server is not asked, since it may come back.

    Raises:
        StoreError: it cannot be opened.
        StoreVersionError: it was written by a newer release.
        SchemeError: its signatures were made under another scheme.
        BandingError: its index does not find what the rules look for.
    """
    parsed = parse_url(url)
    if sqlite_path(parsed) is None:
        return
    database = database_of(parsed)

    def look(connection: Connection) -> None:
        revision = current_revision(connection)
        if revision is not None:
            refuse_newer(revision)
        stored = read_scheme(connection) if revision == HEAD else None
        if stored is not None:  # an older one is brought up to date when it is opened
            _check_scheme(scheme, stored[0], database.where)
            stored[1].require(rules)

    try:
        if database.is_there():
            database.read(look)
    finally:
        database.close()


def _read_current(connection: Connection) -> tuple[Scheme, Index] | None:
    """Return what the store was made with, or None where the tables are not this release's."""
    return read_scheme(connection) if current_revision(connection) == HEAD else None


def read_scheme(connection: Connection) -> tuple[Scheme, Index] | None:
    """Return the scheme and the index of a store; None where it has none yet."""
    row = connection.execute(select(scheme_table)).mappings().one_or_none()
    if row is None:
        return None
    return Scheme.from_json(row["parameters"]), read_index(connection)


def read_index(connection: Connection, *, writing: bool = False) -> Index:
    """Return the index of a store that has one.

    Args:
        connection: to the store.
        writing: whether pages are going to be changed.

    Raises:
        StoreError: they must not be, because a rebuild has begun and not ended.
    """
    *index, rebuilding = connection.execute(_INDEX).one()
    if writing and rebuilding is not None:
        refuse(rebuilding)
    return Index.stored(*index)


def refuse(rebuilding: str) -> None:
    """Have nobody write while a rebuild is under way; a dry run is in nobody's way.

    Raises:
        AgainError: it is worth waiting for.
        StoreError: it was interrupted.
    """
    state = json.loads(rebuilding)
    if state["dry_run"]:
        return
    moment = datetime.fromtimestamp(state["began"], UTC)
    line = f"a rebuild of the store began at {moment:%Y-%m-%d %H:%M} UTC and has not ended"
    if time.time() - state["noted"] < _ALIVE:
        raise AgainError(line, Trouble.AWAY)
    raise StoreError(f"{line}: run `scrapy dedup rebuild --resume`, or `--abandon`")


def _write_scheme(connection: Connection, scheme: Scheme, index: Index) -> tuple[Scheme, Index]:
    connection.execute(
        insert(scheme_table).values(
            id=scheme.id,
            parameters=scheme.to_json(),
            created=int(time.time()),
            packs=json.dumps(scheme.canonical.versions()),
            **index.columns(),
        )
    )
    return scheme, index


def _check_scheme(asked: Scheme | None, stored: Scheme, where: str) -> None:
    """Refuse another scheme than the store's; of the version, the store's own holds."""
    if asked is not None and not asked.is_version_of(stored):
        raise SchemeError(
            f"{where}: its signatures were made with {_shown(stored)}, asked for is"
            f" {_shown(asked)}; set them to the former, or use another DEDUP_STORE_URL"
        )


def _check_packs(database: Database, scheme: Scheme) -> None:
    """Warn where signatures were made with other versions of language packs."""
    packs = database.read(lambda connection: connection.scalar(select(scheme_table.c.packs)))
    then: dict[str, str] = json.loads(packs or "{}")
    for pack, now in scheme.canonical.versions().items():
        if pack in then and then[pack] != now:
            logger.warning(
                "%s: its signatures were made with %s %s, installed is %s, which may give other"
                " words: texts that were signed before may look less alike",
                database.where,
                pack,
                then[pack],
                now,
            )


def _shown(scheme: Scheme) -> str:
    parameters = scheme.shown()
    size = parameters.pop("shingle_size")
    del parameters["version"]
    return f"DEDUP_SHINGLE_SIZE = {size}, DEDUP_SCHEME = {parameters}"
