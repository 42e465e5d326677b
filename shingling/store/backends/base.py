"""What a database must provide to hold a store; each kind of database is a subclass."""

from __future__ import annotations

import logging
import random
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
from sqlalchemy import delete, insert, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from shingling.errors import StoreError, StoreUnavailableError
from shingling.store.backends.secrets import Secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sqlalchemy import URL, Connection, Engine, Table

    from shingling.arrays import Integers

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
MAX_WAIT_SECONDS = 60.0  # for a database that is locked or cannot be reached
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 1.0  # between two attempts
_WARN_AFTER_SECONDS = 2.0
MAX_CONFLICTS = 2  # of a transaction, then it writes alone
_ENTRIES_READ_AT_ONCE = 10_000

KeysOfPage: TypeAlias = "tuple[int, Collection[int]]"
"""Id of a page, and keys that it has, each of them once."""

ChangedKeys: TypeAlias = "tuple[int, Iterable[int], Iterable[int]]"
"""Id of a page, the keys that it had, and those that it has from now on."""

MAX_PAGES_PER_KEY = 128
"""Pages looked at under one key, the oldest first. Keys with more tell little: a template."""


class RetryReason(Enum):
    """Why a transaction that has failed may succeed when it is tried again."""

    CONFLICT = "another transaction was in its way"
    UNAVAILABLE = "the database is locked or cannot be reached"


class RetryableError(StoreError):
    """A transaction has failed, and may succeed when it is tried again.

    Args:
        line: what happened.
        reason: why it may succeed.
    """

    def __init__(self, line: str, reason: RetryReason) -> None:
        super().__init__(line)
        self.reason = reason


class NeedsExclusiveWriterError(Exception):
    """A transaction cannot tell what others must not change meanwhile: it has to write alone."""


class Committed(NamedTuple):
    """What other transactions have committed.

    Args:
        last: number of the last transaction.
        ids: of the pages that they have written; None: no longer known.
    """

    last: int
    ids: list[int] | None


class Postings(ABC):
    """A table of keys as one transaction sees it. Each database has a class of its own.

    Args:
        connection: within a transaction.
        table: with the columns `key` and `page_id`.
    """

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self._table = table

    def find(self, keys: Iterable[int], most: int = MAX_PAGES_PER_KEY) -> dict[int, list[int]]:
        """Ids of the oldest pages under each key; of one more than `most` at most."""
        wanted = sorted(set(keys))
        ids_by_key = self._select(wanted, most + 1) if wanted else {}
        return {key: sorted(ids)[: most + 1] for key, ids in ids_by_key.items() if ids}

    @abstractmethod
    def _select(self, keys: Sequence[int], most: int) -> Mapping[int, Collection[int]]:
        """Read the ids of pages under keys: of each key the smallest ones, or some more.

        Args:
            keys: any number of them, sorted, without repetition.
            most: ids of one key that are needed.
        """

    def write(self, changes: Sequence[ChangedKeys]) -> None:
        """Give pages other keys than they had."""
        gone = [(page_id, {*old}.difference(new)) for page_id, old, new in changes]
        come = [(page_id, {*new}.difference(old)) for page_id, old, new in changes]
        self._change(entries_of(gone), entries_of(come))

    @abstractmethod
    def _change(self, gone: Integers, come: Integers) -> None:
        """Remove entries, and insert others that are not there; as in `fill`."""

    @abstractmethod
    def fill(self, entries: Integers) -> None:
        """Insert many entries at once: keys, and the id of the page of each, int64[2, n]."""

    def entries(self) -> Iterator[Sequence[int]]:
        """Yield all entries: a key, and the id of a page that has it."""
        every = select(self._table.c.key, self._table.c.page_id)
        streamed = every.execution_options(yield_per=_ENTRIES_READ_AT_ONCE)
        yield from self._connection.execute(streamed)

    def clear(self) -> None:
        """Remove all entries."""
        self._connection.execute(delete(self._table))

    def take_over(self, made: Table) -> None:
        """Replace all entries by those of another table of keys."""
        self.clear()
        ordered = select(made).order_by(made.c.key, made.c.page_id)
        self._connection.execute(insert(self._table).from_select(["key", "page_id"], ordered))


