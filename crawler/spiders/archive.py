"""`scrapy crawl archive -a path=pages.warc.gz`: saved pages, as if they were fetched now."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import signals
from scrapy.http import HtmlResponse

from crawler.arguments import ArgumentError
from crawler.limit import LimitedSpider
from shingling.errors import ShinglingError
from shingling.files.archives import Archive, refuse_tar
from shingling.files.pages import SavedPage, SkippedPage
from shingling.text import plain_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Request, Response

    from crawler.items import PageItem


_MAX_SKIPPED_NAMED = 100  # pages that cannot be read; others are counted


class ReplayMiddleware:
    """A downloader middleware that answers the archive's requests from the archive."""

    def process_request(self, request: Request) -> Response | None:
        """Return the saved page as a response."""
        page: SavedPage | None = request.meta.pop("saved_page", None)
        if page is None:
            return None
        headers = {"Content-Type": page.content_type or "text/html"}
        return HtmlResponse(request.url, headers=headers, body=page.body, request=request)


class ArchiveSpider(LimitedSpider):
    """Replays the pages of a folder or of WARC files.

    Args:
        path: of the folder or the file.
        only: patterns of file names inside, separated by commas (`amd64/en/*,i386/en/*`);
            of URLs in a WARC file.
        base: URL that file names inside are relative to (default: `file://` URLs).
        limit: pages at most; no more are read.
    """

    name = "archive"
    custom_settings = {  # noqa: RUF012 (Scrapy's own attribute)
        **LimitedSpider.custom_settings,
        "DOWNLOADER_MIDDLEWARES": {ReplayMiddleware: 1},
        # Nothing is fetched: no site to be polite to, no page to be sent on to.
        "ROBOTSTXT_OBEY": False,
        "DOWNLOAD_DELAY": 0,
        "METAREFRESH_ENABLED": False,
        # It is about endless links of a site; these pages are there.
        "URLLENGTH_LIMIT": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
        "CONCURRENT_REQUESTS": 64,
    }

    def __init__(
        self,
        path: str | None = None,
        only: str | None = None,
        base: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not path:
            raise ArgumentError("spider archive: -a path=FILE_OR_FOLDER is needed")
        if not Path(path).exists():
            raise ArgumentError(f"spider archive: path={path!r} does not exist")
        refuse_tar(Path(path), ArgumentError)
        self._path = Path(path)
        self._only = [part.strip() for part in (only or "").split(",") if part.strip()]
        self._base = base

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each saved page, no faster than they are processed."""
        max_bytes = self.settings.getint("DOWNLOAD_MAXSIZE")
        pages = Archive(self._path, max_bytes, self._only, self._base).entries()
        number, skipped, limit = 0, 0, self.pages_left
        loop, reader = asyncio.get_running_loop(), ThreadPoolExecutor(1, "archive")
        try:
            while number < limit:
                page = await loop.run_in_executor(reader, next, pages, None)
                if page is None:
                    break
                request = _request(page)
                if isinstance(request, SkippedPage):
                    skipped += 1
                    if skipped <= _MAX_SKIPPED_NAMED:
                        self.logger.warning("%s", request.message)
                    continue
                number += 1
                if self.crawler.engine.needs_backout():
                    await self.crawler.signals.wait_for(signals.scheduler_empty)
                yield request
        except ShinglingError as error:
            self.logger.error("%s (after %d pages)", plain_line(str(error)), number)
        finally:
            reader.shutdown(wait=False)
        if skipped > _MAX_SKIPPED_NAMED:
            self.logger.warning("%d more entries cannot be read", skipped - _MAX_SKIPPED_NAMED)
        if not number:
            self.logger.warning("no HTML pages found in %s", self._path)

    def parse(self, response: Response) -> Iterator[PageItem]:
        """Yield the page."""
        yield self.page(response.url, fetched=response.meta["fetched"])


def _request(page: SavedPage | SkippedPage) -> Request | SkippedPage:
    """Make the request that a saved page answers, if its URL is one for Scrapy."""
    if isinstance(page, SkippedPage):
        return page
    meta = {"saved_page": page, "fetched": page.fetched.isoformat()}
    try:
        return scrapy.Request(page.url, dont_filter=True, meta=meta)
    except ValueError as error:
        return SkippedPage(page.url, str(error))
