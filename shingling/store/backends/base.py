"""A database that holds a store: what SQLite and PostgreSQL do in ways of their own."""

from __future__ import annotations

import logging
import random
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from sqlalchemy.exc import DBAPIError, NoSuchModuleError, SQLAlchemyError

from shingling.errors import StoreError, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sqlalchemy import Connection, Engine, RowMapping, Table

    from shingling.store.index.postings import Postings

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
TextHash: TypeAlias = bytes  # 16 of them
PATIENCE = 60.0  # seconds for which a locked or absent database is waited for
_PAUSES = 0.02, 1.0  # seconds between two attempts, first and longest
_SAY = 2.0  # seconds after which waiting is worth a line in the log


class Trouble(Enum):
    """Why a transaction failed that may do better when it is tried again."""

    CONFLICT = "another transaction was in its way"
    AWAY = "the database is locked or cannot be reached"
    LOCKS = "it needed more locks than there are"


class AgainError(StoreError):
    """A transaction failed that may do better when it is tried again.

    Args:
        line: what happened.
        trouble: its kind.
    """

    def __init__(self, line: str, trouble: Trouble) -> None:
        super().__init__(line)
        self.trouble = trouble


class MustBeAloneError(Exception):
    """A transaction cannot say beforehand what it will meet: it has to write alone."""


class Database(ABC):
    """Where a store is kept. Used by one thread at a time.

    Args:
        where: the URL as it is shown, without a password.

    Attributes:
        alone: whether the transaction that writes is the only one.
    """

    engine: Engine
    alone = True

    def __init__(self, where: str) -> None:
        self.where = where
        self._gave_up = False

    @abstractmethod
    def is_there(self) -> bool:
        """Return whether a store is there; nothing is changed.

        Raises:
            StoreError: something else is.
        """

    @abstractmethod
    def take_turn(self, connection: Connection, *, alone: bool) -> None:
        """Wait until this transaction may write: beside others, or alone."""

    @abstractmethod
    def lock(self, connection: Connection, own: Collection[int], met: Collection[int]) -> None:
        """Wait for transactions that write under a key of `met`, or meet one of `own`.

        Raises:
            MustBeAloneError: they are too many.
        """

    @abstractmethod
    def postings(self, connection: Connection, table: Table) -> Postings:
        """Return a table of keys as a transaction sees it."""

    @abstractmethod
    def same_texts(
        self,
        connection: Connection,
        table: Table,
        hashes: Sequence[TextHash],
        scopes: Sequence[str],
        most: int,
    ) -> Iterator[RowMapping]:
        """Yield pages with these exact hashes, but exact duplicates: of each the oldest, so many.

        The page that exact duplicates copy is among them; the index on hashes has no others. One
        text may be that of any number of pages: an error page under every title.

        Args:
            connection: to the store.
            table: of pages.
            hashes: any number of them.
            scopes: of the pages.
            most: pages of one hash at most.
        """

    @abstractmethod
    def allocate(self, connection: Connection, count: int) -> list[int]:
        """Return so many ids for new pages, ascending."""

    @abstractmethod
    def ids_restored(self, connection: Connection) -> None:
        """Have ids go on after the highest one that is stored."""

    @abstractmethod
    def bytes(self, connection: Connection) -> int:
        """Return what the store takes on the disk."""

    @abstractmethod
    def vacuum(self) -> None:
        """Give back the space of what was removed."""

    @abstractmethod
    def trouble(self, error: DBAPIError) -> Trouble | None:
        """Return whether, and why, a failed transaction is worth trying again."""

    def explained(self, message: str) -> str:
        """Return what the database says, with what it leaves out."""
        return message

    @abstractmethod
    def begin_reading(self) -> Connection:
        """Return a connection whose transaction sees one state of the store throughout."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Hold a transaction that reads.

        Raises:
            StoreError: the database failed.
        """
        with self._named_errors(), self.begin_reading() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Hold a transaction that writes, alone, and is not tried again.

        Raises:
            StoreError: the database failed.
        """
        with self._named_errors(), self.engine.begin() as connection:
            self.take_turn(connection, alone=True)
            yield connection

    def read(self, action: Callable[[Connection], _T]) -> _T:
        """Return what an action does in a transaction that reads; wait for the database."""

        def once(_: bool) -> _T:
            with self.begin_reading() as connection, connection.begin():
                return action(connection)

        return self._patiently(once, alone=False)

    def write(self, action: Callable[[Connection], _T], *, alone: bool = False) -> _T:
        """Return what an action does in one transaction, which is all or nothing.

        It is tried again where another transaction was in its way, and for a minute where the
        database is locked or away; once that was in vain, it is tried only once each time
        until it works again.

        Args:
            action: must bear to be called again with a new transaction.
            alone: whether no other transaction may write meanwhile.

        Raises:
            StoreUnavailableError: the database stayed locked or away.
            StoreError: it failed.
        """

        def once(alone: bool) -> _T:
            with self.engine.begin() as connection:
                self.take_turn(connection, alone=alone)
                return action(connection)

        return self._patiently(once, alone=alone)

    def _patiently(self, once: Callable[[bool], _T], *, alone: bool) -> _T:
        began = time.monotonic()
        patience = 0.0 if self._gave_up else PATIENCE
        pause, longest = _PAUSES
        said = False
        while True:
            try:
                with self._named_errors(again=True):
                    result = once(alone)
            except MustBeAloneError:
                alone = True
            except AgainError as again:
                waited = time.monotonic() - began
                if again.trouble is Trouble.LOCKS and not alone:
                    alone = True
                    continue
                enough = PATIENCE if again.trouble is Trouble.CONFLICT else patience
                if waited > enough:
                    self._gave_up = True
                    raise StoreUnavailableError(str(again)) from again.__cause__
                if waited > _SAY and not said:
                    said = True
                    logger.warning("%s; trying again for %.0f s", again, patience)
                time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 (no secret)
                pause = min(2 * pause, longest)
            else:
                if said or self._gave_up:
                    logger.warning("%s: works again", self.where)
                self._gave_up = False
                return result

    @contextmanager
    def _named_errors(self, *, again: bool = False) -> Iterator[None]:
        """Turn a database's errors into a `StoreError` of one line."""
        try:
            yield
        except DBAPIError as error:
            trouble = self.trouble(error) if again else None
            lines = str(error.orig).splitlines() or [type(error.orig).__name__]
            line = f"{self.where}: {self.explained(lines[0])}"
            raise (StoreError(line) if trouble is None else AgainError(line, trouble)) from error
        except (SQLAlchemyError, NoSuchModuleError, OSError) as error:
            raise StoreError(f"{self.where}: {str(error).splitlines()[0]}") from error

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()
