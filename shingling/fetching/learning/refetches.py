"""Pages that are fetched a second time, to learn which sentences change with each fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.fetching.learning.looking import ComparedPage

_FIRST_REFETCHES = 8  # of a site on which nothing has been seen to change
_MORE_REFETCHES = 3  # for each one that has taught something
_PAGES_PER_REFETCH = 50  # one more for so many pages: what changes may change slowly
_MAX_REFETCHES = 120  # of a site
_MAX_PAIRS = 20  # that wait for one


class Refetches:
    """Pages of a site that are fetched a second time.

    Attributes:
        waiting: pairs that wait for it, by the URL of the page.
    """

    def __init__(self) -> None:
        self._left, self._taken = _FIRST_REFETCHES, 0
        self._wanted: list[str] = []
        self.waiting: dict[str, list[ComparedPage]] = {}

    def wait_for(self, url: str, pair: ComparedPage, in_any_case: bool = False) -> bool:
        """Let a pair wait until its earlier page was fetched again; False if it will not be."""
        waiting = self.waiting.get(url)
        if waiting is None:
            if not (self._left > 0 or in_any_case) or self._taken >= _MAX_REFETCHES:
                return False
            self._left -= 1
            self._taken += 1
            waiting = self.waiting[url] = []
            self._wanted.append(url)
        if len(waiting) < _MAX_PAIRS:
            waiting.append(pair)
        return True

    def take_wanted(self) -> list[str]:
        """Take the URLs of pages that are to be fetched again."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def note_page(self, number: int) -> None:
        """Allow one more for so many pages of a site."""
        if number % _PAGES_PER_REFETCH == 0:
            self._left += 1

    def note_success(self) -> None:
        """Allow some more: one has taught something."""
        self._left += _MORE_REFETCHES
