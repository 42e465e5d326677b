"""The files of a SQLite store as a connection has opened them."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

from shingling.errors import StoreError, StoreGoneError

_Identity: TypeAlias = tuple[int, int]
_COMPANIONS = ("-wal", "-shm")


def _identity(path: str) -> _Identity | None:
    """Device and number of a file; None where there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


class OpenedFiles:
    """Which files a connection has open.

    SQLite goes on writing into a file that has been deleted; what is stored there is lost when the
    last connection is closed.

    Args:
        path: of the database, which has just been opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = f"{path}"
        self._main = _identity(self._path)
        self._bytes = 0
        self._companions: dict[str, _Identity] = {}

    def require(self, *, in_transaction: bool = False) -> None:
        """Check that they are where they were.

        Args:
            in_transaction: whether the connection has a transaction, and so all files, open.

        Raises:
            StoreGoneError: one was deleted, moved or replaced.
            StoreError: the database was cut off.
        """
        try:
            found = os.stat(self._path)  # noqa: PTH116 (twice a batch)
        except OSError as error:
            raise StoreGoneError(f"{self._path}: the file is gone, while it is open") from error
        if self._main != (found.st_dev, found.st_ino):
            raise StoreGoneError(f"{self._path}: the file was replaced by another one")
        if found.st_size < self._bytes and self._is_cut():
            raise StoreError(f"{self._path}: the file was cut off by another program")
        self._bytes = found.st_size
        for suffix in _COMPANIONS:
            self._require_companion(suffix, in_transaction)

    def _require_companion(self, suffix: str, in_transaction: bool) -> None:
        known = self._companions.get(suffix)
        if known is None and not in_transaction:
            return
        found = _identity(self._path + suffix)
        if known is None and found is not None:  # None: where SQLite has no write-ahead log
            self._companions[suffix] = found
        elif found != known:
            what = "is gone, while it is open" if found is None else "was replaced by another one"
            raise StoreGoneError(f"{self._path}{suffix}: the file {what}")

    def _is_cut(self) -> bool:
        """Whether a file that has become smaller has fewer pages than it says; not by a vacuum.

        SQLite itself looks: to close the file by other means would release its locks.
        """
        uri = f"{Path(self._path).absolute().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True)) as file:
                file.execute("PRAGMA page_count").close()
        except sqlite3.DatabaseError:
            return True
        return False

    @property
    def has_database(self) -> bool:
        """Whether the database itself is in its place."""
        return _identity(self._path) == self._main

    def remove_companions(self) -> None:
        """Remove the log of a database that is gone, once it is closed.

        SQLite would apply it to another database of that name.
        """
        for suffix, identity in self._companions.items():
            if _identity(self._path + suffix) == identity:
                os.unlink(self._path + suffix)  # noqa: PTH108
