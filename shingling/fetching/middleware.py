"""The downloader middleware: skips requests that would repeat a page.

Here, not in a spider middleware: a request is decided at the latest moment, when most is known,
and its errback hears of it. It waits for no slot, and takes none.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Self
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from shingling.errors import printable
from shingling.extraction.pages import Extraction
from shingling.fetching.counting import FetchCounts
from shingling.fetching.learning import FetchedPage, site_name
from shingling.fetching.learning.changes import kind_of
from shingling.fetching.learning.parts import split
from shingling.fetching.learning.recent import RecentValues
from shingling.fetching.repeated import RepeatedPage
from shingling.fetching.requests import (
    Yielded,
    asked_for,
    found_on,
    is_from_elsewhere,
    is_page,
    may_be_skipped,
    second_look,
)
from shingling.fetching.sharing import SharedLearner
from shingling.fetching.skipped import SkippedRequests
from shingling.fetching.waiting import MAX_WAIT_SECONDS, FormsUnderWay, PagesNoted
from shingling.plugin.pipeline import DedupPipeline
from shingling.plugin.settings import DedupSettings
from shingling.plugin.waiting import ends_within
from shingling.rules.reasons import KEEPING, REJECTING, Reason
from shingling.store.model import Verdict

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.fetching.learning import Contradiction, Skip

logger = logging.getLogger(__name__)

_NO_VERDICT = Verdict("skipped")
_MAX_SECOND_LOOKS = 2_000  # requests that could fetch a page again
_SAYS_LITTLE = (*KEEPING, *REJECTING, Reason.TEMPLATE)  # of a page that resembles others
_MAX_KINDS = 1000  # of pages
_MANY_ALIKE = 98  # pages in a row, which is when a trap ends for a risk of 1%
_MAX_DECIDED = 20_000  # requests that are made although they would be skipped


class FetchMiddleware:
    """Skips requests that would repeat a page, and learns from the pages that are fetched.

    Args:
        crawler: whose requests they are.
        settings: of the crawl.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._settings = settings
        self._skips = settings.of_rooms["DEDUP_FETCH"] == "skip"
        self._counts = FetchCounts(crawler)
        self._shared = SharedLearner(crawler, settings)
        self._skipped = SkippedRequests(crawler, self._shared.learner, self._counts)
        self._shared.tell = self._tell
        self._shared.tell_site = self._skipped.make_owed
        # Decisions on requests that are made anyway, by URL.
        self._decided: RecentValues[str, Skip] = RecentValues(_MAX_DECIDED)
        self._second_looks: RecentValues[str, Request] = RecentValues(
            _MAX_SECOND_LOOKS
        )  # by URL of a page
        self._forms = FormsUnderWay()
        self._notes = PagesNoted()
        self._rows: RecentValues[int, int] = RecentValues(
            _MAX_KINDS
        )  # pages in a row that are like others
        self._verdicts: WeakKeyDictionary[Response, asyncio.Future[Verdict | None]] = (
            WeakKeyDictionary()
        )
        self._has_begun = self._has_ended = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make the middleware of a crawl.

        Raises:
            SettingsError: a `DEDUP_*` setting is not accepted.
            NotConfigured: all pages are fetched.
        """
        settings = DedupSettings.from_settings(crawler.settings)
        if not settings.enabled or settings.of_rooms["DEDUP_FETCH"] == "all":
            raise NotConfigured
        made = cls(crawler, settings)
        crawler.signals.connect(made._spider_idle, signal=signals.spider_idle)
        for signal in (signals.item_scraped, signals.item_dropped, signals.item_error):
            crawler.signals.connect(made._tell, signal=signal)
        return made

    async def process_request(self, request: Request) -> None:
        """Let a request be made, or not.

        Raises:
            RepeatedPage: it would repeat a page.
        """
        if self._has_ended or not may_be_skipped(request):
            return
        self._begin()
        try:
            await self._shared.known(request.url)
            if self._skips:
                await self._notes.wait_for_few()
                await self._notes.wait_for(found_on(request))
            skip = await self._decide(request.url, found_on(request))
        except Exception as error:  # a request is never lost because this plugin failed
            self._fail(error)
            return
        self._counts.add_request(site_name(request.url), repeats=skip is not None)
        if skip is None:
            return
        if skip.rules == (f"trap {request.url}",):
            self._counts.log_trap(request.url, skip.page)
        if self._skips and not skip.explore:
            self._skip(request, skip)
        self._counts.count_up("explored" if skip.explore else "would_skip")
        self._decided.put(request.url, skip)

    async def _decide(self, url: str, found_on: str) -> Skip | None:
        """Decide a request; if one of the same form is under way, when that is known."""
        learner = self._shared.learner
        skip = learner.decide_request(url, found_on)
        if skip is None and self._skips:
            form = learner.form(url)
            if form is not None and await self._forms.wait(form, url):
                return learner.decide_request(url, found_on)
        return skip

    def process_response(self, request: Request, response: Response) -> Response:
        """Let others go on if a response is no page that could be noted."""
        if response.status != HTTPStatus.OK:
            self._forms.done(asked_for(request)[0])
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 (Scrapy's)
        """Let others go on if a request has failed."""
        self._forms.done(asked_for(request)[0])

    def _skip(self, request: Request, skip: Skip) -> None:
        self._skipped.keep(request, skip)
        self._shared.changed()
        self._counts.count_up("skipped")
        repeated = RepeatedPage(request.url, skip.page, skip.rules, skip.risk)
        if self._settings.debug:
            logger.debug(
                "Skipped: %s",
                printable(str(repeated)),
                extra={"spider": self._crawler.spider},
            )
        raise repeated

    def note_yielded(self, seen: Yielded) -> None:
        """Learn from a page whose callback has ended, by what it has yielded."""
        response = seen.response
        if response is None or response.request is None:
            return
        url, _ = asked_for(response.request)
        noting = partial(self._note, response, seen, self._decided.get(url))
        size = len(response.body)
        task = None if self._has_ended else self._notes.start(noting, size, response.url)
        if task is None:
            self._counts.count_up("not_noted")
            self._forms.done(url)
            return
        task.add_done_callback(lambda _: self._forms.done(url))
        self._begin()
        if seen.items:
            self._told_of(response)

    async def _note(self, response: Response, seen: Yielded, skip: Skip | None) -> None:
        try:
            await self._shared.known(response.url)
            opened = await self._shared.opened()
            if opened is None:
                return
            extracted = await opened[0].page(response) if is_page(response) else None
            verdict = await self._verdict(response) or _NO_VERDICT
            page = _page(response, seen, extracted or Extraction(), verdict)
            is_copy = verdict.is_duplicate and verdict.resemblance == 1.0
            assert response.request is not None
            self._learn(page, response.request, skip, is_copy=is_copy)
            if page.signature is not None and not is_copy:
                self._note_row(page.url, verdict)
        except Exception as error:  # what is not noted is only not learned
            self._fail(error)

    def _learn(
        self, page: FetchedPage, request: Request, skip: Skip | None, *, is_copy: bool
    ) -> None:
        learner = self._shared.learner
        if skip is not None:
            self._counts.count_up("checked")
            if learner.check(page, skip) and not is_copy:
                self._counts.count_up("would_lose")
            if not skip.explore:
                return  # it is only observed
        if page.signature is not None:
            self._counts.count_up("learned_from")
        self._unlearn(learner.note_page(page))
        self._second_looks.put(page.url, second_look(request, page.url))
        for url in learner.refetches():
            again = self._second_looks.get(url) or second_look(request, url)
            if self._has_ended or not self._notes.start(partial(self._refetch, again), 0, url):
                learner.note_refetch(url, None)
        self._shared.changed()

    def _note_row(self, url: str, verdict: Verdict) -> None:
        """Warn of many pages in a row that say little which others of their kind do not say."""
        kind = _kind(url)
        says_little = _kind(verdict.original or "") == kind or verdict.reason in _SAYS_LITTLE
        number = (self._rows.get(kind) or 0) + 1 if says_little else 0
        self._rows.put(kind, number)
        if number == _MANY_ALIKE:
            self._counts.log_row(url)

    async def _refetch(self, request: Request) -> None:
        """Fetch a page a second time, which shows what changes with each fetch."""
        url, page = request.url, None
        self._counts.count_up("second_looks")
        try:
            engine, opened = self._crawler.engine, await self._shared.opened()
            assert engine is not None
            response = await engine.download_async(request)
            is_it = response.request is not None and asked_for(response.request)[0] == url
            if opened is not None and response.status == HTTPStatus.OK and is_it:
                extracted = await opened[0].page(response)
                if extracted is not None:
                    page = _page(response, Yielded(response), extracted)
        except Exception as error:  # then nothing is known of it
            self._fail(error)
        self._unlearn(self._shared.learner.note_refetch(url, page))

    def _unlearn(self, gone: list[Contradiction]) -> None:
        """Make requests that were skipped by rules that do not hold any more."""
        if gone:
            self._counts.count_up("unlearned", len(gone))
            self._skipped.unlearned(gone)

    def _tell(self, response: Response | None, verdict: Verdict | None = None) -> None:
        """Take the verdict on the page of a response; none if another pipeline has its item."""
        if response is not None and not self._told_of(response).done():
            self._told_of(response).set_result(verdict)

    def _told_of(self, response: Response) -> asyncio.Future[Verdict | None]:
        return self._verdicts.setdefault(response, asyncio.get_running_loop().create_future())

    async def _verdict(self, response: Response) -> Verdict | None:
        """Verdict on the page of a response; None if it has no item, or takes too long."""
        told = self._verdicts.get(response)
        if told is not None and await ends_within(told, MAX_WAIT_SECONDS):
            return told.result()
        return None

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        self._skipped.resume()
        pipeline = self._crawler.get_item_pipeline(DedupPipeline)
        if pipeline is not None:
            pipeline.before_close = self._close

    def _spider_idle(self) -> None:
        """Wait for pages that may show that a rule is wrong, and for skipped requests.

        Raises:
            DontCloseSpider: for the moment.
        """
        if not self._notes:
            self._settle()
        if self._skipped.is_busy or (self._notes and self._skipped):
            raise DontCloseSpider

    def _settle(self) -> None:
        """Decide pages with the same words and other links, now that these are fetched."""
        gone = self._shared.learner.settle()
        if gone:
            self._counts.count_up("would_lose", len(gone))
            self._unlearn(gone)

    async def _close(self) -> None:
        """Learn from the last pages, and save it all."""
        await self._notes.finish(MAX_WAIT_SECONDS)
        self._settle()
        self._has_ended = True
        self._skipped.pause()
        await self._shared.close(**self._counts.of_run())
        self._counts.end(self._shared.learner.rules(), skips=self._skips)

    def _fail(self, error: Exception) -> None:
        self._crawler.stats.inc_value(f"dedup/errors/{type(error).__name__}")
        self._counts.count_up("not_noted")
        logger.debug("Dedup could not learn from a page: %s", printable(str(error)[:300]))


def _kind(url: str) -> int:
    parts = split(url)
    return hash(parts and (parts.host, kind_of(parts)))


def _page(
    response: Response,
    seen: Yielded,
    extraction: Extraction,
    verdict: Verdict = _NO_VERDICT,
) -> FetchedPage:
    assert response.request is not None
    _, requested = asked_for(response.request)
    shows = response.url if seen.items else None
    if response.status != HTTPStatus.OK:
        shows = f"an error: {response.status}"
    elif seen.items == 1 and verdict.is_duplicate:
        shows = verdict.original
    has_changed = verdict.status == "changed" and verdict.previous is not None
    return FetchedPage(
        url=response.url,
        requested=tuple(url for url in requested if site_name(url) == site_name(response.url)),
        signature=extraction.signature,
        text=extraction.text,
        title=extraction.title,
        links=tuple(seen.links),
        says_more=verdict.reason in KEEPING,
        has_changed=has_changed,
        is_new=has_changed or verdict.status == "new",
        is_from_elsewhere=is_from_elsewhere(response.request),
        found_on=found_on(response.request),
        shows=shows,
    )
