"""The fetched pages of a site, and the ways in which they are found again."""

from __future__ import annotations

from array import array
from itertools import count
from typing import TYPE_CHECKING

from shingling.fetching.learning.parts import split
from shingling.fetching.learning.recent import Recent, Ring, Table
from shingling.fetching.learning.snapshots import PageSnapshot
from shingling.fetching.learning.traps import Traps

if TYPE_CHECKING:
    from shingling.fetching.learning.parts import Parts
    from shingling.fetching.learning.rules import Reduced, SiteRules

MAX_PAGES_OF_SITE = 100_000
"""Fetched pages of a site that are remembered; later ones are never skipped to."""

MAX_SNAPSHOT_BYTES = 16_000_000
"""Of the pages of all sites that others can be compared with; the oldest are forgotten."""

MAX_REDUCED = 2_048
"""URLs of all sites whose reduction is remembered."""

MAX_URLS_OF_CONTENT = 12
"""Pages with one content, after reduction; with more it is an error page or a login."""

_URL_OF_ONE = 256  # characters, beyond which a URL counts as several pages
_NONE = -1
_SEVERAL_CONTENTS = -1
_MAX_RENEWED_AT_ONCE = 20  # keys of pages, with each page that is noted

_ids = count()


class Memory:
    """What is remembered of the fetched pages of all sites, besides their URLs and contents.

    It never grows beyond 80 MB, and hardly after the first thousands of pages. The keys of a site
    are its own.
    """

    def __init__(self) -> None:
        self.traps = Traps()
        self.snapshots = Ring(MAX_SNAPSHOT_BYTES)
        self.reduced: Recent[tuple[int, Parts], Reduced] = Recent(MAX_REDUCED)
        self.last_of_content = Table(18)  # last page with a content
        self.of_reduced = Table(19)  # first and last page that one more change leads to a URL
        self.links = Table(19)  # whether two pages have had a link
        self.content_of_place = Table(16)  # the only content of a path or value
        self.by_reduced_url = Table(19)  # page whose URL is reduced to a key
        self.counted = Table(18)  # contents that have counted for or against a change


class SitePages:
    """Fetched pages of a site, by their numbers.

    Args:
        memory: that it shares with other sites.

    Attributes:
        urls: of the pages.
        contents: hashes of what stays of them with each fetch.
        counted: pages, of which one with a long URL counts as several.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._id = next(_ids)  # a site that is met again after it was forgotten is another one
        self.urls: list[str] = []
        self.contents = array("q")
        self.counted = 0
        self._before = array("i")  # the page before each one that has its content, or none
        self._snapshots = array("q")  # places in the memory

    def add(self, url: str, content: int, snapshot: PageSnapshot) -> int:
        """Add a page, whose URL can be split; its number."""
        number = len(self.urls)
        self.urls.append(url)
        self.counted += 1 + len(url) // _URL_OF_ONE
        self.contents.append(content)
        self._before.append(_NONE)
        self._snapshots.append(self._memory.snapshots.put(snapshot.pack()))
        return number

    def parts(self, number: int) -> Parts:
        """Parts of the URL of a page."""
        parts = split(self.urls[number])
        assert parts is not None
        return parts

    def snapshot(self, number: int) -> PageSnapshot | None:
        """Snapshot of a page; None if it was forgotten."""
        packed = self._memory.snapshots.get(self._snapshots[number])
        return None if packed is None else PageSnapshot.unpack(packed)

    def keep_snapshot(self, number: int, snapshot: PageSnapshot) -> None:
        """Keep the newest snapshot of a page."""
        self._snapshots[number] = self._memory.snapshots.put(snapshot.pack())

    def with_content(self, content: int) -> list[int]:
        """Pages that have a content, at most `MAX_URLS_OF_CONTENT`: the earliest first."""
        found: list[int] = []
        number = self._memory.last_of_content.get(self._own(content))
        while number is not None and number != _NONE:
            found.append(number)
            number = self._before[number]
        return found[::-1]

    def add_to_content(self, number: int, earlier: list[int]) -> None:
        """Add a page to the earlier ones with its content."""
        self._before[number] = earlier[-1] if earlier else _NONE
        self._memory.last_of_content.put(self._own(self.contents[number]), number)

    def first_and_last(self, key: int, number: int) -> tuple[int, ...]:
        """Earlier pages that one more change leads to a URL; this one is the last from now on."""
        key, pages = self._own(key), self._memory.of_reduced
        found = pages.get(key)
        first, last = (number, number) if found is None else divmod(found, MAX_PAGES_OF_SITE)
        pages.put(key, first * MAX_PAGES_OF_SITE + number)
        return () if found is None else tuple(dict.fromkeys((first, last)))

    def has_one_content(self, place: object, content: int) -> bool:
        """Note a content of a path or value; whether it has had no other, and several URLs."""
        key, places = self._own(place), self._memory.content_of_place
        before = places.get(key)
        if before is None:
            places.put(key, content)
        elif before != content:
            places.put(key, _SEVERAL_CONTENTS)
        return before == content

    def by_reduced_url(self, key: int) -> int | None:
        """Page whose URL was last reduced to a key."""
        return self._memory.by_reduced_url.get(self._own(key))

    def put_by_reduced_url(self, key: int, number: int) -> None:
        """Let a page be found by the key to which its URL is reduced."""
        self._memory.by_reduced_url.put(self._own(key), number)

    def note_links(self, keys: list[int]) -> None:
        """Note the links of a page, by their keys."""
        links = self._memory.links
        for key in map(self._own, keys):
            links.put(key, links.get(key) is not None)

    def is_link_of_several(self, key: int) -> int | None:
        """Whether several pages have had a link; None if no page had it."""
        return self._memory.links.get(self._own(key))

    def _own(self, key: object) -> int:
        """Key of this site in what all sites share."""
        return hash((self._id, key))


class PagesByReducedUrl:
    """Numbers of pages by the keys of their URLs, as rules reduce these.

    When rules change, so do the keys. They are renewed little by little, while pages are noted.

    Args:
        rules: of the site.
        pages: of the site.
    """

    def __init__(self, rules: SiteRules, pages: SitePages) -> None:
        self._rules = rules
        self._pages = pages
        self._next = 0  # page whose key is renewed next
        self._left = 0  # pages whose keys may be old

    def find(self, key: int) -> int | None:
        """Page whose URL is reduced to this key; by an old key, it may be one that was."""
        return self._pages.by_reduced_url(key)

    def add(self, number: int) -> None:
        """Let a page be found by what its URL is reduced to, if no earlier one is."""
        key = self._key_of(number)
        other = self.find(key)
        if other is None or self._key_of(other) != key:  # by rules that were unlearned
            self._pages.put_by_reduced_url(key, number)

    def _key_of(self, number: int) -> int:
        return self._rules.reduce(self._pages.parts(number)).key

    def renew_all(self) -> None:
        """Renew the keys of all pages from now on: the rules have changed."""
        self._left = len(self._pages.urls)

    def renew_some(self) -> None:
        """Renew the keys of some pages."""
        number_of_pages = len(self._pages.urls)
        for _ in range(min(_MAX_RENEWED_AT_ONCE, self._left)):
            self.add(self._next)
            self._next = (self._next + 1) % number_of_pages
            self._left -= 1
