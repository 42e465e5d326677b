"""Crawls in memory: pages are extracted from HTML, and decided by a store as in a crawl."""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from threading import Barrier
from typing import TYPE_CHECKING, Any

from shingling import Page, Scheme, Store
from shingling.extraction.pages import Fetched, PageExtractor
from shingling.rules.rules import RuleValues
from shingling.rules.values import own_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shingling import Verdict
    from shingling.extraction.pages import Extraction

_BATCH = 16
_FIRST_SECOND, _DAY = 1_790_000_000, 86_400
_extractor = cache(lambda: PageExtractor(Scheme(), refuse_apps=True))


@lru_cache(10_000)
def _extracted(url: str, html: str) -> Extraction:
    return _extractor().extract(Fetched(html.encode(), is_html=True, url=url))


def _page(url: str, html: str, day: int) -> Page:
    """Make the document of an item with the URL and the title of its page."""
    read = _extracted(url, html)
    return Page(
        url=url,
        prepared=read.prepared,
        signature=read.signature,
        title=read.title,
        language=read.language,
        reason=read.reason,
        fetched=_FIRST_SECOND + day * _DAY,
        fields=own_fields((), [url], title=("title", read.title)),
    )


@dataclass(frozen=True)
class Crawls:
    """Crawls of one store, one a day.

    Args:
        url: of the store.
        moving_lines: the rule.
        writers: at the same time, each with a store, a run and pages of its own.
    """

    url: str
    moving_lines: str = "count"
    writers: int = 1

    def crawl(self, day: int, pages: Mapping[str, str]) -> dict[str, Verdict]:
        """Decide pages, which are HTML by URL, in their order; the first day is 0."""
        shares: list[list[Page]] = [[] for _ in range(self.writers)]
        for url, html in pages.items():
            shares[zlib.crc32(url.encode()) % self.writers].append(_page(url, html, day))
        all_begun = Barrier(self.writers)
        with ThreadPoolExecutor(self.writers) as pool:
            decided = [*pool.map(self._write, shares, [all_begun] * self.writers)]
        return {url: verdict for share in decided for url, verdict in share.items()}

    def _write(self, pages: Sequence[Page], all_begun: Barrier) -> dict[str, Verdict]:
        rules: dict[str, Any] = {"moving_lines": self.moving_lines}
        if not rules.keys() <= RuleValues.__annotations__.keys():  # as releases before it
            rules = {}
        verdicts: list[Verdict] = []
        with Store.open(self.url, **rules) as store:
            run = store.start_run("moving", is_crawl=True)
            all_begun.wait(60)
            for at in range(0, len(pages), _BATCH):
                verdicts += store.check(pages[at : at + _BATCH], run=run)
            store.finish_run(run, "finished")
        return {page.url: verdict for page, verdict in zip(pages, verdicts, strict=True)}


def coming_out(verdicts: Mapping[str, Verdict], *, drop_unchanged: bool = False) -> set[str]:
    """URLs of the items that come out of a crawl, with or without DEDUP_DROP_UNCHANGED."""
    dropped = {"crawl", "store"} if drop_unchanged else {"crawl"}
    return {
        url
        for url, verdict in verdicts.items()
        if not (verdict.is_duplicate or verdict.repeats in dropped)
    }
