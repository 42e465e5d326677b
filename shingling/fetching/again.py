"""Skipped requests: kept for as long as a rule may turn out to be wrong, then made after all."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from shingling.fetching.requests import from_json, to_json
from shingling.fetching.rows import SkippedUrl
from shingling.fetching.stored_rules import read_skipped
from shingling.plugin.items.extracting import detached_task
from shingling.store import safe_url, site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler

    from shingling.fetching.learning import Contradiction, Skip
    from shingling.fetching.sharing import SharedLearner
    from shingling.store.session import Session

_MAX_OBJECTS = 2_000  # requests that cannot be written as JSON
_MAX_HASHES = 1_000_000  # of URLs that this crawl has skipped
_MADE_AT_ONCE = 20  # before the event loop does something else


class SkippedRequests:
    """Requests that were skipped, by this crawl and by former ones of the same spider.

    Args:
        crawler: that makes them.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._objects: dict[str, Request] = {}
        self._here: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.number = 0

    @property
    def is_busy(self) -> bool:
        """Whether some are just being made after all."""
        return bool(self._tasks)

    def keep(self, shared: SharedLearner, request: Request, skip: Skip) -> None:
        """Keep a request that is skipped."""
        spider = self._crawler.spider
        assert spider is not None
        self.number += 1
        if len(self._here) < _MAX_HASHES:
            self._here.add(hash(request.url))
        written = to_json(request, spider)
        if written is None and len(self._objects) < _MAX_OBJECTS:
            self._objects[safe_url(request.url)] = request
        site = site_of(request.url)
        kept = SkippedUrl(site, request.url, skip.page, skip.rules, written, spider.name)
        shared.skipped.append(kept)

    def site_read(self, shared: SharedLearner, site: str) -> None:
        """Make requests of former crawls that no rule skips any more."""

        def is_skipped_no_more(one: SkippedUrl) -> bool:
            acting = shared.learner.acting(one.url) | shared.learner.acting(one.page)
            return not acting.issuperset(one.rules)

        self._start(self._make_owed(shared, site, is_skipped_no_more))

    def unlearned(self, shared: SharedLearner, gone: Iterable[Contradiction]) -> None:
        """Make requests after all that were skipped by rules that do not hold any more."""
        for site in {one.site for one in gone}:
            changes = {one.change for one in gone if one.site == site}
            self._start(self._make_owed(shared, site, partial(is_owed, shared, changes)))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = detached_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _make_owed(
        self, shared: SharedLearner, site: str, is_owed: Callable[[SkippedUrl], bool]
    ) -> None:
        owed = []
        for number, one in enumerate(await self._of(shared, site)):
            if number % _MADE_AT_ONCE == 0:
                await asyncio.sleep(0)
            if is_owed(one):
                owed.append(one)
        await self._make(shared, owed)

    async def _of(self, shared: SharedLearner, site: str) -> list[SkippedUrl]:
        """Skipped requests of a site, by this crawl or former ones."""
        spider = self._crawler.spider
        assert spider is not None
        await shared.save()
        read = await shared.ask(partial(_read_skipped, site=site, spider=spider.name))
        unsaved = [one for one in shared.skipped if one.site == site]
        return [*{one.url: one for one in [*(read or []), *unsaved]}.values()]

    async def _make(self, shared: SharedLearner, owed: Iterable[SkippedUrl]) -> None:
        spider, engine = self._crawler.spider, self._crawler.engine
        if spider is None or engine is None:
            return
        goes_on = bool(self._crawler.settings.get("JOBDIR"))  # and knows all URLs of before
        for number, one in enumerate(owed):
            if number % _MADE_AT_ONCE == 0:
                await asyncio.sleep(0)
            request = self._objects.pop(one.url, None) or from_json(one.request, one.url, spider)
            shared.made.append((one.spider, one.url))
            if request is None:
                self._crawler.stats.inc_value("dedup/fetch/not_made_again")
                continue
            request = request.replace(
                dont_filter=goes_on or hash(request.url) in self._here,
                meta={**request.meta, "dedup_fetch": True},
            )
            try:
                engine.crawl(request)
            except RuntimeError:  # the spider is closed
                return
            self._crawler.stats.inc_value("dedup/fetch/made_again")
        shared.changed()


def is_owed(shared: SharedLearner, changes: set[str], one: SkippedUrl) -> bool:
    """Whether a request was skipped by one of the changes, and no others skip it now."""
    if changes.isdisjoint(one.rules):
        return False
    skip = shared.learner.decide(one.url, counted=False)
    if skip is not None:  # by others, which may turn out to be wrong as well
        shared.skipped.append(one._replace(page=skip.page, rules=skip.rules))
    return skip is None


def _read_skipped(session: Session, site: str, spider: str) -> list[SkippedUrl]:
    with session.database.reading() as connection:
        return read_skipped(connection, site, spider)
