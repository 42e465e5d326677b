"""Makes the keys that originals are found by: of some pages, or of all for other rules."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select, update

from shingling.errors import StoreError
from shingling.sketch import shingle_text
from shingling.store.index import keys_of_sample
from shingling.store.known import read_texts
from shingling.store.schema.rows import row_from
from shingling.store.schema.tables import (
    LIVE,
    pages,
    runs,
    scheme as scheme_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Table

    from shingling.rules.rules import Rules
    from shingling.store.backends.base import KeysOfPage
    from shingling.store.index import Index
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

    Progress = Callable[[int, int], None]

MAX_PAGES = 100_000
"""Pages of a store whose index is made anew when a crawl opens it."""

MAX_PAGES_TO_SAMPLE = 50_000
"""The same, if the texts have to be read."""

MAX_SECONDS = 30.0
"""Time after which that is given up."""

_PAGES_AT_ONCE = 500
_ACTIVE_SECONDS = 600  # since a crawl has begun, or a page was seen


class _TooSlowError(Exception):
    """A new index takes too long: the transaction is rolled back."""


def fit_index(session: Session, rules: Rules, run: int | None, show: Progress) -> str:
    """Give a small store an index that finds what rules look for, in one transaction.

    One that is for the same kind of keys finds no less than the one before. Whoever is interrupted
    leaves that as it was.

    Args:
        session: of the store.
        rules: that pages are going to be decided by.
        run: that this is done for; other crawls that are running keep their kind of keys.
        show: is told how many pages of how many are done, before the first one as well.

    Returns:
        Why the store keeps an index that does not serve the rules; empty if it has one now.
    """

    def fit(connection: Connection) -> str:
        before = session.index
        if not before.shortfall(rules):
            return ""
        after = before.extended(rules, session.scheme)
        if type(after.keys_of) is not type(before.keys_of) and _is_used(connection, run):
            return "another crawl is using it"
        most = MAX_PAGES_TO_SAMPLE if after.sampled > before.sampled else MAX_PAGES
        counted = select(pages.c.id).limit(most + 1).subquery()
        if (connection.scalar(select(func.count()).select_from(counted)) or 0) > most:
            return f"the store has more than {most:,} pages"
        originals = select(func.count()).where(pages.c.original_id.is_(None))
        total = connection.scalar(originals) or 0
        until = time.monotonic() + MAX_SECONDS

        def show_in_time(done: int) -> None:
            if time.monotonic() > until:
                raise _TooSlowError
            show(done, total)

        index_all(session, connection, after, before, show_in_time)
        connection.execute(update(scheme_table).values(**after.columns()))
        session.index = after
        return ""

    try:
        return session.write(fit, alone=True)
    except _TooSlowError:
        return f"a new one was not made within {MAX_SECONDS:g} seconds"
    except StoreError as error:
        return f"a new one could not be made ({error})"


def _is_used(connection: Connection, run: int | None) -> bool:
    """Whether another run has not ended, and something has happened in the last minutes."""
    others = runs.c.finished.is_(None) & (runs.c.id != (run or 0))
    started = connection.scalar(select(func.max(runs.c.started)).where(others))
    if started is None:
        return False
    seen = connection.scalar(select(func.max(pages.c.last_seen))) or 0
    return max(int(started), int(seen)) > time.time() - _ACTIVE_SECONDS


def index_all(
    session: Session,
    connection: Connection,
    index: Index,
    before: Index | None = None,
    show: Callable[[int], None] = lambda _: None,
) -> None:
    """Index all originals of a store anew, within the caller's transaction.

    Args:
        session: of the store.
        connection: of a transaction that writes alone.
        index: that is made.
        before: that is there; what both have is not made again. None makes all of it.
        show: is told how many pages are done, before the first one as well.
    """
    bands = before is None or before.keys_of != index.keys_of
    samples = before is None or before.sampled != index.sampled
    made = [table for table, is_made in ((LIVE.bands, bands), (LIVE.samples, samples)) if is_made]
    for table in made:
        session.database.postings(connection, table).clear()
    if bands:
        connection.execute(delete(LIVE.full))
    done = 0
    show(done)
    query = select(pages).where(pages.c.original_id.is_(None)).order_by(pages.c.id)
    query = query.execution_options(yield_per=_PAGES_AT_ONCE)
    with connection.execute(query) as streamed:
        for part in streamed.mappings().partitions():
            read = [row_from(row, 0) for row in part]
            originals = [row for row in read if row is not None]
            _index_pages(session, connection, index, originals, made)
            done += len(part)
            show(done)


def _index_pages(
    session: Session,
    connection: Connection,
    index: Index,
    originals: Sequence[Row],
    tables: Sequence[Table],
) -> None:
    """Write the keys of originals into tables of bands or samples."""
    scheme = session.scheme
    rows = [row for row in originals if row.words >= scheme.min_comparable_words]
    for table in tables:
        pages: list[KeysOfPage] = []
        if table is LIVE.bands:
            keys = index.keys(rows)
            pages = [(row.id, {*own}) for row, own in zip(rows, keys, strict=True)]
        elif index.sampled:
            scopes = {row.id: row.scope for row in rows if row.status != "skipped"}
            for page_id, main_text in read_texts(connection, scopes).items():
                shingles = shingle_text(main_text.text, scheme)
                pages.append((page_id, {*keys_of_sample(shingles, scopes[page_id])}))
        session.database.postings(connection, table).write((), pages)
