"""What requests wait for, so that more of them can be skipped: pages that are not known yet."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from shingling.plugin.waiting import UnderWay, detached_task, ends_within

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

MAX_WAIT_SECONDS = 5.0
"""For which a request waits, or a page for its verdict, or the end of the crawl for pages."""

_MAX_FORMS = 10_000
_MAX_PAGES = 2_000
_MAX_BYTES = 32 * 1024 * 1024  # of their bodies
_FEW_PAGES = 32


class FormsUnderWay:
    """Forms of URLs that are being fetched, each by the request that came first.

    Pages under a session id are asked for many times at once. Before the first of them is fetched
    and noted, none of the others can be skipped.
    """

    def __init__(self) -> None:
        self._first: dict[int, tuple[str, asyncio.Future[None]]] = {}
        self._forms: dict[str, int] = {}

    async def wait(self, form: int, url: str) -> bool:
        """Wait for a request of the same form.

        Args:
            form: of the URL, by `UrlLearner.form`.
            url: of the request, which is the first one of its form if there is no other.

        Returns:
            Whether there was one.
        """
        if form in self._first:
            await ends_within(self._first[form][1], MAX_WAIT_SECONDS)
            return True
        self._first[form] = url, asyncio.get_running_loop().create_future()
        self._forms[url] = form
        if len(self._first) > _MAX_FORMS:
            self.done(next(iter(self._first.values()))[0])
        return False

    def done(self, url: str) -> None:
        """Let those go on that wait for a request: its page is known, or it has none."""
        form = self._forms.pop(url, None)
        if form is not None:
            self._first.pop(form)[1].set_result(None)


class PagesNoted:
    """Pages that are being noted: extracted and decided, for what they tell of a site's URLs.

    If a site answers faster than pages can be extracted, most of what is requested meanwhile would
    repeat a page that is fetched but not yet known.
    """

    def __init__(self) -> None:
        self._tasks = set[asyncio.Task[None]]()
        self._by_url: dict[str, asyncio.Task[None]] = {}
        self._bytes = 0
        self._under_way = UnderWay(_FEW_PAGES)

    def __len__(self) -> int:
        return len(self._tasks)

    def start(
        self, noting: Callable[[], Coroutine[Any, Any, None]], size: int, url: str
    ) -> asyncio.Task[None] | None:
        """Note a page, unless too many are being noted.

        Args:
            noting: notes it.
            size: of its body, in bytes.
            url: of the page, for `wait_for`.
        """
        if len(self._tasks) >= _MAX_PAGES or self._bytes + size > _MAX_BYTES:
            return None
        task = detached_task(noting())
        self._tasks.add(task)
        self._by_url[url] = task
        self._bytes += size
        self._under_way.add(1)
        task.add_done_callback(partial(self._end, url, size))
        return task

    async def wait_for_few(self) -> None:
        """Wait until at most 32 pages are being noted."""
        await self._under_way.wait(MAX_WAIT_SECONDS)

    async def wait_for(self, url: str) -> None:
        """Wait until a page is noted, if it is being noted."""
        if url in self._by_url:
            await ends_within(self._by_url[url], MAX_WAIT_SECONDS)

    async def finish(self, seconds: float) -> None:
        """Wait for the last pages, and give up those that take longer."""
        if self._tasks:
            _, late = await asyncio.wait([*self._tasks], timeout=seconds)
            for task in late:
                task.cancel()

    def _end(self, url: str, size: int, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._by_url.pop(url, None)
        self._bytes -= size
        self._under_way.add(-1)
