"""A store in a PostgreSQL database, in which many crawlers write at once."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import create_engine, event, inspect

from shingling.errors import StoreError
from shingling.store.backends.base import (
    Committed,
    Database,
    NeedsExclusiveWriterError,
    Postings,
    RetryReason,
)
from shingling.store.schema.tables import (
    database_error,
    execute,
    execute_each,
    fetch_rows,
    metadata,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import URL, Connection, Table
    from sqlalchemy.exc import DBAPIError

    from shingling.arrays import Integers


# A server at its defaults has room for 6400 locks; other programs need some as well.
MAX_LOCKS = 1024
STORE_LOCK = 0x5348_494E_474C_4501  # any number that keys are unlikely to be
COMMIT_LOCK = STORE_LOCK + 1
MAX_TURN = "30s"  # of somebody who does not commit, then the server ends the session
NOTED_TRANSACTIONS = 1000  # a transaction that takes longer than so many others begins again
# Of libpq, unless the URL has others: a server that has vanished without a word is noticed.
CONNECTION_PARAMETERS = {
    "connect_timeout": "10",  # seconds
    "keepalives_idle": "30",  # seconds
    "keepalives_interval": "10",  # seconds
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",  # milliseconds
}

# Advisory locks belong to a database, which may hold a store in each of its schemas.
LOCK_SALT = "hashtextextended(current_schema(), 0)"
_TAKE_TURN = f"SELECT pg_advisory_xact_lock_shared(? # {LOCK_SALT})"
_TAKE_ALL = f"SELECT pg_advisory_xact_lock(? # {LOCK_SALT})"
_LOCK = (
    f"SELECT count(pg_advisory_xact_lock(key # {LOCK_SALT})), (SELECT max(number) FROM commits)"  # noqa: S608 (ours)
    " FROM unnest(CAST(? AS bigint[])) AS wanted(key)"
)
_SINCE = "SELECT number, page_ids FROM commits WHERE number > ?"
_TAKE_COMMIT_TURN = (
    "SELECT set_config('idle_in_transaction_session_timeout', ?, true),"
    f" pg_advisory_xact_lock(? # {LOCK_SALT})"
)
_NOTE = (
    f"WITH others AS ({_SINCE}), noted AS ("  # noqa: S608 (ours)
    " INSERT INTO commits SELECT coalesce(max(number), ?) + 1, ? FROM others"
    "), removed AS (DELETE FROM commits WHERE number <= ?) SELECT number, page_ids FROM others"
)
_ALLOCATE = "SELECT nextval(pg_get_serial_sequence('pages', 'id')) FROM generate_series(1, ?)"
_RESTORED = [
    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), greatest(max(id), 1),"  # noqa: S608 (ours)
    f" max(id) IS NOT NULL) FROM {table}"
    for table in ("pages", "runs", "rules")
]
_ENTRIES = "unnest(CAST(? AS bigint[]), CAST(? AS bigint[])) AS given(key, page_id)"
_BYTES = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY(?)"
)

LOCK_TIMEOUT_SECONDS = 20  # of one statement; then Database.write tries again

# SQLSTATE codes (PostgreSQL's manual, appendix A); 53200: others have taken the memory for locks.
_CONFLICT_CODES = {"40001", "40P01", "53200"}
_AWAY_CODES = {"57P01", "57P02", "57P03", "53300", "55P03"}
# What messages say of a server that lets nobody in for a while, and of one that cannot be reached.
_BUSY_SIGNS = (
    *("starting up", "shutting down", "recovery mode", "not yet accepting"),
    *("too many", "connection slots", "no more connections", "max clients"),
)
_AWAY_SIGNS = (
    *("refused", "No such file", "closed", "timeout", "lost", "reset"),
    *("unreachable", "No route to host"),
)

_ENCODING = "UTF8"
_SET_UP_AS = (
    "SELECT current_setting('server_encoding'), current_setting('default_transaction_read_only')"
)


class PostgresDatabase(Database):
    """A database or schema on a server, in which transactions write at the same time."""

    dialect, driver = "postgresql", "psycopg"
    example_url = "postgresql+psycopg://user@host/name"
    several_writers = True

    def __init__(self, url: URL) -> None:
        url = url.set(drivername=f"{self.dialect}+{self.driver}")
        super().__init__(url)
        query = {**CONNECTION_PARAMETERS, **url.query, "client_encoding": _ENCODING}
        url = url.set(query=query)
        self.engine = create_engine(url, isolation_level="READ COMMITTED", pool_pre_ping=True)
        self._has_answered = False
        event.listen(self.engine, "connect", _set_up)
        self.trial = self.engine.execution_options(isolation_level="REPEATABLE READ")
        self.reader = self.trial.execution_options(postgresql_readonly=True)

    @classmethod
    def check_url(cls, url: URL) -> None:  # noqa: ARG003 (libpq checks it)
        """Accept any URL: its parameters are those of libpq.

        Raises:
            StoreError: the driver is not installed.
        """
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise StoreError(
                'PostgreSQL needs psycopg 3: pip install "psycopg[binary]" (extra postgres)'
            ) from error

    def is_there(self) -> bool:
        """Whether a store is in the schema that comes first on the search path.

        If there is no server, nobody waits for it; but for one that answers that it is busy. Where
        transactions are read-only by default, they stay so: a connection that has read would write.

        Raises:
            StoreError: tables of something else have the names of the store's, or the database
                cannot keep every text.
        """
        ((encoding, read_only),), tables = self.read(
            lambda connection: (
                fetch_rows(connection, _SET_UP_AS),
                {*inspect(connection).get_table_names()},
            )
        )
        self._has_answered = True
        if read_only == "on":
            self.refuse_writes()
        if encoding != _ENCODING:
            raise StoreError(
                f"{self.where}: the database is in {encoding}, a store needs {_ENCODING}; make one"
                f" by CREATE DATABASE dedup ENCODING '{_ENCODING}' TEMPLATE template0"
            )
        own = {*metadata.tables, "alembic_version"}
        if not tables & own:
            return False
        if not {"alembic_version", "scheme", "pages"} <= tables:
            taken = ", ".join(sorted(tables & own))
            raise StoreError(
                f"{self.where}: tables of something else are there ({taken}); give the store a"
                " database of its own, or a schema: ?options=-csearch_path%3Ddedup"
            )
        return True

    def take_turn(self, connection: Connection, *, alone: bool) -> None:
        """Wait for a transaction that writes alone; or for all others, which then wait."""
        execute_each(connection, _TAKE_ALL if alone else _TAKE_TURN, [(STORE_LOCK,)])

    def lock(self, connection: Connection, keys: Sequence[int]) -> int:
        """Lock keys, in their order; read the number of the last transaction.

        Raises:
            NeedsExclusiveWriterError: they would take too much of the server's memory for locks.
        """
        if len(keys) > MAX_LOCKS:
            raise NeedsExclusiveWriterError
        ((_, last),) = fetch_rows(connection, _LOCK, [*keys])
        return int(last or 0)

    def committed_since(self, connection: Connection, last: int) -> Committed:
        """Read which pages other transactions have noted."""
        return _committed(last, fetch_rows(connection, _SINCE, last))

    def take_commit_turn(self, connection: Connection, last: int, ids: Sequence[int]) -> Committed:
        """Lock the turn to commit until the transaction ends, and note its pages."""
        noted = last, last, np.array(ids, "<i8").tobytes(), last - NOTED_TRANSACTIONS
        fetch_rows(connection, _TAKE_COMMIT_TURN, MAX_TURN, COMMIT_LOCK)
        return _committed(last, fetch_rows(connection, _NOTE, *noted))

    @contextmanager
    def together(self, connection: Connection) -> Iterator[None]:
        """Send the statements of the block together; libpq 14 and newer can."""
        from psycopg import Pipeline

        opened: Any = connection.connection.dbapi_connection
        pipeline = opened.pipeline() if Pipeline.is_supported() else nullcontext()
        try:
            with pipeline:
                yield
        except connection.dialect.loaded_dbapi.Error as error:
            raise database_error(connection, error) from error

    def postings(self, connection: Connection, table: Table) -> Postings:
        """Table of keys, read and written by arrays."""
        return PostgresPostings(connection, table)

    def allocate(self, connection: Connection, count: int) -> list[int]:
        """Take the next numbers of the sequence, which other transactions do not get."""
        return sorted(number for (number,) in fetch_rows(connection, _ALLOCATE, count))

    def ids_restored(self, connection: Connection) -> None:
        """Set the sequences to the highest ids, and count what the planner goes by.

        By itself PostgreSQL counts after a minute or more: until then it reads whole tables.
        """
        for restored in _RESTORED:
            execute(connection, restored)
        execute(connection, f"ANALYZE {', '.join(metadata.tables)}")

    def bytes(self, connection: Connection) -> int:
        """Size of the tables and their indexes."""
        ((total,),) = fetch_rows(connection, _BYTES, sorted(metadata.tables))
        return int(total or 0)

    def refuse_writes(self) -> None:
        """Begin no transaction but READ ONLY ones."""
        self.engine = self.engine.execution_options(postgresql_readonly=True)

    def backup(self, file: str) -> None:
        """Refuse it: PostgreSQL has a program of its own for it."""
        raise StoreError(
            f"{self.where}: PostgreSQL is backed up by pg_dump: pg_dump --format=custom"
            f" --file={file} NAME_OF_THE_DATABASE"
        )

    def checkpoint(self) -> None:
        """Do nothing: nobody copies the files of a server that runs."""

    def vacuum(self) -> None:
        """Free the space of removed rows for new ones, and refresh the planner's statistics."""
        with (
            self._named_errors(),
            self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
        ):
            for name in metadata.tables:
                connection.exec_driver_sql(f'VACUUM (ANALYZE) "{name}"')

    def retry_reason(self, error: DBAPIError) -> RetryReason | None:
        """Tell failures apart by their SQLSTATE."""
        state: str | None = getattr(error.orig, "sqlstate", None)
        if state in _CONFLICT_CODES:
            return RetryReason.CONFLICT
        if state in _AWAY_CODES or (state or "").startswith("08") or error.connection_invalidated:
            return RetryReason.UNAVAILABLE
        # psycopg has no SQLSTATE for a connection that was not made.
        if state is not None or type(error.orig).__name__ != "OperationalError":
            return None
        signs = (*_BUSY_SIGNS, *_AWAY_SIGNS) if self._has_answered else _BUSY_SIGNS
        message = str(error.orig)
        return RetryReason.UNAVAILABLE if any(sign in message for sign in signs) else None


