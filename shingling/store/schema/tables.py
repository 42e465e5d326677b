"""The tables of the store, as new stores have them; migrations/ makes the same, a test compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
    Column("rebuilding", Text),  # JSON: what a rebuild that has not ended is to make
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


def _page_columns(*keys: Any) -> list[Any]:
    """Return the columns of a table of pages, for ones with and without foreign keys."""
    original, run = keys or ([], [])
    return [
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
        Column("original_id", _Id, *original),  # NULL: it is an original
        Column("resemblance", Float),  # to the original
        Column("containment", Float),
        Column("first_seen", BigInteger, nullable=False),
        Column("last_seen", BigInteger, nullable=False),
        Column("run_id", _Id, *run),  # the run that stored it first
        Column("source", Text),  # URL of the page that it is an item of; NULL: it is a page
    ]


pages = Table(
    "pages",
    metadata,
    *_page_columns(
        [ForeignKey("pages.id", deferrable=True, initially="DEFERRED")], [ForeignKey("runs.id")]
    ),
    sqlite_autoincrement=True,
)
next_pages = Table("next_pages", metadata, *_page_columns())

for _pages in (pages, next_pages):
    Index(f"{_pages}_url_key", _pages.c.url_key, _pages.c.scope, unique=True)
    Index(
        f"{_pages}_text_hash",
        _pages.c.text_hash,
        sqlite_where=text("status <> 'exact'"),
        postgresql_where=text("status <> 'exact'"),
    )
    Index(
        f"{_pages}_original",
        _pages.c.original_id,
        _pages.c.status,
        sqlite_where=_pages.c.original_id.is_not(None),
        postgresql_where=_pages.c.original_id.is_not(None),
    )


def _postings(name: str) -> Table:
    """Return a table of keys, each with the ids of the originals that it finds."""
    return Table(
        name,
        metadata,
        Column("key", BigInteger, primary_key=True),
        Column("page_id", _Id, primary_key=True),
        sqlite_with_rowid=False,
    )


bands, samples = _postings("bands"), _postings("samples")
next_bands, next_samples = _postings("next_bands"), _postings("next_samples")

# What is on its way into tables of keys, on SQLite: see `shingling.store.index.recent`.
logs = Table(
    "logs",
    metadata,
    Column("owner", Text, primary_key=True),  # the table of keys
    Column("epoch", BigInteger, nullable=False),  # goes up where that is made anew
    Column("written", BigInteger, nullable=False),  # last batch
)
recent = Table(
    "recent",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("slice", SmallInteger, primary_key=True),  # of all keys
    Column("batch", BigInteger, primary_key=True),
    Column("entries", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

# Which keys the tables of keys may hold: see `shingling.store.index.filter`.
filters = Table(
    "filters",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("slice", SmallInteger, primary_key=True),
    Column("count", BigInteger, nullable=False),  # keys
    Column("merged", BigInteger, nullable=False),  # last batch of `recent` that went there
    Column("words", LargeBinary, nullable=False),
)

# Keys with more pages than are looked at.
full = Table(
    "full_keys",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("key", BigInteger, primary_key=True),
    sqlite_with_rowid=False,
)

texts = Table(
    "texts",
    metadata,
    Column("page_id", _Id, ForeignKey("pages.id"), primary_key=True, autoincrement=False),
    Column("zlib", LargeBinary, nullable=False),  # UTF-8
    Column("body_key", LargeBinary(16)),  # hash of the body that it was read from
)
Index(
    "texts_body_key",
    texts.c.body_key,
    sqlite_where=texts.c.body_key.is_not(None),
    postgresql_where=texts.c.body_key.is_not(None),
)

# Blocks of text that pages of a site have shown: see `shingling.store.templates`.
site_blocks = Table(
    "site_blocks",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("site", Text, nullable=False),
    Column("entries", LargeBinary, nullable=False),
    Index("site_blocks_site", "site", "id"),
    sqlite_autoincrement=True,
)

# A person's word on two URLs, of which a_key is the smaller one. They need not be stored.
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


@dataclass(frozen=True)
class Tables:
    """Where pages are decided: in the store as it is, or as a rebuild is making it."""

    pages: Table
    bands: Table
    samples: Table


LIVE = Tables(pages, bands, samples)
NEXT = Tables(next_pages, next_bands, next_samples)
