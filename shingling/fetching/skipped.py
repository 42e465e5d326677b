"""Skipped requests: kept while a rule may turn out to be wrong, and made if it is."""

from __future__ import annotations

import asyncio
import pickle
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.request import request_from_dict

from shingling.plugin.items.extracting import detached_task
from shingling.store import site_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from scrapy import Request
    from scrapy.crawler import Crawler

    from shingling.fetching.counting import FetchCounts
    from shingling.fetching.learning import Contradiction, Skip, UrlLearner

MAX_SKIPPED = 10_000
"""Skipped requests that are kept: the oldest give way."""

_TRIED_AT_ONCE = 20  # before the event loop does something else
_STATE = "dedup_skipped"


class Skipped(NamedTuple):
    """A request that was skipped.

    Args:
        request: which can still be made.
        page: URL of the page that it would have repeated.
        rules: the changes by which it was skipped.
    """

    request: Request
    page: str
    rules: tuple[str, ...]


class SkippedRequests:
    """Requests that a crawl has skipped; a job (`JOBDIR`) keeps them while it is paused.

    Args:
        crawler: that makes them.
        learner: decides them.
        counts: of the crawl.
    """

    def __init__(self, crawler: Crawler, learner: UrlLearner, counts: FetchCounts) -> None:
        self._crawler = crawler
        self._learner = learner
        self._counts = counts
        self._kept: dict[str, Skipped] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_busy(self) -> bool:
        """Whether some are just being made."""
        return bool(self._tasks)

    def keep(self, request: Request, skip: Skip) -> None:
        """Keep a request that is skipped."""
        self._kept[request.url] = Skipped(request, skip.page, skip.rules)
        if len(self._kept) > MAX_SKIPPED:
            del self._kept[next(iter(self._kept))]
            self._counts.add("not_kept")

    def site_read(self, site: str) -> None:
        """Make requests of a job that was paused, if the rules of their site act no more."""

        def is_owed(one: Skipped) -> bool:
            acting = self._learner.acting(one.request.url) | self._learner.acting(one.page)
            return not acting.issuperset(one.rules)

        self._make_owed(site, is_owed)

    def unlearned(self, gone: Iterable[Contradiction]) -> None:
        """Make requests that were skipped by rules that do not hold any more."""
        for site in {one.site for one in gone}:
            changes = {one.change for one in gone if one.site == site}

            def is_owed(one: Skipped, changes: set[str] = changes) -> bool:
                return not changes.isdisjoint(one.rules) and not self._is_skipped_by_others(one)

            self._make_owed(site, is_owed)

    def _is_skipped_by_others(self, one: Skipped) -> bool:
        """Whether rules that hold skip a request; these may turn out to be wrong as well."""
        skip = self._learner.decide(one.request.url, counted=False)
        if skip is not None:
            self._kept[one.request.url] = one._replace(page=skip.page, rules=skip.rules)
        return skip is not None

    def _make_owed(self, site: str, is_owed: Callable[[Skipped], bool]) -> None:
        kept = [one for one in self._kept.values() if site_of(one.request.url) == site]
        if kept:
            task = detached_task(self._make(kept, is_owed))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _make(self, kept: list[Skipped], is_owed: Callable[[Skipped], bool]) -> None:
        for number, one in enumerate(kept):
            if number % _TRIED_AT_ONCE == 0:
                await asyncio.sleep(0)
            url, request = one.request.url, one.request
            if url not in self._kept or not is_owed(self._kept[url]):
                continue
            meta = {**request.meta, "dedup_fetch": True}
            assert self._crawler.engine is not None
            try:
                self._crawler.engine.crawl(request.replace(dont_filter=True, meta=meta))
            except RuntimeError:  # the spider is closed; a job makes it when it goes on
                return
            self._kept.pop(url, None)
            self._counts.add("made_again")

    def resume(self) -> None:
        """Take what the job has skipped before it was paused."""
        spider = self._crawler.spider
        for written, page, rules in self._state.get(_STATE, ()):
            try:
                request = request_from_dict(pickle.loads(written), spider=spider)  # noqa: S301
            except (AttributeError, ImportError, ValueError):  # its callback or class is gone
                self._counts.add("not_kept")
                continue
            self._kept[request.url] = Skipped(request, page, rules)

    def pause(self) -> None:
        """Leave to the job what it has skipped: such requests as Scrapy's queue can write, too."""
        written = []
        for request, page, rules in self._kept.values() if self._is_job else ():
            try:
                as_dict = request.to_dict(spider=self._crawler.spider)
                written.append((pickle.dumps(as_dict), page, rules))
            except Exception:  # whatever the objects in it raise
                self._counts.add("not_kept")
        self._state[_STATE] = written

    @property
    def _is_job(self) -> bool:
        return bool(self._crawler.settings.get("JOBDIR"))

    @property
    def _state(self) -> dict[str, Any]:
        """What Scrapy keeps of the spider in the folder of its job."""
        state = getattr(self._crawler.spider, "state", None) if self._is_job else None
        return state if isinstance(state, dict) else {}
