"""What is remembered of all sites together, in bounded memory."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from shingling.fetching.learning.recent import RecentValues, Table
from shingling.fetching.learning.traps import Traps

if TYPE_CHECKING:
    from shingling.fetching.learning.snapshots import PageSnapshot

MAX_SNAPSHOT_BYTES = 16_000_000
"""Of the pages of all sites that others can be compared with; the oldest are forgotten."""


class Memory:
    """What is remembered of the fetched pages of all sites, besides their URLs and contents.

    It never grows beyond 80 MB, and hardly after the first thousands of pages. The keys of a site
    are its own.
    """

    def __init__(self) -> None:
        self.traps = Traps()
        self.snapshots: RecentValues[int, PageSnapshot] = RecentValues(
            MAX_SNAPSHOT_BYTES, attrgetter("size")
        )
        self.first_and_last = Table(19)  # pages with a key of their URLs, or with a content
        self.links = Table(19)  # whether two pages have had a link
        self.content_of_place = Table(16)  # the only content of a path or value
        self.by_reduced_url = Table(19)  # page whose URL is reduced to a key
        self.checks = Table(16)  # URLs that were fetched although they would repeat a page
        self.counted = Table(18)  # contents that have counted for or against a change
