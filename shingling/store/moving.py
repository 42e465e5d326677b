"""Which lines of a site move: their numbers differ from fetch to fetch of one page.

A line is known by the key of its block, for which numbers do not count ("Rooms: #"). How often it
stood and moved is kept beside the template of its site, packed in the table `site_blocks`. A crawl
is named by the run of its spider that had finished last when it began, so that several writers
that begin together are one crawl.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from shingling.text import CURRENCY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MAX_LINES = 8192  # of a site, of which counts are kept

_FEWEST_MOVED, _FEWEST_MOVED_AGAIN = 4, 8
_TIMES_STOOD = 4  # as often as it stood, a line must have moved
_MOST_COUNTED = 32  # times that one crawl counts a line as standing, and as moving
_MAX_COUNT = (1 << 16) - 1
_FIRST_PAGES, _NEXT_PAGES = 32, 16  # unchanged ones that are looked at: these, then 1 of so many
_MAX_MET = 1 << 14  # lines of a site in one crawl
_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|RMB|INR|RUB|PLN|CZK|HUF|RON|BGN|SEK|NOK|DKK|ISK|AUD|CAD|NZD|HKD|SGD"
    "|BRL|MXN|ARS|CLP|COP|ZAR|TRY|UAH|ILS|KRW|THB|IDR|VND|AED|SAR|EGP"
)
_NAMES = (
    "eur|usd|gbp|euros?|dollars?|cents?|pounds?|francs?|pesos?|yen|yuan|rupees?|kr|zł|kč|ft|lei|tl"
    "|лв|грн|руб|р"
)
_PRICE = re.compile(
    rf"[{CURRENCY}]|\b(?:{_CODES})\ ?\d|\d\ ?(?:{_CODES})\b|\d\ ?[元円원₫đ]"
    rf"|(?i:\b(?:{_NAMES})\.?\ ?\d|\d(?:[.,]-)?\ ?(?:{_NAMES})\b)"
)


def has_price(lines: Iterable[str]) -> bool:
    """Whether a line has a number with a currency, or the sign of one."""
    return any(map(_PRICE.search, lines))


class LineCounts(NamedTuple):
    """How often a line stood, and moved, and the last two crawls in which it moved; 0: none."""

    stood: int = 0
    moved: int = 0
    last_crawl: int = 0
    crawl_before: int = 0

    def stood_once_more(self) -> LineCounts:
        """Count once more that a line stood that never moves."""
        return LineCounts(min(self.stood + 1, _MAX_COUNT))

    def plus(self, other: LineCounts) -> LineCounts:
        """Add what was counted elsewhere, in any order."""
        last, before, *_ = sorted({*self[2:], *other[2:], 0, -1}, reverse=True)
        stood, moved = (
            min(sum(both), _MAX_COUNT) for both in zip(self[:2], other[:2], strict=True)
        )
        return LineCounts(stood, moved, last, max(before, 0))

    @property
    def moves(self) -> bool:
        """Whether it is known to move: its number does not tell a copy from its original."""
        return self.moved >= max(_FEWEST_MOVED, _TIMES_STOOD * self.stood)

    @property
    def keeps_moving(self) -> bool:
        """Whether it moves from crawl to crawl: a page with another number has not changed."""
        return self.moves and self.moved >= _FEWEST_MOVED_AGAIN and self.crawl_before > 0


class LinesMet:
    """Lines of a site that the pages of one crawl have shown, or no longer show.

    Lines that come and go on many pages (the latest links, the date of today) are told from data of
    one page ("In stock") by this. It is held in memory only.

    Args:
        run: of the crawl.
    """

    def __init__(self, run: int) -> None:
        self.run = run
        self._changed: dict[tuple[int, bool], int] = {}  # the title of the first such page
        self._standing: set[int] = set()
        self._counted = Counter[tuple[int, bool]]()
        self._unchanged = 0

    @property
    def size(self) -> int:
        """Lines that are held."""
        return len(self._changed) + len(self._standing)

    def looks_at_next(self) -> bool:
        """Whether one more unchanged page is looked at: not all are, as it takes time."""
        self._unchanged += 1
        return self._unchanged <= _FIRST_PAGES or self._unchanged % _NEXT_PAGES == 0

    def may_count(self, line: int, *, moved: bool) -> bool:
        """Whether it counts once more that a line stood, or moved."""
        self._counted[line, moved] += 1
        return self._counted[line, moved] <= _MOST_COUNTED

    def note(
        self, changed: Collection[tuple[int, bool]], standing: Iterable[int], title: int
    ) -> bool:
        """Note lines of a page that are new or gone, and those that stand.

        Args:
            changed: hashes of lines, each with whether it is new.
            standing: hashes of lines.
            title: key of the page's title: pages under other titles are other pages.

        Returns:
            Whether the lines have come on, or gone from, other pages of this crawl as well: lines
            come in the place of others, and no page shows one that it showed before.
        """
        if self.size >= _MAX_MET:
            return False
        come_and_go = (
            len({is_new for _, is_new in changed}) != 1
            and self._standing.isdisjoint(line for line, _ in changed)
            and all(self._changed.get(line, title) != title for line in changed)
        )
        for line in changed:
            self._changed.setdefault(line, title)
        self._standing.update(standing)
        return come_and_go
