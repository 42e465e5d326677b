"""Traps: one page that leads to itself under ever new URLs, such as a calendar without an end.

A request is skipped if only repeats of a page link to its URL, and if the last links of such
repeats have all shown nothing new: 98 of them for a risk of 1%. Where ids are new at each request,
many pages lead to each other for ever: so this is counted for each kind of link as well, ten times
as cautiously.

Pages that say which month they are, and nothing else, are no repeats, because an album or a list of
bulletins may look the same: the middleware only warns of many such pages in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import kind_of
from shingling.fetching.learning.pages import Contradiction, Skip
from shingling.fetching.learning.parts import split
from shingling.fetching.learning.recent import RecentValues, Table

if TYPE_CHECKING:
    from shingling.fetching.learning.pages import FetchedPage

_MAX_PAGES = 20_000  # with another text, of late
_CAUTION_WITH_KINDS = 10  # times the risk: links of one kind may lead to many pages
_LINKED = -1  # from a page that has shown something new


@dataclass(slots=True)
class _Trap:
    """Links of the repeats of one page, or all links of a kind that repeats have.

    Args:
        caution: factor of the risk.
        name: of the first URL that was decided.
        in_vain: links that have shown nothing new, since the last one that has.
        decided: requests that were skipped, or made to see whether something new has come.
    """

    caution: int = 1
    name: str = ""
    in_vain: int = 0
    decided: int = 0

    @property
    def risk(self) -> float:
        """Probability that one more link shows something new (rule of succession), at most."""
        return self.caution / (self.in_vain + 2)


class Traps:
    """Pages of all sites that lead to themselves, in bounded memory."""

    def __init__(self) -> None:
        self._repeats = Table(17)  # what a URL shows that others have shown before
        self._links = Table(18)  # how a URL was met: in which trap it was skipped, or `_LINKED`
        self._traps = RecentValues[int, _Trap](_MAX_PAGES)  # by what pages have shown

    def find_trap(self, url: str, found_on: str, max_risk: float, *, counted: bool) -> Skip | None:
        """Say whether a request would stay in a trap; None if not, or if nobody knows.

        Args:
            url: of the request.
            found_on: URL of the page of its site that has asked for it.
            max_risk: it is skipped up to this probability of losing something.
            counted: it is a request that is made or skipped now, not only a question.
        """
        traps = self._traps_of(url, found_on)
        key = min(traps, key=lambda key: traps[key].risk, default=0)
        trap = traps.get(key)
        if trap is None or trap.risk > max_risk or self._links.get(hash(url)) == _LINKED:
            return None
        if counted:
            self._links.put(hash(url), key)
            trap.name = trap.name or f"trap {url}"
            trap.decided += 1
        explore = trap.decided & (trap.decided - 1) == 0  # the 1st, 2nd, 4th, 8th ...
        return Skip((trap.name,), found_on, trap.risk, explore)

    def is_new(self, site: str, page: FetchedPage, content: int | None) -> bool:
        """Whether no page of its site has shown what a page shows, or it cannot be compared."""
        shown = _shown_key(site, page, content)
        return shown is None or self._traps.get(shown) is None

    def note_shown(self, site: str, page: FetchedPage, content: int | None) -> list[Contradiction]:
        """Learn from a fetched page.

        Args:
            site: of the page.
            page: what was fetched.
            content: of its snapshot, if it has one.

        Returns:
            Traps that are none, or of which a request is to be made.
        """
        shown = _shown_key(site, page, content)
        traps = self._traps_of((*page.requested, page.url)[0], page.found_on)
        if shown is not None:
            own = self._traps.get(shown)
            self._traps.put(shown, own or _Trap())
            if own is not None:
                self._repeats.put(hash(page.url), shown)
                for key, trap in traps.items():
                    trap.in_vain += 1
                    self._traps.put(key, trap)
                return []
        links = filter(None, map(self._link, page.links))
        wrong = [trap for trap in (*traps.values(), *links) if trap.in_vain]
        for trap in traps.values():
            trap.in_vain = 0
        return [Contradiction(site, trap.name) for trap in wrong if trap.decided]

    def _traps_of(self, url: str, found_on: str) -> dict[int, _Trap]:
        """Find the traps that a link may be in, by their keys; none if its page is no repeat."""
        shown, parts = self._repeats.get(hash(found_on)), split(url)
        if not shown:  # as of a request that no page of its site has asked for
            return {}
        traps = {shown: self._traps.get(shown) or _Trap()}
        if parts is not None:
            kind = hash((parts.host, kind_of(parts)))
            traps[kind] = self._traps.get(kind) or _Trap(_CAUTION_WITH_KINDS)
        return traps

    def _link(self, url: str) -> _Trap | None:
        """Note that a new page links to a URL; the trap in which it was skipped, if it was."""
        before = self._links.get(hash(url))
        self._links.put(hash(url), _LINKED)
        return self._traps.get(before or 0)


def _shown_key(site: str, page: FetchedPage, content: int | None) -> int | None:
    """Key of what a page shows on its site; None if nothing can be compared."""
    shown: object = content if page.shows is None else page.shows
    if shown is None and page.signature is not None:
        shown = page.signature.text_hash, page.title
    return None if shown is None else hash((site, shown))
