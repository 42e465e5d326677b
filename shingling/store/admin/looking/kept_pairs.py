"""The pairs of a store kept in memory while people look at it, and read again when they change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shingling.errors import ShinglingError
from shingling.store.admin.looking.pair_table import EndedError, PairTable, read_originals_of
from shingling.store.admin.looking.word_search import WordSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from shingling.store.admin.looking.pair_table import Ids
    from shingling.store.session import Session

MAX_SECONDS_WAITED_FOR = 0.15  # reading again that takes longer is not waited for
_PAUSE_PER_SECOND_OF_READING = 10  # so that at most a tenth of a core reads again
_MAX_SEARCHES = 4
_MAX_SITES = 100
_SECONDS_OF_SEARCH = 300  # then titles and URLs are looked at again


@dataclass(frozen=True)
class Kept:
    """Pairs as they are in memory.

    Args:
        pairs: all of a store.
        read_at: when they were read.
        is_current: whether nobody has changed the store since.
    """

    pairs: PairTable
    read_at: datetime
    is_current: bool


@dataclass(frozen=True)
class _Read:
    pairs: PairTable
    read_at: datetime
    mark: object
    seconds: float
    ended: float
    originals_of: dict[str, Ids] = field(default_factory=dict)  # by site


class KeptPairs:
    """Pairs of a store, for any number of threads.

    They are read when they are first asked for. Once the store has changed, they are read again:
    at once where that takes no time, and otherwise in the background, while the old ones are shown.
    What somebody has just changed here is in them at once.

    Args:
        open_session: opens the store for a thread.
    """

    def __init__(self, open_session: Callable[[], Session]) -> None:
        self._open = open_session
        self._pool = ThreadPoolExecutor(2, "dedup-pairs")  # one of them may search for words
        self._own = threading.local()
        self._opened: list[Session] = []
        self._lock = threading.Lock()
        self._read: _Read | None = None
        self._reading: Future[_Read] | None = None
        self._changed: set[int] = set()  # pages, since what is being read was begun
        self._searches: OrderedDict[str, tuple[float, WordSearch]] = OrderedDict()
        self._has_ended = False

    def begin(self) -> Future[_Read]:
        """Begin to read the pairs, unless somebody else is at it."""
        with self._lock:
            if self._reading is None or self._reading.done():
                self._changed.clear()
                self._reading = self._pool.submit(self._read_all)
            return self._reading

    def current(self, session: Session) -> Kept:
        """Pairs as they are, or were a moment ago.

        Raises:
            StoreError: they cannot be read.
        """
        read = self._read or self.begin().result()
        read = self._read or read  # with what was changed here meanwhile
        is_current = session.database.change_mark() == read.mark
        if not is_current:
            is_quick = read.seconds < MAX_SECONDS_WAITED_FOR
            pause = 0 if is_quick else _PAUSE_PER_SECOND_OF_READING * read.seconds
            if time.monotonic() - read.ended >= pause:
                reading = self.begin()
                if is_quick:
                    reading.result()
                    read, is_current = self._read or read, True
        return Kept(read.pairs, read.read_at, is_current)

    def changed(self, session: Session, ids: Collection[int]) -> None:
        """Read pages again that were changed here."""
        with self._lock:
            self._changed.update(ids)
            if self._read is not None:
                with session.reading() as connection:
                    pairs = self._read.pairs.read_again(connection, ids)
                self._read = replace(self._read, pairs=pairs, originals_of={})
            for _, search in self._searches.values():
                search.forget(ids)

    def search(self, words: str) -> WordSearch:
        """Search for words that is under way, or was made in the last minutes, or a new one."""
        now = time.monotonic()
        with self._lock:
            began, found = self._searches.get(words, (0.0, None))
            if found is None or now - began > _SECONDS_OF_SEARCH:
                began, found = now, WordSearch(words, self._in_background)
            self._searches[words] = began, found
            self._searches.move_to_end(words)
            while len(self._searches) > _MAX_SEARCHES:
                self._searches.popitem(last=False)[1][1].end()
            return found

    def originals_of(self, session: Session, site: str) -> Ids:
        """Ids of the originals of a site, as they were when the pairs were read."""
        known = {} if self._read is None else self._read.originals_of
        found = known.get(site)
        if found is None:
            with session.reading() as connection:
                found = read_originals_of(connection, site)
            if len(known) >= _MAX_SITES:
                known.clear()
            known[site] = found
        return found

    def close(self) -> None:
        """Stop reading, and close the store."""
        self._has_ended = True
        for _, search in self._searches.values():
            search.end()
        self._pool.shutdown(cancel_futures=True)
        for session in self._opened:
            session.close()

    def _in_background(self, action: Callable[[Session], None]) -> None:
        self._pool.submit(lambda: action(self._session()))

    def _session(self) -> Session:
        """Open store of this thread."""
        session: Session | None = getattr(self._own, "session", None)
        if session is None:
            session = self._own.session = self._open()
            self._opened.append(session)
        return session

    def _read_all(self) -> _Read:
        session = self._session()
        began = time.monotonic()
        read_at = datetime.now(UTC)
        mark = session.database.change_mark()
        try:
            with session.reading() as connection:
                pairs = PairTable.read(connection, lambda: self._has_ended)
        except EndedError as error:
            raise ShinglingError("the store is being closed") from error
        with self._lock:
            if self._changed:
                with session.reading() as connection:
                    pairs = pairs.read_again(connection, self._changed)
            now = time.monotonic()
            self._read = _Read(pairs, read_at, mark, now - began, now)
            return self._read
