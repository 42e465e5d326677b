"""Pages of a site that were fetched, found by their URLs and by their contents."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shingling.urls.identity import Look

MAX_LOOKS = 4_096
"""Pages of a site that others can be compared with; the oldest are forgotten."""

MAX_CONTENTS = 8_192
"""Contents of a site that are found by their hash; the oldest are forgotten."""

MAX_PAIR_KEYS = 24_576
"""Keys by which pages are found that one more change would make equal; oldest forgotten."""

MAX_URLS_OF_CONTENT = 12
"""Different URLs of one content, after reduction; with more it is an error page or a login."""


class FetchedPages:
    """Fetched pages, each with a number.

    Args:
        most: pages that are kept; later ones are not added, and so never skipped to.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.urls: list[str] = []
        self._contents = array("Q")
        self._looks: dict[int, Look] = {}
        self._by_content: dict[int, tuple[int, ...]] = {}
        self._by_url: dict[int, int] = {}
        self._by_pair: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.urls)

    def add(self, url: str, look: Look) -> int | None:
        """Keep a page; None where there is no room."""
        number = len(self.urls)
        if number >= self._most:
            return None
        self.urls.append(url)
        self._contents.append(look.content)
        self._looks[number] = look
        if len(self._looks) > MAX_LOOKS:
            del self._looks[next(iter(self._looks))]
        return number

    def look(self, number: int) -> Look | None:
        """What was kept of a page, if that is not too long ago."""
        return self._looks.get(number)

    def content(self, number: int) -> int:
        """Content of a page."""
        return self._contents[number]

    def same_content(self, content: int) -> tuple[int, ...] | None:
        """Pages with a content; None where it has too many URLs to say anything."""
        pages = self._by_content.get(content, ())
        return pages if len(pages) < MAX_URLS_OF_CONTENT else None

    def add_content(self, content: int, number: int) -> None:
        """Remember that a page has a content."""
        pages = self._by_content.get(content, ())
        if len(pages) < MAX_URLS_OF_CONTENT:
            self._by_content[content] = (*pages, number)
        if len(self._by_content) > MAX_CONTENTS:
            del self._by_content[next(iter(self._by_content))]

    def by_url(self, key: int) -> int | None:
        """Page whose URL had this key when it was last reduced."""
        return self._by_url.get(key)

    def set_url(self, key: int, number: int) -> None:
        """Find a page by the key of its reduced URL; the first one stays."""
        self._by_url.setdefault(key, number)

    def forget_urls(self) -> None:
        """Forget all keys of URLs."""
        self._by_url = {}

    @property
    def url_keys(self) -> int:
        """Keys of URLs, including those of earlier rules."""
        return len(self._by_url)

    def pair(self, key: int, number: int) -> int | None:
        """First page with this key; from now on the one given, where there is none."""
        found = self._by_pair.setdefault(key, number)
        if len(self._by_pair) > MAX_PAIR_KEYS:
            del self._by_pair[next(iter(self._by_pair))]
        return None if found == number else found
