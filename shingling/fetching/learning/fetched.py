"""Pages of a site that were fetched, found by URLs and contents; links that were seen on them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from shingling.fetching.learning.identity import Look

MAX_LOOKS = 4_096
"""Pages of a site that others can be compared with; the oldest are forgotten."""

MAX_CONTENTS = 8_192
"""Contents of a site that are found by their hash; the oldest are forgotten."""

MAX_PAIR_KEYS = 24_576
"""Keys by which pages are found that one more change would make equal; oldest forgotten."""

MAX_PATHS = 4_096
"""Paths of a site of which it is known whether they have one content; oldest forgotten."""

MAX_URLS_OF_CONTENT = 12
"""Different URLs of one content, after reduction; with more it is an error page or a login."""


_SEVERAL_CONTENTS = -1
_FIRST_BITS = 1 << 14
_MOST_BITS = 1 << 22  # 512 KB
_BITS_A_LINK = 10
_HASHES = 4
_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(Generic[_K, _V]):
    """A mapping of the last entries: of the last half of `most` in any case.

    Args:
        most: entries that it has at most.
    """

    def __init__(self, most: int) -> None:
        self._half = most // 2
        self._new: dict[_K, _V] = {}
        self._old: dict[_K, _V] = {}

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def get(self, key: _K) -> _V | None:
        """Value of a key; None where it is not known, or forgotten."""
        value = self._new.get(key)
        return self._old.get(key) if value is None else value

    def put(self, key: _K, value: _V) -> None:
        """Set the value of a key."""
        if len(self._new) >= self._half:
            self._old, self._new = self._new, {}
        self._new[key] = value


class FetchedPages:
    """Fetched pages, each with a number.

    Args:
        most: pages that are kept; later ones are not added, and so never skipped to.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.urls: list[str] = []
        self._contents = array("Q")
        self._looks: Recent[int, Look] = Recent(MAX_LOOKS)
        self._by_content: Recent[int, tuple[int, ...]] = Recent(MAX_CONTENTS)
        self._by_url: dict[int, int] = {}
        self._of_path: Recent[int, int] = Recent(MAX_PATHS)
        self._by_pair: Recent[int, int] = Recent(MAX_PAIR_KEYS)
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return len(self.urls)

    def add(self, url: str, look: Look, *, has_changed: bool = False) -> int | None:
        """Keep a page; None where there is no room."""
        number = len(self.urls)
        if number >= self._most:
            return None
        if has_changed:
            self._changed.add(number)
        self.urls.append(url)
        self._contents.append(look.content)
        self._looks.put(number, look)
        return number

    def has_changed(self, number: int) -> bool:
        """Whether a page has another text than in an earlier crawl."""
        return number in self._changed

    def look(self, number: int) -> Look | None:
        """Look up what was kept of a page, if that is not too long ago."""
        return self._looks.get(number)

    def content(self, number: int) -> int:
        """Content of a page."""
        return self._contents[number]

    def same_content(self, content: int) -> tuple[int, ...]:
        """First pages with a content."""
        return self._by_content.get(content) or ()

    def is_everywhere(self, content: int) -> bool:
        """Whether a content has so many URLs that it says nothing."""
        return len(self.same_content(content)) >= MAX_URLS_OF_CONTENT

    def add_content(self, content: int, number: int) -> None:
        """Remember that a page has a content."""
        pages = self._by_content.get(content) or ()
        if len(pages) < MAX_URLS_OF_CONTENT:
            self._by_content.put(content, (*pages, number))

    def by_url(self, key: int) -> int | None:
        """Page whose URL had this key when it was last reduced."""
        return self._by_url.get(key)

    def set_url(self, key: int, number: int) -> None:
        """Find a page by the key of its reduced URL; the first one stays."""
        self._by_url.setdefault(key, number)

    def forget_old_urls(self) -> None:
        """Forget keys of URLs if most are of rules that do not hold any more."""
        if len(self._by_url) > 2 * len(self.urls) + 1000:
            self._by_url = {}

    def has_one_content(self, segments: tuple[str, ...], content: int) -> bool:
        """Note a content of a path; whether it has not had any other, and more than one URL."""
        path = hash(segments)
        before = self._of_path.get(path)
        if before is None:
            self._of_path.put(path, content)
        elif before != content:
            self._of_path.put(path, _SEVERAL_CONTENTS)
        return before == content

    def pair(self, key: int, number: int) -> int | None:
        """First page with this key; from now on the one given, where there is none."""
        found = self._by_pair.get(key)
        if found is None:
            self._by_pair.put(key, number)
        return found


class SeenLinks:
    """Hashes of links that were seen on a site, in Bloom filters, so that memory is bounded.

    Few are taken for seen although they were not. It begins small, and grows by adding filters of
    twice the size.
    """

    def __init__(self) -> None:
        self._filters = [bytearray(_FIRST_BITS // 8)]
        self._room = _FIRST_BITS // _BITS_A_LINK

    def add(self, key: int) -> None:
        """Add the hash of a link."""
        if key in self:
            return
        if self._room <= 0:
            bits = len(self._filters[-1]) * 16
            if bits > _MOST_BITS:
                return
            self._filters.append(bytearray(bits // 8))
            self._room = bits // _BITS_A_LINK
        self._room -= 1
        last = self._filters[-1]
        for place in _places(key, len(last) * 8):
            last[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: int) -> bool:
        return any(
            all(bits[place >> 3] & (1 << (place & 7)) for place in _places(key, len(bits) * 8))
            for bits in self._filters
        )


def _places(key: int, bits: int) -> list[int]:
    key &= (1 << 64) - 1
    step = (key >> 32) | 1
    return [(key + number * step) % bits for number in range(_HASHES)]