def entries_of(pages: Sequence[KeysOfPage]) -> Integers:
    """Entries of pages: keys, and the id of the page of each, int64[2, n]."""
    keys = np.fromiter(chain.from_iterable(own for _, own in pages), np.int64)
    ids = [page_id for page_id, _ in pages]
    return np.stack((keys, np.repeat(np.array(ids, np.int64), [len(own) for _, own in pages])))


class Database(ABC):
    """A database that holds a store. Used by one thread at a time.

    A subclass sets all attributes up to `trial`, defines every abstract method, and is listed in
    `shingling.store.backends`. One that lacks a method cannot be made.

    Args:
        where: the URL as it is shown, without a password.

    Attributes:
        dialect: SQLAlchemy's name of the database, that its URLs begin with.
        driver: the DBAPI driver that is used: of `dialect+driver` in a URL.
        example_url: as error messages show it.
        several_writers: whether transactions write at the same time; if not, `take_turn`, `lock`,
            `committed_since` and `take_commit_turn` need not be defined.
        engine: begins transactions that write.
        reader: begins transactions that see one state of the store throughout.
        trial: the same, for transactions that fill temporary tables.
        alone: whether the present transaction is the only one that writes.
    """

    dialect: ClassVar[str]
    driver: ClassVar[str]
    example_url: ClassVar[str]
    several_writers: ClassVar[bool]
    engine: Engine
    reader: Engine
    trial: Engine

    def __init__(self, url: URL) -> None:
        self._secrets = Secrets.of(url)
        self.where = self._secrets.shown
        self.alone = not self.several_writers
        self._is_closed = False
        self._max_wait = MAX_WAIT_SECONDS  # until the database is available; then 0

    @classmethod
    @abstractmethod
    def check_url(cls, url: URL) -> None:
        """Check a URL of this dialect and driver, before anything is connected.

        Raises:
            StoreError: it has what the store does not support.
        """

    @classmethod
    def file_of(cls, url: URL) -> Path | None:  # noqa: ARG003 (for subclasses)
        """File that the store of a URL is kept in, or None: it is on a server, or in memory."""
        return None

    @abstractmethod
    def is_there(self) -> bool:
        """Whether a store is there; nothing is changed.

        Raises:
            StoreError: something else is there.
        """

    def take_turn(self, connection: Connection, *, alone: bool) -> None:
        """Wait until this transaction may write: together with others, or alone."""
        raise NotImplementedError

    def lock(self, connection: Connection, keys: Sequence[int]) -> int:
        """Wait for other transactions that have locked one of the keys, until they end.

        Args:
            connection: to the store.
            keys: in ascending order, so that nobody waits for somebody who waits for them.

        Returns:
            The number of the last transaction that was committed then.

        Raises:
            NeedsExclusiveWriterError: there are too many keys to lock.
        """
        raise NotImplementedError

    def committed_since(self, connection: Connection, last: int) -> Committed:
        """Read what other transactions have committed after the one with a number."""
        raise NotImplementedError

    def take_commit_turn(self, connection: Connection, last: int, ids: Sequence[int]) -> Committed:
        """Wait until nobody else can commit before this transaction.

        Args:
            connection: to the store.
            last: number of a committed transaction.
            ids: of the pages that this transaction has written.

        Returns:
            What others have committed after the one with that number.
        """
        raise NotImplementedError

    def together(self, connection: Connection) -> AbstractContextManager[object]:  # noqa: ARG002 (for subclasses)
        """Send the statements of the block together, where each would wait for a server."""
        return nullcontext()

    @abstractmethod
    def postings(self, connection: Connection, table: Table) -> Postings:
        """Table of keys as a transaction sees it."""

    @abstractmethod
    def allocate(self, connection: Connection, count: int) -> list[int]:
        """Take ids for new pages, ascending, that no other transaction gets."""

    @abstractmethod
    def ids_restored(self, connection: Connection) -> None:
        """Continue ids after the highest stored one, if pages were inserted with their ids."""

    @abstractmethod
    def bytes(self, connection: Connection) -> int:
        """Bytes that the store takes on the disk."""

    @abstractmethod
    def refuse_writes(self) -> None:
        """Have the database itself refuse every change; call it before anything is read."""

    @abstractmethod
    def backup(self, file: str) -> None:
        """Copy the store into a file.

        Raises:
            StoreError: it cannot be copied so; it says what to do instead.
        """

    @abstractmethod
    def checkpoint(self) -> None:
        """Bring what was written into the files that people copy."""

    @abstractmethod
    def vacuum(self) -> None:
        """Free the space of removed rows."""

    @abstractmethod
    def retry_reason(self, error: DBAPIError) -> RetryReason | None:
        """Why a failed transaction may succeed when it is tried again; None: it will not."""

    def explained(self, message: str) -> str:
        """Message of the database, with the likely reason if it names none."""
        return message

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that reads.

        Raises:
            StoreError: the database failed.
        """
        with self._named_errors(), self.reader.begin() as connection:
            yield connection

    @contextmanager
    def scratch(self) -> Iterator[Connection]:
        """Open a transaction like one that reads, which may fill temporary tables; they vanish.

        Raises:
            StoreError: the database failed.
        """
        with self._named_errors(), self.trial.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes alone; it is not tried again.

        Raises:
            StoreError: the database failed.
        """
        with self._named_errors(), self.engine.begin() as connection:
            self._take_turn(connection, alone=True)
            yield connection

    def read(self, action: Callable[[Connection], _T]) -> _T:
        """Run an action in a transaction that reads; wait for the database if need be."""
        return self._retried(self.reader, action, alone=False)

    def write(self, action: Callable[[Connection], _T], *, alone: bool = False) -> _T:
        """Run an action in one transaction, all or nothing.

        It is tried again if another transaction was in its way, and for a minute if the
        database is locked or cannot be reached. After a minute in vain, calls do not wait any
        more until one succeeds.

        Args:
            action: may be called several times, each time with a new transaction.
            alone: whether no other transaction may write at the same time.

        Raises:
            StoreUnavailableError: the database stayed locked, or could not be reached.
            StoreError: it failed.
        """
        return self._retried(self.engine, action, alone=alone)

    def _take_turn(self, connection: Connection, *, alone: bool) -> None:
        if self.several_writers:
            self.take_turn(connection, alone=alone)
            self.alone = alone

    def _retried(self, engine: Engine, action: Callable[[Connection], _T], *, alone: bool) -> _T:
        began = time.monotonic()
        pause, warned, conflicts = _FIRST_PAUSE_SECONDS, False, 0
        while True:
            try:
                with self._named_errors(again=True), engine.begin() as connection:
                    if engine is not self.reader:
                        self._take_turn(connection, alone=alone)
                    result = action(connection)
                break
            except NeedsExclusiveWriterError:
                alone = True
            except RetryableError as error:
                is_conflict = error.reason is RetryReason.CONFLICT
                waited = time.monotonic() - began
                if waited > (MAX_WAIT_SECONDS if is_conflict else self._max_wait):
                    self._max_wait = 0.0
                    raise StoreUnavailableError(str(error)) from error.__cause__
                if waited > _WARN_AFTER_SECONDS and not warned:
                    warned = True
                    logger.warning("%s; trying again for %.0f s", error, self._max_wait)
                conflicts += is_conflict
                alone = alone or conflicts == MAX_CONFLICTS
                time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 (no secret)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
        if warned or not self._max_wait:
            logger.warning("%s: works again", self.where)
        self._max_wait = MAX_WAIT_SECONDS
        return result

    @contextmanager
    def _named_errors(self, *, again: bool = False) -> Iterator[None]:
        """Raise errors of the database as a `StoreError` of one line."""
        if self._is_closed:
            raise StoreError(f"{self.where}: the store is closed")
        try:
            yield
        except DBAPIError as error:
            reason = self.retry_reason(error) if again else None
            lines = str(error.orig).splitlines() or [type(error.orig).__name__]
            line = f"{self.where}: {self._secrets.hide(self.explained(lines[0]))}"
            cause = self._secrets.cause(error)
            raise (StoreError(line) if reason is None else RetryableError(line, reason)) from cause
        except (SQLAlchemyError, OSError, UnicodeDecodeError) as error:
            line = self._secrets.hide(self.explained(str(error).splitlines()[0]))
            raise StoreError(f"{self.where}: {line}") from self._secrets.cause(error)

    def close(self) -> None:
        """Close all connections; the store cannot be used any more."""
        self.engine.dispose()
        self._is_closed = True
