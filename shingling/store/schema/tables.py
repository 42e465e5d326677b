"""The tables of a new store, and statements about many of their rows at once.

The migrations make the same tables of a store of an earlier release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    false,
    text,
)
from sqlalchemy.exc import DBAPIError

from shingling.store.schema.rows import PAGE_FIELDS, ROW_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

metadata = MetaData()
temporary = MetaData()
"""Tables of one transaction, in which all pages are decided again: `NEXT`."""

scheme = Table(
    "scheme",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("parameters", Text, nullable=False),  # JSON
    Column("bands", SmallInteger, nullable=False),
    Column("rows", SmallInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    # What the bands are made of: 84 minima, or a SimHash, whose rows are bits.
    Column("indexed", Text, nullable=False, server_default="minima"),
    Column("sampled", Boolean, nullable=False, server_default=false()),  # samples are kept
    Column("packs", Text, nullable=False, server_default="{}"),  # JSON: versions of language packs
    # JSON: names of the extractors of the texts, the last one last.
    Column("extractors", Text, nullable=False, server_default="[]"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("spider", Text, nullable=False),
    Column("started", BigInteger, nullable=False),  # times are seconds since 1970, UTC
    Column("finished", BigInteger),  # until there is an outcome: when it last wrote
    Column("outcome", Text),  # why it ended; NULL while it runs or after a crash
    Column("counts", Text, nullable=False),  # JSON: pages by verdict
    Column("settings", Text, nullable=False),  # JSON
    sqlite_autoincrement=True,
)

# What each run has said of the pages that it has met: see `shingling.store.verdicts`.
verdicts = Table(
    "verdicts",
    metadata,
    Column("run_id", ROW_ID, primary_key=True, autoincrement=False),
    Column("page_id", ROW_ID, primary_key=True, autoincrement=False),
    Column("verdict", Text, nullable=False),
    Column("status", Text, nullable=False),  # as which the page stood then
    Column("reason", Text),
    Column("original_id", ROW_ID),
    Column("resemblance", Float),
    sqlite_with_rowid=False,
)

# Numbers of the pages in `verdicts`, as counted at the end of a run.
run_counts = Table(
    "run_counts",
    metadata,
    Column("run_id", ROW_ID, primary_key=True, autoincrement=False),
    Column("name", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

_TEMPORARY = ["TEMPORARY"]


def _page_columns() -> Iterator[Column[Any]]:
    for name, column in PAGE_FIELDS.items():
        yield Column(name, column.sql, primary_key=name == "id", nullable=column.nullable)


def _partial_index(name: str, *columns: Column[Any], where: str) -> None:
    """Index the rows of a table that fulfil a condition."""
    Index(name, *columns, sqlite_where=text(where))


pages = Table(
    "pages",
    metadata,
    *_page_columns(),
    ForeignKeyConstraint(["original_id"], ["pages.id"], deferrable=True, initially="DEFERRED"),
    ForeignKeyConstraint(["run_id"], ["runs.id"]),
    sqlite_autoincrement=True,
)
next_pages = Table("next_pages", temporary, *_page_columns(), prefixes=_TEMPORARY)

for _pages in (pages, next_pages):
    Index(f"{_pages}_url_key", _pages.c.url_key, _pages.c.scope, unique=True)
    _partial_index(f"{_pages}_text_hash", _pages.c.text_hash, where="status <> 'exact'")
    _partial_index(
        f"{_pages}_original",
        *(_pages.c.original_id, _pages.c.status),
        where="original_id IS NOT NULL",
    )


# Most stores have one scope, the empty one, of which the index has no entries.
_partial_index("pages_scope", pages.c.scope, where="scope <> ''")


def _postings(name: str, of: MetaData = metadata) -> Table:
    """Table of keys, each with the ids of the originals that have it."""
    return Table(
        name,
        of,
        Column("key", BigInteger, primary_key=True),
        Column("page_id", ROW_ID, primary_key=True),
        sqlite_with_rowid=False,
        prefixes=_TEMPORARY if of is temporary else [],
    )


bands, samples = _postings("bands"), _postings("samples")

# Recent entries of tables of keys, on SQLite: see `shingling.store.backends.recent`.
logs = Table(
    "logs",
    metadata,
    Column("owner", Text, primary_key=True),  # the table of keys
    Column("epoch", BigInteger, nullable=False),  # goes up when `recent` is to be read anew
    Column("written", BigInteger, nullable=False),  # last batch
)
recent = Table(
    "recent",
    metadata,
    Column("owner", Text, primary_key=True),
    # 64; an earlier release had rows for each of 64 slices of all keys as well.
    Column("slice", SmallInteger, primary_key=True),
    Column("batch", BigInteger, primary_key=True),
    Column("entries", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# What the last transactions have written, on PostgreSQL: their numbers follow the order of their
# commits.
commits = Table(
    "commits",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("page_ids", LargeBinary, nullable=False),  # int64, little endian
)

# Keys of bands with more pages than are looked at.
full = Table(
    "full_keys",
    metadata,
    Column("key", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)
next_full = Table(
    "next_full_keys",
    temporary,
    Column("key", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
    prefixes=_TEMPORARY,
)

texts = Table(
    "texts",
    metadata,
    Column("page_id", ROW_ID, ForeignKey("pages.id"), primary_key=True, autoincrement=False),
    Column("zlib", LargeBinary, nullable=False),  # UTF-8
    Column("body_key", LargeBinary(16)),  # hash of the body that it was read from
    Column("last_change", Text),  # of the page: see `shingling.store.model.LastChange`
)
_partial_index("texts_body_key", texts.c.body_key, where="body_key IS NOT NULL")

# Blocks of text that pages of a site have shown, and lines that move: see
# `shingling.store.templates` and `shingling.store.moving`.
site_blocks = Table(
    "site_blocks",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("site", Text, nullable=False),
    Column("entries", LargeBinary, nullable=False),
    Column("lines", LargeBinary),
    Index("site_blocks_site", "site", "id"),
    sqlite_autoincrement=True,
)

# Rules that pages were decided by.
rules = Table(
    "rules",
    metadata,
    Column("id", ROW_ID, primary_key=True),
    Column("parameters", Text, nullable=False, unique=True),  # JSON
    sqlite_autoincrement=True,
)

# Reviews of two URLs, of which a_key is the smaller one. They need not be stored.
reviews = Table(
    "reviews",
    metadata,
    Column("a_key", LargeBinary(16), primary_key=True),
    Column("b_key", LargeBinary(16), primary_key=True),
    Column("a_url", Text, nullable=False),
    Column("b_url", Text, nullable=False),
    Column("same", Boolean, nullable=False),
    Column("note", Text),
    Column("created", BigInteger, nullable=False),
    Index("reviews_b_key", "b_key"),
)

# What is learned of the URLs of a site: see `shingling.fetching.stored_rules`. A rule is kept
# under a hash of its site, change and node, which may be longer than an index takes.
url_rules = Table(
    "url_rules",
    metadata,
    Column("rule_key", LargeBinary(16), primary_key=True),
    Column("site", Text, nullable=False),
    Column("change", Text, nullable=False),
    Column("node", Text, nullable=False),  # host and path that it is about
    Column("agreed", BigInteger, nullable=False),  # pages
    Column("contradicted", BigInteger, nullable=False),  # pages
    Column("saved", BigInteger, nullable=False),  # requests
    Column("explored", BigInteger, nullable=False),  # requests
    Index("url_rules_site", "site"),
)


@dataclass(frozen=True)
class Tables:
    """Tables that pages are decided in: those of the store, or those that a rebuild fills."""

    pages: Table
    bands: Table
    samples: Table
    full: Table


LIVE = Tables(pages, bands, samples, full)
NEXT = Tables(
    next_pages, _postings("next_bands", temporary), _postings("next_samples", temporary), next_full
)

_MAX_VALUES = 500  # in one IN (...)
_SIZES = (1, 8, 64, 256, _MAX_VALUES)  # of such a list: there are few different statements


def chunked(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield sorted distinct values in parts that fit into one statement."""
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _MAX_VALUES):
        yield ordered[start : start + _MAX_VALUES]


