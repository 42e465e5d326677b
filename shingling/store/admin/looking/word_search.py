"""Words in titles and URLs, which no index finds: looked for in the background."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import or_, select

from shingling.errors import ShinglingError
from shingling.store.admin.looking.pair_table import HEAD
from shingling.store.schema.statements import among, chunked
from shingling.store.schema.tables import pages

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlalchemy import ColumnElement

    from shingling.store.admin.looking.pair_table import Flags, Ids
    from shingling.store.session import Session

MAX_WORDS = 8
_PAIRS_LOOKED_AT_AT_ONCE = 2000


def has_words(words: str) -> list[ColumnElement[bool]]:
    """Conditions on a page and its original, `HEAD`: each word is in a title or URL of the two."""
    columns = (HEAD.c.title, HEAD.c.url, pages.c.title, pages.c.url)
    return [
        or_(*(column.icontains(word, autoescape=True) for column in columns))
        for word in words.split()[:MAX_WORDS]
    ]


class WordSearch:
    """Search for words, which goes on in the background until all is looked at.

    Args:
        words: each of them is to be in the title or URL of the original or the duplicate.
        in_background: runs an action with an open store.
    """

    def __init__(
        self, words: str, in_background: Callable[[Callable[[Session], None]], None]
    ) -> None:
        self._in_background = in_background
        self._query: Any = (
            select(pages.c.id)
            .join_from(pages, HEAD, pages.c.original_id == HEAD.c.id)
            .where(among(pages.c.id), *has_words(words))
        )
        self._changing = threading.Condition()
        self._known = np.empty(0, np.int64)  # looked at, or waiting for it
        self._waiting: list[Ids] = []
        self._found = np.empty(0, np.int64)
        self._is_running = False
        self._has_ended = False

    def found(self, duplicates: Ids, seconds: float) -> tuple[Flags, int]:
        """Which of some duplicates have the words, as far as is known after some seconds.

        Returns:
            Those, and how many of them have not been looked at.
        """
        with self._changing:
            fresh = duplicates[~np.isin(duplicates, self._known)]
            if len(fresh):
                self._known = np.concatenate([self._known, fresh])
                self._waiting.append(np.sort(fresh)[::-1])
            self._go_on()
            self._changing.wait_for(lambda: not self._waiting, seconds)
            rest = min(sum(map(len, self._waiting)), len(duplicates))
            found = self._found
        return np.isin(duplicates, found), rest

    def forget(self, ids: Collection[int]) -> None:
        """Look at some pages again when they are asked for."""
        with self._changing:
            forgotten = np.fromiter(ids, np.int64)
            self._known = self._known[~np.isin(self._known, forgotten)]
            self._found = self._found[~np.isin(self._found, forgotten)]

    def end(self) -> None:
        """Stop looking."""
        self._has_ended = True

    def _go_on(self) -> None:
        if self._waiting and not self._is_running:
            self._is_running = True
            self._in_background(self._run)

    def _run(self, session: Session) -> None:
        """Look at what is waiting, the newest pages of the last request first."""
        try:
            while not self._has_ended:
                with self._changing:
                    if not self._waiting:
                        return
                    part = self._waiting[-1][:_PAIRS_LOOKED_AT_AT_ONCE]
                found: list[int] = []
                with session.reading() as connection:
                    for ids in chunked(part.tolist()):
                        found += connection.scalars(self._query, {"values": ids})
                with self._changing:
                    self._take(part, found)
        except ShinglingError:  # the database was away: whoever asks next goes on
            return
        finally:
            with self._changing:
                self._is_running = False
                self._changing.notify_all()

    def _take(self, part: Ids, found: list[int]) -> None:
        """Note what was found among pages that were waiting."""
        self._found = np.concatenate([self._found, np.array(found, np.int64)])
        for at, waiting in enumerate(self._waiting):
            if len(waiting) and waiting[0] == part[0]:
                self._waiting[at] = waiting[len(part) :]
        self._waiting = [one for one in self._waiting if len(one)]
