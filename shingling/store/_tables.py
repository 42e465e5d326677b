"""The tables of the store. migrations/ makes them; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    false,
    text,
)

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")

scheme = Table(
    "scheme",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("parameters", Text, nullable=False),  # JSON
    Column("bands", SmallInteger, nullable=False),
    Column("rows", SmallInteger, nullable=False),
    Column("created", BigInteger, nullable=False),
    # What the bands are cut from: 84 minima, or a SimHash, of which rows are bits.
    Column("indexed", Text, nullable=False, server_default="minima"),
    Column("sampled", Boolean, nullable=False, server_default=false()),  # samples are kept
    Column("packs", Text, nullable=False, server_default="{}"),  # JSON: versions of language packs
)

runs = Table(
    "runs",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("spider", Text, nullable=False),
    Column("started", BigInteger, nullable=False),  # times are seconds since 1970, UTC
    Column("finished", BigInteger),
    Column("outcome", Text),  # why it ended; NULL while it runs or after a crash
    Column("counts", Text, nullable=False),  # JSON: pages by verdict
    Column("settings", Text, nullable=False),  # JSON
    sqlite_autoincrement=True,
)

pages = Table(
    "pages",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("url_key", LargeBinary(16), nullable=False),  # hash of the url
    Column("site", Text, nullable=False),
    Column("title", Text),
    Column("language", Text),
    Column("words", Integer, nullable=False),
    Column("text_hash", LargeBinary(16), nullable=False),
    Column("minima", LargeBinary(336), nullable=False),
    Column("simhash", BigInteger, nullable=False),  # 64 bits, signed
    Column("status", Text, nullable=False),  # where it stands: new, exact, near or skipped
    Column("last_verdict", Text, nullable=False),
    Column(
        "original_id", _Id, ForeignKey("pages.id", deferrable=True, initially="DEFERRED")
    ),  # NULL: it is an original
    Column("resemblance", Float),  # to the original
    Column("containment", Float),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Column("run_id", _Id, ForeignKey("runs.id")),  # the run that stored it first
    Index("pages_url_key", "url_key", "scope", unique=True),
    sqlite_autoincrement=True,
)
Index(
    "pages_text_hash",
    pages.c.text_hash,
    sqlite_where=text("status <> 'exact'"),
    postgresql_where=text("status <> 'exact'"),
)
Index(
    "pages_original",
    pages.c.original_id,
    pages.c.status,
    sqlite_where=pages.c.original_id.is_not(None),
    postgresql_where=pages.c.original_id.is_not(None),
)

bands = Table(
    "bands",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("page_id", _Id, primary_key=True),  # originals only
    sqlite_with_rowid=False,
)

samples = Table(
    "samples",
    metadata,
    Column("key", BigInteger, primary_key=True),
    Column("page_id", _Id, primary_key=True),  # originals only
    sqlite_with_rowid=False,
)

texts = Table(
    "texts",
    metadata,
    Column("page_id", _Id, ForeignKey("pages.id"), primary_key=True, autoincrement=False),
    Column("zlib", LargeBinary, nullable=False),  # UTF-8
)
