"""Open the database of a store, whether it is there, old, or still to be made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from shingling.errors import SchemeError, StoreError
from shingling.sketch import Banding, Scheme
from shingling.store._engine import (
    check_file,
    connect,
    named_errors,
    parse_url,
    patiently,
    sqlite_path,
)
from shingling.store._migrate import HEAD, current_revision, upgrade
from shingling.store._tables import scheme as scheme_table

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine


def open_database(
    url: str, scheme: Scheme | None, threshold: float, *, create: bool
) -> tuple[Engine, URL, Scheme, Banding]:
    """Return the engine of a store, its parsed URL, and what it was made with.

    Arguments and errors are those of `Store.open`.
    """
    parsed = parse_url(url)
    path = sqlite_path(parsed)
    if path is not None:  # the working directory may change
        parsed = parsed.set(database=str(path.absolute()))
    where = parsed.render_as_string(hide_password=True)
    if not (path is not None and check_file(path)) and not create:
        raise StoreError(f"{where}: there is no store yet; a crawl makes one")
    with named_errors(where):
        engine = connect(parsed)
        try:
            stored = patiently(lambda: _read_current(engine))
            if stored is None:
                stored = patiently(lambda: _upgrade(engine, scheme, threshold, where))
            _check_scheme(scheme, stored[0], where)
        except BaseException:
            engine.dispose()
            raise
    return engine, parsed, *stored


def _read_current(engine: Engine) -> tuple[Scheme, Banding] | None:
    """Return what the store was made with, or None where the tables are not this release's."""
    with engine.execution_options(reading=True).begin() as connection:
        return read_scheme(connection) if current_revision(connection) == HEAD else None


def _upgrade(
    engine: Engine, scheme: Scheme | None, threshold: float, where: str
) -> tuple[Scheme, Banding]:
    """Bring the tables up to date, all or nothing, and return what the store was made with."""
    with engine.begin() as connection:
        upgrade(connection)
        stored = read_scheme(connection) or _write_scheme(
            connection, scheme or Scheme(), Banding.for_threshold(threshold)
        )
        _check_scheme(scheme, stored[0], where)
    return stored


def read_scheme(connection: Connection) -> tuple[Scheme, Banding] | None:
    """Return the scheme and the banding of a store; None where it has none yet."""
    row = connection.execute(select(scheme_table)).mappings().one_or_none()
    if row is None:
        return None
    return Scheme.from_json(row["parameters"]), Banding(row["bands"], row["rows"])


def _write_scheme(
    connection: Connection, scheme: Scheme, banding: Banding
) -> tuple[Scheme, Banding]:
    connection.execute(
        insert(scheme_table).values(
            id=scheme.id,
            parameters=scheme.to_json(),
            bands=banding.bands,
            rows=banding.rows,
            created=int(time.time()),
        )
    )
    return scheme, banding


def _check_scheme(asked: Scheme | None, stored: Scheme, where: str) -> None:
    if asked is not None and asked != stored:
        raise SchemeError(
            f"{where}: its signatures were made with {stored}, asked for is {asked};"
            " set DEDUP_SHINGLE_SIZE to the former, or use another DEDUP_STORE_URL"
        )
