"""Makes the keys that originals are found by: of some pages, or of all for other rules."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import delete, func, select, update

from shingling.errors import StoreError
from shingling.sketch import shingle_text
from shingling.store.backends.base import entries_of
from shingling.store.index import keys_of_sample
from shingling.store.known import read_texts
from shingling.store.runs import unended_runs
from shingling.store.schema.rows import row_from
from shingling.store.schema.tables import (
    LIVE,
    pages,
    scheme as scheme_table,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.arrays import Integers
    from shingling.rules.rules import Rules
    from shingling.store.backends.base import Postings
    from shingling.store.index import Index
    from shingling.store.schema.rows import Row
    from shingling.store.session import Session

    Steps = Callable[[int, int], None]
    """Is told how many of how many are done."""

MAX_PAGES = 100_000
"""Pages of a store whose index is made anew when a crawl opens it."""

MAX_PAGES_TO_SAMPLE = 50_000
"""The same, if the texts have to be read."""

MAX_SECONDS = 30.0
"""Time after which that is given up."""

_PAGES_AT_ONCE = 500
_ENTRIES_AT_ONCE = 1 << 21  # 32 MiB


class _IndexTooSlowError(Exception):
    """A new index takes too long: the transaction is rolled back."""


def fit_index(session: Session, rules: Rules, run: int | None, show: Steps) -> str:
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
                raise _IndexTooSlowError
            show(done, total)

        index_all(session, connection, after, before, show_in_time)
        connection.execute(update(scheme_table).values(**after.columns()))
        session.index = after
        return ""

    try:
        return session.write(fit, alone=True)
    except _IndexTooSlowError:
        return f"a new one was not made within {MAX_SECONDS:g} seconds"
    except StoreError as error:
        return f"a new one could not be made ({error})"


def _is_used(connection: Connection, run: int | None) -> bool:
    """Whether another run may be under way."""
    return any(is_running for other, is_running in unended_runs(connection).items() if other != run)


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
    bands, samples = (
        session.database.postings(connection, table) for table in (LIVE.bands, LIVE.samples)
    )
    filling = []
    if before is None or before.keys_of != index.keys_of:
        connection.execute(delete(LIVE.full))
        filling.append(_Filling(bands, partial(band_entries, index)))
    if before is None or before.sampled != index.sampled:
        made = _Filling(samples, partial(sample_entries, session, connection))
        if index.sampled:
            filling.append(made)
    done = 0
    show(done)
    for originals in read_originals(session, connection):
        for table in filling:
            table.add([row for row in originals if row.indexed is not None])
        done += len(originals)
        show(done)
    for table in filling:
        table.write()


def read_originals(session: Session, connection: Connection) -> Iterator[list[Row]]:
    """Yield all originals of a store, some hundred at once; those that are found are `indexed`."""
    query = select(pages).where(pages.c.original_id.is_(None)).order_by(pages.c.id)
    query = query.execution_options(yield_per=_PAGES_AT_ONCE)
    with connection.execute(query) as streamed:
        for part in streamed.mappings().partitions():
            yield [row_from(row, session.scheme.min_comparable_words) for row in part]


class _Filling:
    """A table of keys that is filled anew, by many entries at once: few blocks are written twice.

    Args:
        postings: the table, which is cleared.
        entries: makes the entries of originals, int64[2, n].
    """

    def __init__(self, postings: Postings, entries: Callable[[Sequence[Row]], Integers]) -> None:
        postings.clear()
        self._postings, self._entries = postings, entries
        self._parts: list[Integers] = []
        self._number = 0

    def add(self, originals: Sequence[Row]) -> None:
        """Add the entries of originals, and write all that are held if they are many."""
        entries = self._entries(originals)
        self._parts.append(entries)
        self._number += entries.shape[1]
        if self._number >= _ENTRIES_AT_ONCE:
            self.write()

    def write(self) -> None:
        """Write the entries that are held."""
        if self._number:
            self._postings.fill(np.concatenate(self._parts, axis=1))
        self._parts, self._number = [], 0


def band_entries(index: Index, originals: Sequence[Row]) -> Integers:
    """Entries that originals have in the table of bands, int64[2, n]."""
    keys = index.keys(originals)
    ids = np.array([row.id for row in originals], np.int64)
    return np.stack((keys.ravel(), np.repeat(ids, keys.shape[1])))


def sample_entries(session: Session, connection: Connection, originals: Sequence[Row]) -> Integers:
    """Entries that originals have in the table of samples, int64[2, n]."""
    scopes = {row.id: row.scope for row in originals if row.status != "skipped"}
    return entries_of(
        [
            (page_id, {*keys_of_sample(shingle_text(text.text, session.scheme), scopes[page_id])})
            for page_id, text in read_texts(connection, scopes).items()
        ]
    )
