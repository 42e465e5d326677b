"""Skipped requests: kept while a rule may turn out to be wrong, and made if it is."""

from __future__ import annotations

import asyncio
import pickle
from typing import TYPE_CHECKING, NamedTuple

from scrapy.utils.request import request_from_dict

from shingling.fetching.learning import site_name
from shingling.fetching.requests import found_on
from shingling.plugin.waiting import detached_task

if TYPE_CHECKING:
    from collections.abc import Iterable
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
        self._tasks = set[asyncio.Task[None]]()

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
            self._counts.count_up("not_kept")

    def unlearned(self, gone: Iterable[Contradiction]) -> None:
        """Make requests that were skipped by rules that do not hold any more."""
        for site in {contradiction.site for contradiction in gone}:
            self.make_owed(
                site,
                {contradiction.change for contradiction in gone if contradiction.site == site},
            )

    def make_owed(self, site: str, changes: set[str] | None = None) -> None:
        """Make requests to a site that were skipped by rules that act no more.

        Args:
            site: its name.
            changes: that do not hold any more; None: all that do not act, as after a pause of the
                job in which requests were skipped.
        """
        if self._kept:
            task = detached_task(self._make_owed(site, changes))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _make_owed(self, site: str, changes: set[str] | None) -> None:
        for number, url in enumerate([*self._kept]):
            if number % _TRIED_AT_ONCE == 0:
                await asyncio.sleep(0)
            skipped = self._kept.get(url)
            if skipped is None or site_name(url) != site or not self._is_owed(skipped, changes):
                continue
            meta = {**skipped.request.meta, "dedup_fetch": True}
            assert self._crawler.engine is not None
            try:
                self._crawler.engine.crawl(skipped.request.replace(dont_filter=True, meta=meta))
            except RuntimeError:  # the spider is closed; a job makes it when it goes on
                return
            del self._kept[url]
            self._counts.count_up("refetched")

    def _is_owed(self, skipped: Skipped, changes: set[str] | None) -> bool:
        """Whether a request is to be made after all.

        Args:
            skipped: the request.
            changes: as for `make_owed`.
        """
        url = skipped.request.url
        if changes is None:
            return not (self._learner.acting(url) | self._learner.acting(skipped.page)) >= {
                *skipped.rules
            }
        if changes.isdisjoint(skipped.rules):
            return False
        skip = self._learner.decide_request(url, found_on(skipped.request), counted=False)
        if skip is not None:  # by others, which may turn out to be wrong as well
            self._kept[url] = skipped._replace(page=skip.page, rules=skip.rules)
        return skip is None

    def resume(self) -> None:
        """Take what the job has skipped before it was paused."""
        for written, page, rules in self._state.get(_STATE, ()):
            try:
                request = request_from_dict(
                    pickle.loads(written),  # noqa: S301
                    spider=self._crawler.spider,
                )
            except (AttributeError, ImportError, ValueError):  # its callback or class is gone
                self._counts.count_up("not_kept")
                continue
            self._kept[request.url] = Skipped(request, page, rules)

    def pause(self) -> None:
        """Leave to the job what it has skipped: such requests as Scrapy's queue can write, too."""
        written = []
        for request, page, rules in self._kept.values() if self._is_job else ():
            try:
                as_dict = request.to_dict(spider=self._crawler.spider)
                written.append((pickle.dumps(as_dict), page, rules))
            except Exception:  # the objects in it may raise any
                self._counts.count_up("not_kept")
        self._state[_STATE] = written

    @property
    def _is_job(self) -> bool:
        return bool(self._crawler.settings.get("JOBDIR"))

    @property
    def _state(self) -> dict[str, Any]:
        """What Scrapy keeps of the spider in the folder of its job."""
        state = getattr(self._crawler.spider, "state", None) if self._is_job else None
        return state if isinstance(state, dict) else {}
