"""The fetched pages of a site, and the ways in which they are found again."""

from __future__ import annotations

from array import array
from itertools import count
from typing import TYPE_CHECKING

from shingling.fetching.learning.changes import kind_of
from shingling.fetching.learning.parts import split
from shingling.fetching.learning.recent import RecentValues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shingling.fetching.learning.parts import Parts
    from shingling.fetching.learning.rules import SiteRules
    from shingling.fetching.learning.snapshots import PageSnapshot

MAX_PAGES_OF_SITE = 100_000
"""Fetched pages of a site that are remembered; later ones are never skipped to."""

_URL_OF_ONE = 256  # characters, beyond which a URL counts as several pages
_SEVERAL_CONTENTS = -1
_WEIGHT_OF_LAST = 1 / 32  # of the last page of a kind, in the share of new ones
_MAX_KINDS = 4096  # of URLs of a site
_MAX_RENEWED_AT_ONCE = 20  # keys of pages, with each page that is noted

_ids = count()


class SitePages:
    """Fetched pages of a site, by their numbers, and the keys by which they are found again.

    A page is found by the key of its URL, as the rules reduce it. When rules change, so do the
    keys: they are renewed little by little, while pages are noted.

    Args:
        rules: of the site.

    Attributes:
        rules: of the site.
        urls: of the pages.
        contents: hashes of what stays of them with each fetch.
        new: of each, 1 if no earlier crawl has met it.
        counted: pages, of which one with a long URL counts as several.
    """

    def __init__(self, rules: SiteRules) -> None:
        self.rules = rules
        self._memory = rules.memory
        self._id = next(_ids)  # a site that is met again after it was forgotten is another one
        self.urls: list[str] = []
        self.contents = array("q")
        self.new = bytearray()
        self.counted = 0
        self._new_of_kind = RecentValues[int, float](_MAX_KINDS)
        self._next_renewed = 0  # page whose key is renewed next
        self._version = rules.version  # of the rules by which keys are renewed
        self._old_keys = 0  # pages whose keys may be of former rules

    def add_page(self, url: str, content: int, snapshot: PageSnapshot, is_new: bool) -> int:
        """Add a page, whose URL can be split; its number."""
        number = len(self.urls)
        self.urls.append(url)
        self.counted += 1 + len(url) // _URL_OF_ONE
        self.contents.append(content)
        self.new.append(is_new)
        self.keep_snapshot(number, snapshot)
        return number

    def parts(self, number: int) -> Parts:
        """Parts of the URL of a page."""
        parts = split(self.urls[number])
        assert parts is not None
        return parts

    def snapshot(self, number: int) -> PageSnapshot | None:
        """Snapshot of a page; None if it was forgotten."""
        return self._memory.snapshots.get(self._own(number))

    def keep_snapshot(self, number: int, snapshot: PageSnapshot) -> None:
        """Keep the newest snapshot of a page."""
        self._memory.snapshots.put(self._own(number), snapshot)

    def copies(self, number: int) -> tuple[int, ...]:
        """First and last earlier page with the content of a page, which is the last from now on."""
        return self.first_and_last(hash(("content", self.contents[number])), number)

    def has_copy(self, number: int) -> bool:
        """Whether the content of a page has several URLs."""
        key = self._own(hash(("content", self.contents[number])))
        first, last = divmod(self._memory.first_and_last.get(key) or 0, MAX_PAGES_OF_SITE)
        return first != last

    def first_and_last(self, key: int, number: int) -> tuple[int, ...]:
        """First and last earlier page with a key; a page itself is the last from now on.

        Args:
            key: of its URL, as it is or by one more change, or of its content.
            number: of the page.
        """
        key, pages = self._own(key), self._memory.first_and_last
        ends = pages.get(key)
        first, last = (number, number) if ends is None else divmod(ends, MAX_PAGES_OF_SITE)
        pages.put(key, first * MAX_PAGES_OF_SITE + number)
        return () if ends is None else tuple(dict.fromkeys((first, last)))

    def has_one_content(self, place: object, content: int) -> bool:
        """Note a content of a path or value; whether it had this one before, and no other."""
        key, places = self._own(place), self._memory.content_of_place
        before = places.get(key)
        if before != content:
            places.put(key, content if before is None else _SEVERAL_CONTENTS)
        return before == content

    def find(self, key: int) -> int | None:
        """Page whose URL is reduced to a key; if the rules have changed, one whose URL was."""
        return self._memory.by_reduced_url.get(self._own(key))

    def add_key(self, number: int) -> None:
        """Let a page be found by the key of its URL, if no earlier page is."""
        key = self.rules.key(self.urls[number])
        other = self.find(key)
        if other is None or self.rules.key(self.urls[other]) != key:  # by former rules
            self._memory.by_reduced_url.put(self._own(key), number)

    def renew_some_keys(self) -> None:
        """Renew the keys of the next pages whose keys may be old: all, if rules have changed."""
        if self._version != self.rules.version:
            self._version, self._old_keys = self.rules.version, len(self.urls)
        for _ in range(min(_MAX_RENEWED_AT_ONCE, self._old_keys)):
            self.add_key(self._next_renewed)
            self._next_renewed = (self._next_renewed + 1) % len(self.urls)
            self._old_keys -= 1

    def note_links(self, keys: Iterable[int]) -> None:
        """Note the links of a page, by their keys."""
        links = self._memory.links
        for key in map(self._own, keys):
            links.put(key, links.get(key) is not None)

    def is_link_of_several(self, key: int) -> int | None:
        """Whether several pages have had a link: 1, or 0 if a single page had it; None if none."""
        return self._memory.links.get(self._own(key))

    def note_kind(self, parts: Parts, is_new: bool) -> None:
        """Note whether a page showed what no earlier one has shown, for the kind of its URL."""
        kind = kind_of(parts)
        before = self._new_of_kind.get(kind)
        share = 1.0 if before is None else before
        self._new_of_kind.put(kind, share + _WEIGHT_OF_LAST * (is_new - share))

    def new_share(self, link: str) -> float:
        """Share of new pages among the last ones of the kind of a link; 1 if it is not known."""
        parts = split(link)
        share = None if parts is None else self._new_of_kind.get(kind_of(parts))
        return 1.0 if share is None else share

    def _own(self, key: object) -> int:
        """Key of this site in what all sites share."""
        return hash((self._id, key))
