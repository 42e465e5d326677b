"""Crawls in memory: a site, and who decides which requests are made; no HTTP, no extraction.

The order is Scrapy's: what was found last is requested first, with 16 requests under way.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import fingerprint

if TYPE_CHECKING:
    from benchmarks.fetches.deciders import Decider
    from benchmarks.fetches.site import Shown, Site

MAX_FETCHES = 15_000
_UNDER_WAY = 16


@dataclass
class Crawl:
    """What a crawl has fetched.

    Args:
        urls: fetched, in their order.
        contents: unique pages that were seen, with the number of the fetch that saw them first.
        first_skip: number of fetches before the first request was not made; None: all were made.
        skipped: requests that were not made.
        seconds: of CPU that each decision took, without the garbage collector, which would go
            through all pages of the site.
    """

    urls: list[str] = field(default_factory=list)
    contents: dict[str, int] = field(default_factory=dict)
    first_skip: int | None = None
    skipped: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def forms(self, site: Site) -> int:
        """Count the fetches that a crawl needs which knows all right rules, of the same URLs."""
        return len({site.form(url) for url in self.urls})


def crawl(site: Site, decider: Decider, *, change_after: int | None = None) -> Crawl:
    """Crawl a site.

    Args:
        site: that is crawled.
        decider: of its requests.
        change_after: fetches after which the site changes.
    """
    done, seen = Crawl(), {_key(site.start)}
    todo: list[tuple[str, bool]] = [(site.start, True)]
    under_way: deque[tuple[str, tuple[str, ...], Shown]] = deque()
    while (todo or under_way) and len(done.urls) < MAX_FETCHES:
        if todo and len(under_way) < _UNDER_WAY:
            url, forced = todo.pop()
            if not forced:
                gc.disable()
                began = time.thread_time()
                skips = decider.skips(url)
                done.seconds.append(time.thread_time() - began)
                gc.enable()
                if skips:
                    done.skipped.append(url)
                    if done.first_skip is None:
                        done.first_skip = len(done.urls)
                    continue
            under_way.append(_fetch(site, url, done))
            if change_after is not None and len(done.urls) >= change_after:
                site.changed = True
            continue
        url, requested, shown = under_way.popleft()
        todo += [(again, True) for again in decider.fetched(url, requested, shown)]
        for link in shown.links:
            key = _key(link)
            if key not in seen:
                seen.add(key)
                todo.append((link, False))
    return done


def _fetch(site: Site, url: str, done: Crawl) -> tuple[str, tuple[str, ...], Shown]:
    """Fetch a URL, and what it redirects to."""
    requested: list[str] = []
    while True:
        shown = site.show(url, len(done.urls))
        done.urls.append(url)
        if shown.content is not None:
            done.contents.setdefault(shown.content, len(done.urls))
        if shown.location is None:
            return url, tuple(requested), shown
        requested.append(url)
        url = shown.location


def _key(url: str) -> bytes:
    """Make what Scrapy's filter of duplicate requests compares."""
    return fingerprint(Request(url))