def select_in(
    connection: Connection, statement: str, values: Iterable[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a query by many values, as the driver gives them.

    It is not compiled each time, as an expanding `IN` of SQLAlchemy is.

    Args:
        connection: to the store.
        statement: `SELECT ... WHERE column {}`.
        values: of the column.
    """
    for part in chunked(values):
        number = next(size for size in _SIZES if size >= len(part))
        query = statement.format(f"IN ({_marks(number)})")
        filled_up = (*part, *part[-1:] * (number - len(part)))
        yield from fetch_rows(connection, query, *filled_up)


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Insert rows of values as the driver takes them: at a tenth of the cost of `insert`."""
    quoted = ", ".join(f'"{column}"' for column in columns)
    marks = _marks(len(columns))
    statement = f"INSERT INTO {table.name} ({quoted}) VALUES ({marks})"  # noqa: S608 (our names)
    execute_each(connection, statement, rows)


def _marks(number: int) -> str:
    return ", ".join("?" * number)


def fetch_rows(connection: Connection, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows that a statement returns; otherwise as `execute`."""
    cursor = execute(connection, statement, *values)
    try:
        return [*cursor.fetchall()]  # SQLite reads the rows only now
    except connection.dialect.loaded_dbapi.Error as error:
        raise database_error(connection, error) from error


def execute(connection: Connection, statement: str, *values: Any) -> Any:
    """Execute a statement by the driver itself, and return the cursor.

    SQLAlchemy takes ten times as long for a short query as SQLite does.

    Args:
        connection: to the store.
        statement: with a `?` for each value, and no other question mark.
        values: as the driver takes them.

    Raises:
        DBAPIError: as of SQLAlchemy.
    """
    try:
        cursor = connection.connection.cursor()
        cursor.execute(_in_paramstyle(connection, statement), values)
    except connection.dialect.loaded_dbapi.Error as error:
        raise database_error(connection, error) from error
    return cursor


def execute_each(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Execute a statement for rows of values, otherwise as `execute`."""
    if not rows:
        return
    try:
        cursor = connection.connection.cursor()
        cursor.executemany(_in_paramstyle(connection, statement), [*rows])
    except connection.dialect.loaded_dbapi.Error as error:
        raise database_error(connection, error) from error


def _in_paramstyle(connection: Connection, statement: str) -> str:
    return statement if connection.dialect.paramstyle == "qmark" else statement.replace("?", "%s")


def database_error(connection: Connection, error: Any) -> DBAPIError:
    """Error of the driver as SQLAlchemy raises it, which then knows if the connection is lost."""
    dialect = connection.dialect
    is_lost = dialect.is_disconnect(error, connection.connection.dbapi_connection, None)
    if is_lost:
        connection.invalidate(error)
    raised = DBAPIError.instance(
        *(None, None, error, dialect.loaded_dbapi.Error),
        connection_invalidated=is_lost,
        dialect=dialect,
    )
    assert isinstance(raised, DBAPIError)
    return raised