def _committed(last: int, noted: Iterable[Sequence[Any]]) -> Committed:
    """Pages that transactions after the last one have noted."""
    ids_by_number: dict[int, bytes] = dict(map(tuple, noted))
    if not ids_by_number:
        return Committed(last, [])
    if min(ids_by_number) > last + 1:  # some were removed
        return Committed(max(ids_by_number), None)
    return Committed(
        max(ids_by_number), np.frombuffer(b"".join(ids_by_number.values()), "<i8").tolist()
    )


for _table in metadata.tables.values():
    for _index in _table.indexes:  # named there, they would load this dialect for SQLite as well
        _index.dialect_kwargs["postgresql_where"] = _index.dialect_options["sqlite"]["where"]


class PostgresPostings(Postings):
    """A table of keys, read and written by arrays: one statement for any number of keys."""

    def _select(self, keys: Sequence[int], most: int) -> Mapping[int, Collection[int]]:
        query = (
            "SELECT wanted.key, found.page_id FROM unnest(CAST(? AS bigint[])) AS wanted(key),"  # noqa: S608 (our table)
            f" LATERAL (SELECT page_id FROM {self._table} AS own WHERE own.key = wanted.key"
            " ORDER BY page_id LIMIT ?) AS found"
        )
        ids = defaultdict[int, list[int]](list)
        for key, page_id in fetch_rows(self._connection, query, _array(np.array(keys)), most):
            ids[key].append(page_id)
        return ids

    def _change(self, gone: Integers, come: Integers) -> None:
        self._write(
            f"DELETE FROM {self._table} AS own USING {_ENTRIES}"  # noqa: S608 (our table)
            " WHERE own.key = given.key AND own.page_id = given.page_id",
            gone,
        )
        self.fill(come)

    def fill(self, entries: Integers) -> None:
        """Insert many entries at once."""
        self._write(
            f"INSERT INTO {self._table} SELECT * FROM {_ENTRIES} ON CONFLICT DO NOTHING",  # noqa: S608 (our table)
            entries,
        )

    def _write(self, statement: str, entries: Integers) -> None:
        keys, ids = entries
        if len(keys):
            # In key order: neighbours in the index are written together.
            order = np.lexsort((ids, keys))
            execute_each(self._connection, statement, [(_array(keys[order]), _array(ids[order]))])


def _array(values: Integers) -> str:
    """Write numbers as an array in PostgreSQL's syntax: sent as a list, they take much longer."""
    return "{" + str(values.tolist())[1:-1] + "}"


def _set_up(connection: Any, _record: object) -> None:
    """Limit how long a session waits for a lock, unless the URL does."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('lock_timeout', %s, false)"
            " WHERE current_setting('lock_timeout') = '0'",
            (f"{LOCK_TIMEOUT_SECONDS}s",),
        )
    connection.commit()
