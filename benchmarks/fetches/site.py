"""A simulated site: what it shows under each URL, and the truth about its URLs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from hashlib import blake2b
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from benchmarks.fetches.texts import articles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.fetches.texts import Text


@dataclass(frozen=True)
class Shown:
    """What a site shows under a URL.

    Args:
        content: name of the unique page; None where there is nothing to lose: a login form, a page
            that is not there, a redirect.
        title: of the page.
        paragraphs: of its text.
        links: absolute URLs.
        canonical: what it claims as its `rel=canonical`.
        location: that it redirects to.
    """

    content: str | None
    title: str = ""
    paragraphs: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    canonical: str | None = None
    location: str | None = None

    @property
    def text(self) -> str:
        """The main text, as an extractor would give it."""
        return "\n".join((self.title, *self.paragraphs))

    def html(self) -> str:
        """Write the page as it is served."""
        claim = "" if self.canonical is None else escape(self.canonical)
        canonical = f'<link rel="canonical" href="{claim}">' if claim else ""
        links = "".join(f'<li><a href="{escape(url)}">more</a></li>' for url in self.links)
        paragraphs = "".join(f"<p>{escape(one)}</p>" for one in self.paragraphs)
        return (
            '<!DOCTYPE html><html><head><meta charset="utf-8">'
            f"<title>{escape(self.title)}</title>{canonical}</head><body>"
            f"<article><h1>{escape(self.title)}</h1>{paragraphs}</article>"
            f"<nav><ul>{links}</ul></nav></body></html>"
        )


@dataclass
class Address:
    """A URL in parts that a site works with."""

    host: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    scheme: str = "http"

    @classmethod
    def of(cls, url: str) -> Address:
        """Take a URL apart; of a repeated parameter the last value counts."""
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(parts.netloc, parts.path or "/", query, parts.scheme)

    def __str__(self) -> str:
        query = f"?{urlencode(self.query)}" if self.query else ""
        return f"{self.scheme}://{self.host}{self.path}{query}"

    @property
    def segments(self) -> list[str]:
        """Of the path, without empty ones."""
        return [one for one in self.path.split("/") if one]


class Site(ABC):
    """A simulated site.

    Args:
        seed: of everything that is random; one seed gives one site.
        data: folder of the labelled data.

    Attributes:
        name: of the site.
        host: that its links go to.
        start: URL that a crawl begins with.
        renderings: of each page, with other links.
        can_change: whether there is a parameter that may begin to matter.
        changed: it matters from now on.
        visit: number of the request that is answered.
    """

    name: str
    host: str
    start: str
    renderings = 2
    can_change = False

    def __init__(self, seed: int, data: Path) -> None:
        self.seed = seed
        self.changed = False
        self.visit = 0
        self._make(data)

    @abstractmethod
    def _make(self, data: Path) -> None:
        """Choose what the site shows."""

    def show(self, url: str, visit: int) -> Shown:
        """Show a URL.

        Args:
            url: of this site.
            visit: number of the request, for what is new each time.
        """
        self.visit = visit
        return self._show(Address.of(url), self.dice(self.form(url), visit % self.renderings))

    @abstractmethod
    def _show(self, at: Address, dice: random.Random) -> Shown:
        """Show a URL; `dice` are those of a rendering of its page, under whatever URL."""

    def form(self, url: str) -> str:
        """Name what all URLs share that a crawl with all right rules fetches once."""
        return str(self._form(Address.of(url)))

    @abstractmethod
    def _form(self, at: Address) -> Address:
        """Return the address that stands for all of its form."""

    def dice(self, *about: object) -> random.Random:
        """Random numbers that depend on the seed of the site and on what they are about."""
        key = "\0".join(map(str, (self.name, self.seed, *about)))
        return random.Random(blake2b(key.encode(), digest_size=8).digest())

    def url(self, path: str, query: Mapping[str, object], host: str | None = None) -> str:
        """Write a URL of the site."""
        shown = {name: str(value) for name, value in query.items()}
        return str(Address(host or self.host, path, shown))

    def shuffled(self, members: Iterable[int], order: str) -> list[int]:
        """Put the members of a list into an order, by its name."""
        return sorted(members, key=lambda one: self.dice(order, one).random())

    def articles(self, data: Path, count: int) -> list[Text]:
        """Choose some of the English articles."""
        return self.dice("texts").sample(articles(data), count)

    def missing(self, home: str) -> Shown:
        """Show the page for what is not there; such sites answer with status 200."""
        text = "The page that you are looking for is not here. It may have been moved or removed."
        return Shown(None, "Not found", (text, "Try the start page, or the search."), (home,))


@dataclass
class Visit:
    """What a crawl fetches of a site.

    Args:
        site: that is crawled.

    Attributes:
        urls: fetched, in their order; redirects are fetches.
        contents: unique pages that were shown.
        links: URLs that were on them.
    """

    site: Site
    urls: list[str] = field(default_factory=list, init=False)
    contents: set[str] = field(default_factory=set, init=False)
    links: set[str] = field(default_factory=set, init=False)

    def fetch(self, url: str) -> Shown:
        """Fetch a URL."""
        shown = self.site.show(url, len(self.urls))
        self.urls.append(url)
        if shown.content is not None:
            self.contents.add(shown.content)
        return shown

    @property
    def saveable(self) -> int:
        """Fetches less one for each form of the URLs: what rules could save, if none was."""
        return len(self.urls) - len({self.site.form(url) for url in self.urls})

    def lost(self, plain: Visit) -> tuple[int, int]:
        """Count contents that only another crawl has seen, and those to which a page has a link.

        To the others only pages have one that show other links with each visit, and were visited
        less often.
        """
        lost = plain.contents - self.contents
        linked = {self.site.show(url, 0).content for url in self.links} if lost else set()
        return len(lost), len(lost & linked)


def paged(text: Text) -> tuple[str, tuple[str, ...]]:
    """Title and paragraphs of a text."""
    return text.title, text.paragraphs


def teasers(texts: Iterable[Text]) -> tuple[str, ...]:
    """Paragraphs of a list of texts: title and first words of each."""
    return tuple(f"{text.title}: {' '.join(text.words[:30])}" for text in texts)


def without(query: Mapping[str, str], *names: str) -> dict[str, str]:
    """Parameters but for some, in alphabetical order."""
    return {name: query[name] for name in sorted(query) if name not in names}
