"""Open the database of a store, whether it is there, old, or still to be made."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from shingling.errors import NoStoreError, SchemeError
from shingling.sketch import Scheme
from shingling.store._engine import (
    check_file,
    connect,
    named_errors,
    parse_url,
    patiently,
    sqlite_path,
)
from shingling.store._index import Index
from shingling.store._migrate import HEAD, current_revision, upgrade
from shingling.store._tables import scheme as scheme_table

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

    from shingling.store._values import Rules


logger = logging.getLogger(__name__)


def open_database(
    url: str, scheme: Scheme | None, rules: Rules, *, create: bool
) -> tuple[Engine, URL, Scheme, Index]:
    """Return the engine of a store, its parsed URL, and what it was made with.

    Arguments and errors are those of `Store.open`.
    """
    parsed = parse_url(url)
    path = sqlite_path(parsed)
    if path is not None:  # the working directory may change
        parsed = parsed.set(database=str(path.absolute()))
    where = parsed.render_as_string(hide_password=True)
    if not (path is not None and check_file(path)) and not create:
        raise NoStoreError(f"{where}: there is no store yet; a crawl makes one")
    with named_errors(where):
        engine = connect(parsed)
        try:
            stored = patiently(lambda: _read_current(engine))
            if stored is None:
                stored = patiently(lambda: _upgrade(engine, scheme, rules, where))
            _check_scheme(scheme, stored[0], where)
            if scheme is not None:  # it is going to sign
                patiently(lambda: _check_packs(engine, stored[0], where))
        except BaseException:
            engine.dispose()
            raise
    return engine, parsed, *stored


def _read_current(engine: Engine) -> tuple[Scheme, Index] | None:
    """Return what the store was made with, or None where the tables are not this release's."""
    with engine.execution_options(reading=True).begin() as connection:
        return read_scheme(connection) if current_revision(connection) == HEAD else None


def _upgrade(
    engine: Engine, scheme: Scheme | None, rules: Rules, where: str
) -> tuple[Scheme, Index]:
    """Bring the tables up to date, all or nothing, and return what the store was made with."""
    with engine.begin() as connection:
        upgrade(connection)
        stored = read_scheme(connection)
        if stored is None:
            chosen = scheme or Scheme()
            stored = _write_scheme(connection, chosen, Index.for_rules(rules, chosen))
        _check_scheme(scheme, stored[0], where)
    return stored


def read_scheme(connection: Connection) -> tuple[Scheme, Index] | None:
    """Return the scheme and the index of a store; None where it has none yet."""
    row = connection.execute(select(scheme_table)).mappings().one_or_none()
    if row is None:
        return None
    return Scheme.from_json(row["parameters"]), read_index(connection)


def read_index(connection: Connection) -> Index:
    """Return the index of a store that has one."""
    columns = scheme_table.c
    query = select(columns.indexed, columns.bands, columns.rows, columns.sampled)
    return Index.stored(*connection.execute(query).one())


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
    if asked is not None and asked != stored:
        raise SchemeError(
            f"{where}: its signatures were made with {_shown(stored)}, asked for is"
            f" {_shown(asked)}; set them to the former, or use another DEDUP_STORE_URL"
        )


def _check_packs(engine: Engine, scheme: Scheme, where: str) -> None:
    """Warn where signatures were made with other versions of language packs."""
    with engine.execution_options(reading=True).begin() as connection:
        then: dict[str, str] = json.loads(connection.scalar(select(scheme_table.c.packs)) or "{}")
    for pack, now in scheme.canonical.versions().items():
        if pack in then and then[pack] != now:
            logger.warning(
                "%s: its signatures were made with %s %s, installed is %s, which may give other"
                " words: texts that were signed before may look less alike",
                where,
                pack,
                then[pack],
                now,
            )


def _shown(scheme: Scheme) -> str:
    parameters = scheme.shown()
    size = parameters.pop("shingle_size")
    del parameters["version"]
    return f"DEDUP_SHINGLE_SIZE = {size}, DEDUP_SCHEME = {parameters}"
