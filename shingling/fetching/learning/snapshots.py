"""Snapshots: what is kept of a fetched page, so that others can be compared with it.

A page is the collection of its lines, of long ones of their sentences, in any order: a list that is
only sorted in another way is the same. Stock, views, times and random neighbours differ each time
that a page is fetched. Such sentences are learned from pages of which one URL was fetched twice:
those with the same first two or last two words, numbers aside ("# people are ... right now"). Two
URLs have the same page if they differ only in sentences of such kinds.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from shingling.fetching.learning.pages import FetchedPage

MIN_KEPT = 0.3
"""Share of sentences that two pages have in common, so that they may be one."""

_MIN_WORDS = 8  # of a page: with fewer, it is no evidence, but empty or an error
_MAX_LINKS_KEPT = 40  # of a page, which are compared
_MAX_SENTENCES = 512  # of a page: longer ones are the same only if all words are
_MAX_VOLATILE = 512  # kinds of sentences of a site that change with each fetch
_LONG_LINE = 200  # characters
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+")
_DIGIT = re.compile(r"\d")
_BYTES_OF_SNAPSHOT = 400  # besides its sentences and links


class PageSnapshot(NamedTuple):
    """What is kept of a fetched page.

    Args:
        content: 64-bit hash of its title and all words, which differs between processes: nobody can
            make up texts whose hashes share a place in a table.
        sentences: hash and two kinds of each; empty if there are too many.
        links: a sample, compressed.
        shows: hash of the page that its item stands for.
        says_more: it or its item says what a page that it resembles does not say.
    """

    content: int
    sentences: bytes
    links: bytes
    shows: int
    says_more: bool

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return _BYTES_OF_SNAPSHOT + len(self.sentences) + len(self.links)


def take_snapshot(page: FetchedPage) -> PageSnapshot | None:
    """Keep what is to be compared of a page; None if it has too few words."""
    signature = page.signature
    if signature is None or signature.words < _MIN_WORDS:
        return None
    title = page.title or ""
    links = "\n".join(_sample(page.links))
    return PageSnapshot(
        hash((signature.text_hash, title)),
        _sentences(f"{title}\n{page.text}").tobytes() if page.text else b"",
        zlib.compress(links.encode("utf-8", "surrogatepass"), 1),
        hash(page.shows),
        page.says_more,
    )


def links_of(snapshot: PageSnapshot) -> list[str]:
    """Links that were kept of a page."""
    text = zlib.decompress(snapshot.links).decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


class VolatileSentences:
    """The kinds of sentences of a site that change with each fetch.

    Attributes:
        kinds: hashes of them, the newest last.
    """

    def __init__(self) -> None:
        self.kinds: dict[int, None] = {}

    def learn(self, before: PageSnapshot, after: PageSnapshot) -> bool:
        """Learn from one URL that was fetched twice; whether that has shown something new."""
        kept, changed = changed_sentences(before, after)
        if kept < MIN_KEPT:
            return False  # it shows another page now
        new = [sentence for sentence in changed if not self.has(sentence)]
        for _, first, last in new:
            self.kinds |= {first: None, last: None}
        while len(self.kinds) > _MAX_VOLATILE:
            del self.kinds[next(iter(self.kinds))]
        return bool(new)

    def content(self, snapshot: PageSnapshot) -> int:
        """64-bit hash of what stays of a page, in any order."""
        if not self.kinds or not snapshot.sentences:
            return snapshot.content
        return hash(
            frozenset(sentence[0] for sentence in _read(snapshot) if not self.has(sentence))
        )

    def has(self, sentence: tuple[int, int, int]) -> bool:
        """Whether a sentence is of such a kind, by its hash and its two kinds."""
        return sentence[1] in self.kinds or sentence[2] in self.kinds


def _sentences(text: str) -> array[int]:
    found = array("q")
    before = ""
    for sentence in chain.from_iterable(
        _SENTENCE.split(line) if len(line) > _LONG_LINE else (line,) for line in text.split("\n")
    ):
        words = sentence.split()
        if not words:
            continue
        if len(found) >= 3 * _MAX_SENTENCES:
            return array("q")
        first, last = _without_numbers(words[:2]), _without_numbers(words[-2:])
        if not {*first, *last} - {"#", " "}:  # numbers alone are known by what is before them
            first = last = f"{before}\n{first}"
        before = first[:200]
        found.extend((hash(" ".join(words)), hash(f"{first} …"), hash(f"… {last}")))
    return found


def _without_numbers(words: list[str]) -> str:
    return " ".join("#" if _DIGIT.search(word) else word for word in words)


def _read(snapshot: PageSnapshot) -> Iterator[tuple[int, int, int]]:
    values = array("q")
    values.frombytes(snapshot.sentences)
    return zip(values[::3], values[1::3], values[2::3], strict=True)


def changed_sentences(
    a: PageSnapshot, b: PageSnapshot
) -> tuple[float, Collection[tuple[int, int, int]]]:
    """Share of sentences that two pages have in common, and those that only one of them has."""
    if not a.sentences or not b.sentences:
        return 0.0, ()
    first = Counter(_read(a))
    second = Counter(_read(b))
    changed = (first - second) + (second - first)
    most = max(first.total(), second.total())
    return (first & second).total() / most, changed


def _sample(links: Collection[str]) -> list[str]:
    """At most 40 links: of two copies of a page, those to the same pages."""
    unique = list(dict.fromkeys(link[:1024] for link in links if "\n" not in link[:1024]))
    if len(unique) > _MAX_LINKS_KEPT:
        unique.sort(key=_hash_of_last_segment)
    return unique[:_MAX_LINKS_KEPT]


def _hash_of_last_segment(link: str) -> int:
    last = link.partition("?")[0].rpartition("/")[2]
    return zlib.crc32(last.encode("utf-8", "replace"))
