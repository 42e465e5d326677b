"""What is learned of URLs, shared with the store: read once a site, added to every few seconds."""

from __future__ import annotations

import asyncio
import logging
import os
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from shingling.errors import ShinglingError
from shingling.fetching.learning import UrlLearner, site_name
from shingling.fetching.stored_rules import read_rules, save
from shingling.fetching.waiting import MAX_WAIT_SECONDS
from shingling.plugin.pipeline import DedupPipeline
from shingling.plugin.waiting import detached_task, ends_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from shingling.fetching.learning import RuleCounts
    from shingling.plugin.items.extracting import DocumentExtractor
    from shingling.plugin.items.store_thread import StoreThread
    from shingling.plugin.settings import DedupSettings
    from shingling.store.model import Verdict
    from shingling.store.session import Session

    Opened = tuple[DocumentExtractor, StoreThread]

_T = TypeVar("_T")

_logger = logging.getLogger(__name__)

_SAVE_SECONDS = 3.0  # between two times
_MAX_UNSAVED = 20_000  # rows, while the store cannot be written


class SharedLearner:
    """A learner that knows what the store knows.

    Args:
        crawler: whose requests are decided.
        settings: of the crawl.

    Attributes:
        learner: decides and learns.
        tell: is told the verdict on the page of a response.
        tell_site: is told of each site whose rules were read.
    """

    def __init__(self, crawler: Crawler, settings: DedupSettings) -> None:
        self._crawler = crawler
        self.learner = UrlLearner(
            risk=settings.of_rooms["DEDUP_SKIP_RISK"],
            salt=os.urandom(16),
            never=settings.of_rooms["DEDUP_FETCH_NEVER"],
        )
        self.tell: Callable[[Response, Verdict | None], None] | None = None
        self.tell_site: Callable[[str], None] | None = None
        self._rules: list[RuleCounts] = []  # that could not be saved
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._opening: asyncio.Task[Opened | None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._has_failed = False

    async def opened(self) -> Opened | None:
        """Open the store, and take what extracts; None if they cannot be used."""
        if self._opening is None:
            self._opening = detached_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Opened | None:
        pipeline = self._crawler.get_item_pipeline(DedupPipeline)
        if pipeline is None:
            self._log("DEDUP_FETCH has no effect without DedupPipeline: all pages are fetched")
            return None
        try:
            checker = (await pipeline.loaded()).checker
            opened = await checker.opened()
        except (ShinglingError, ImportError, OSError) as error:
            self._log(f"Dedup cannot start, all pages are fetched: {error}")
            return None
        checker.tell = self.tell
        return opened

    async def known(self, url: str) -> None:
        """Wait until the rules of the site of a URL are read."""
        site = site_name(url)
        if site not in self._reading and not self.learner.is_known(site):
            self._reading[site] = detached_task(self._read_site(site))
            self._reading[site].add_done_callback(lambda _: self._reading.pop(site))
        if site in self._reading:
            await ends_within(self._reading[site], MAX_WAIT_SECONDS)

    async def _read_site(self, site: str) -> None:
        rules = await self.ask(partial(read_rules, site=site))
        try:
            self.learner.load_rules(site, rules or [])
        except Exception as error:  # the crawl goes on with what it learns itself
            self._log(f"Dedup could not use what is known of the URLs of {site}: {error!r}")
        if self.tell_site is not None:
            self.tell_site(site)

    async def ask(self, action: Callable[[Session], _T]) -> _T | None:
        """Do something with the store; None if it fails, which is logged once."""
        opened = await self.opened()
        if opened is None:
            return None
        try:
            return await opened[1].run(action)
        except ShinglingError as error:
            self._log(f"Dedup could not share what it learned of URLs: {error}")
            return None

    def changed(self) -> None:
        """Save what was learned, in a moment."""
        if self._saving is None or self._saving.done():
            self._saving = detached_task(self._save_later())

    async def _save_later(self) -> None:
        await asyncio.sleep(_SAVE_SECONDS)
        await self.save()

    async def save(self) -> None:
        """Add what was learned since the last time to what is stored."""
        opened = await self.opened()
        changes = self.learner.take_changes()
        if opened is None or opened[1].is_dry_run:
            return
        rules, self._rules = [*self._rules, *changes], []
        if not await self.ask(partial(save, rules=rules)):
            self._rules = rules[-_MAX_UNSAVED:]

    async def close(self, **counts: int) -> None:
        """Save what was learned last, and what the run has counted."""
        if self._saving is not None:
            self._saving.cancel()
        if self._opening is None:
            return
        await self.save()
        opened = await self.opened()
        if opened is not None:
            opened[1].count(**counts)

    def _log(self, message: str) -> None:
        if not self._has_failed:
            self._has_failed = True
            _logger.error("%s", message, extra={"spider": self._crawler.spider})
