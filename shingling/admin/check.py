"""Examine a whole store, and mend what is damaged.

A store is examined by exporting it, since that reads all that there is. It is mended by restoring
what could be exported.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.exc import DBAPIError

from shingling.admin.records import Header, Record, batches
from shingling.admin.transfer import export_records, require_sqlite, restore_records
from shingling.sketch import shingle_text
from shingling.store.backends.base import MAX_PAGES_PER_KEY
from shingling.store.backends.sqlite import SqliteDatabase
from shingling.store.index import keys_of_sample
from shingling.store.kept import kept_rows
from shingling.store.schema.rows import Keyed, read_minima, url_key
from shingling.store.schema.site_entries import are_entries
from shingling.store.schema.tables import (
    LIVE,
    NEXT,
    logs,
    metadata,
    pages,
    recent,
    reviews,
    scheme as scheme_table,
    site_blocks,
    texts,
)
from shingling.store.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.store.backends.base import Postings

    Show = Callable[[str, int], None]

KINDS = {
    "database": "what the database itself reports",
    "page": "pages with impossible values, or with another hash than that of their text",
    "text": "texts that cannot be read",
    "group": "pages whose place in their group is impossible",
    "index": "pages that are not found by their own keys, keys of others",
    "orphan": "texts without a page, left-overs of a rebuild",
    "site": "entries of sites that cannot be read",
    "run": "runs with impossible values",
    "review": "reviews with impossible values",
    **dict(kept.damage for kept in kept_rows().values()),
}
"""Kinds of damage, in the order in which they are shown."""

MAX_EXAMPLES = 20  # of each kind
_PAGES_AT_ONCE = 500


@dataclass
class Findings:
    """Damage that was found in a store.

    Args:
        pages: that were examined.
        found, left: numbers by kind, before and after the repair.
        examples: the first ones of each kind.
    """

    pages: int = 0
    found: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, kind: str, name: str) -> None:
        """Note something damaged: its kind and its name."""
        self.found[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < MAX_EXAMPLES:
            examples.append(name)

    @property
    def is_sound(self) -> bool:
        """Whether nothing is damaged."""
        return not self.found

    @property
    def is_mended(self) -> bool:
        """Whether nothing damaged is left."""
        return not self.left

    def as_dict(self) -> dict[str, Any]:
        """Convert the findings to values that JSON has."""
        return {
            "pages": self.pages,
            "sound": self.is_sound,
            "damaged": {kind: self.found[kind] for kind in KINDS},
            "left": {kind: self.left[kind] for kind in KINDS},
            "examples": {kind: self.examples.get(kind, []) for kind in KINDS},
        }


def check_store(session: Session, *, repair: bool, show: Show) -> Findings:
    """Examine a store, and mend it.

    Args:
        session: of the store.
        repair: whether what can be read of a damaged store takes its place.
        show: is told what is being examined, and how many are.

    Raises:
        StoreError: the database cannot be read, or a rebuild has begun and is to be ended
            before anything is mended.
    """
    if repair:
        session.write(lambda _: None)  # it can be written
    found = _examined(session, show)
    if repair and not found.is_sound:
        _mend(session)
        found.left = _examined(session, show).found
    return found


def _examined(session: Session, show: Show) -> Findings:
    found = Findings()
    with session.reading() as connection:
        if connection.dialect.name == "sqlite":
            show("database", 0)
            for line in _file_damage(connection):
                found.note("database", line)
        if found.is_sound:  # else nothing that is read can be relied on
            _examine_pages(session, connection, found, show)
            _examine_rest(connection, found)
        if not found.is_sound:
            connection.rollback()  # SQLite refuses to commit what has met damage
    return found


def _file_damage(connection: Connection) -> Iterator[str]:
    """Yield what SQLite itself finds in its file."""
    try:
        for line in connection.scalars(text(f"PRAGMA integrity_check({MAX_EXAMPLES})")):
            if line != "ok" and " value in " not in line:  # single values are examined later
                yield line
    except DBAPIError as error:
        yield str(error.orig)


def _examine_pages(session: Session, connection: Connection, found: Findings, show: Show) -> None:
    tables = (LIVE.bands, *((LIVE.samples,) if session.index.sampled else ()))
    postings = [session.database.postings(connection, table) for table in tables]
    records = export_records(connection, note=found.note, verify=True)
    for batch in batches(records, _PAGES_AT_ONCE):
        if batch[0].kind == "page":
            _examine_keys(session, postings, batch, found)
            found.pages += len(batch)
            show("pages", found.pages)
    for table in tables:
        strangers = select(func.count()).where(
            table.c.page_id.not_in(select(pages.c.id).where(pages.c.original_id.is_(None)))
        )
        if number := connection.scalar(strangers.select_from(table)):
            found.note("index", f"{number:,} keys of pages that are no originals, in {table}")


def _examine_keys(
    session: Session, postings: Sequence[Postings], batch: Sequence[Record], found: Findings
) -> None:
    """Look originals up by their own keys."""
    least = session.scheme.min_comparable_words
    originals = [
        record.fields
        for record in batch
        if record.fields["original_id"] is None and record.fields["words"] >= least
    ]
    if not originals:
        return
    keyed = [Keyed(read_minima(page["minima"]), page["simhash"]) for page in originals]
    keys = [session.index.keys(keyed)]
    if session.index.sampled:
        keys.append(
            [
                keys_of_sample(shingle_text(page["text"], session.scheme), page["scope"])
                if page["text"] is not None and page["status"] != "skipped"
                else []
                for page in originals
            ]
        )
    for table, own in zip(postings, keys, strict=True):
        there = table.find(key for some in own for key in some)
        for page, some in zip(originals, own, strict=True):
            # Of a key with many pages, only the oldest ones are found.
            pages_of = (there.get(key, ()) for key in some)
            if any(page["id"] not in ids and len(ids) <= MAX_PAGES_PER_KEY for ids in pages_of):
                found.note("index", f"page {page['id']} ({page['url']})")


def _examine_rest(connection: Connection, found: Findings) -> None:
    """Examine what an export does not have."""
    for row in connection.execute(select(reviews)):
        if (row.a_key, row.b_key) != (url_key(str(row.a_url)), url_key(str(row.b_url))):
            found.note("review", f"review of {row.a_url} and {row.b_url}")
    blocks = connection.execute(select(site_blocks).execution_options(yield_per=_PAGES_AT_ONCE))
    for one in blocks:
        if not are_entries(one.entries) or type(one.site) is not str:
            found.note("site", f"entries of {one.site}")
    for kept in kept_rows().values():
        for table, site in kept.unsound(connection):
            found.note(kept.damage[0], f"{table} of {site}")
    orphaned = texts.c.page_id.not_in(select(pages.c.id))
    for page_id in connection.scalars(select(texts.c.page_id).where(orphaned)):
        found.note("orphan", f"text of page {page_id}")
    if connection.scalar(select(scheme_table.c.rebuilding)) is None:
        for left in (NEXT.pages, NEXT.bands, NEXT.samples):
            if number := connection.scalar(select(func.count()).select_from(left)):
                found.note("orphan", f"{number:,} rows of {left}")


def _mend(session: Session) -> None:
    """Make a store of all that can be read of a damaged one, and have it in its place."""
    database = session.database
    file = database if isinstance(database, SqliteDatabase) else None
    folder = None if file is None or file.path is None else file.path.parent
    with (
        TemporaryDirectory(prefix="mended-", dir=folder) as made,
        Session.open(f"sqlite:///{made}/dedup.db", scheme=session.scheme) as mended,
    ):
        with database.writing() as connection:
            with mended.database.writing() as into:
                _copy(connection, mended, into)
                # What other processes hold of recent entries is of the damaged store.
                into.execute(update(logs).values(epoch=int(time.time())))
            if file is not None:
                connection.rollback()  # as above
            else:
                for table in reversed(metadata.sorted_tables):
                    if table not in (scheme_table, logs, recent):
                        connection.execute(delete(table))
                with mended.reading() as sound:
                    _copy(sound, session, connection)
        if file is not None:
            file.become(mended.database)


def _copy(connection: Connection, session: Session, into: Connection) -> None:
    records = export_records(connection, note=lambda *_: None, verify=True)
    header = Header.of(next(records))
    restore_records(session, into, header, records, mend=True)
    for kept in kept_rows().values():
        try:
            kept.copy(connection, into)
        except DBAPIError as error:
            require_sqlite(connection, error)
