"""Worker processes, or a thread, that extract pages away from the event loop.

A page is slow when it takes more than a second. Where others wait for its worker, the worker is
ended, and the page is tried again in a process of its own: slow pages have one such process, one
after the other, however many there are.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from shingling.errors import ExtractionError
from shingling.extraction.processes import LastAnswer, Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.extraction.html import Head, MainText
    from shingling.extraction.pages import Extraction, Fetched, PageExtractor

    Question: TypeAlias = tuple[str, Fetched]

logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
"""Seconds after which a page is slow."""

_LOOK_SECONDS = 0.1  # between two looks at a page that takes long
_MAX_SLOW_PAGES = 16  # that wait for the process of slow pages, or are in it
# Of these, together; Scrapy fetches nothing while it works on 5 MB.
_MAX_SLOW_BYTES = 4_000_000
_MAX_BODIES_GIVEN_UP = 4096  # that are remembered


def start_worker() -> Worker | None:
    """Start a process for a pool that is made later; None if processes cannot be started."""
    try:
        return Worker("shingling.extraction.pages")
    except OSError:
        return None


class _TooSlowError(Exception):
    """A page is slow, and others wait."""


class _Lane:
    """A thread that waits for the answers of a worker process, or answers itself.

    Args:
        worker: the process; None where there is none.
    """

    def __init__(self, worker: Worker | None) -> None:
        self.worker = worker
        self.is_usable = True
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[Any], Any], Any] | None]
        self._calls = SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="dedup-extract", daemon=True)
        self.thread.start()

    def call(self, function: Callable[[Any], Any], argument: Any) -> asyncio.Future[Any]:
        """Have the thread call a function."""
        result: Future[Any] = Future()
        self._calls.put((result, function, argument))
        return asyncio.wrap_future(result)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            result, function, argument = call
            if not result.set_running_or_notify_cancel():
                continue
            try:
                result.set_result(function(argument))
            except Exception as error:
                result.set_exception(error)
            except BaseException as error:  # an extractor that calls sys.exit fails its page only
                result.set_exception(ExtractionError("extraction_failed", repr(error)))

    def end(self) -> None:
        """End the process, whatever it does; a thread ends when it has answered."""
        if self.is_usable:
            self.is_usable = False
            if self.worker is not None:
                self.worker.kill()
                self._calls.put((Future(), lambda worker: worker.end(), self.worker))
            self._calls.put(None)


class BodiesGivenUp:
    """Bodies that took too long, too much memory or their worker, with the reason; the newest."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[bytes, str] = OrderedDict()
        self.known = 0  # pages that were not tried again

    def add(self, question: Question, reason: str) -> None:
        """Remember the body of a page."""
        self._reasons[_key(question)] = reason
        if len(self._reasons) > _MAX_BODIES_GIVEN_UP:
            self._reasons.popitem(last=False)

    def check(self, question: Question) -> None:
        """Raise ExtractionError if the body of a page was given up before."""
        if self._reasons and (reason := self._reasons.get(key := _key(question))) is not None:
            self._reasons.move_to_end(key)
            self.known += 1
            raise ExtractionError(reason, "the same body was given up before")


def _key(question: Question) -> bytes:
    """128-bit hash of a question and its body."""
    name, fetched = question
    body = fetched.body
    if isinstance(body, str):
        body = body.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(body, digest_size=16, person=name.encode()).digest()


class ExtractionPool:
    """Extracts pages in worker processes, or in one thread where `workers` is 0.

    A process is started when a page finds all others busy: small crawls need only one. All methods
    but `close` are called in one event loop.

    Args:
        extractor: of the pages.
        workers: number of processes at most, without that of slow pages.
        timeout: seconds after which a page is given up.
        first: a worker process that was started before.
        slow_seconds: after which a page is slow; infinite where no page waits for another one.
    """

    def __init__(
        self,
        extractor: PageExtractor,
        workers: int,
        timeout: float,
        *,
        first: Worker | None = None,
        slow_seconds: float = SLOW_SECONDS,
    ) -> None:
        self.extractor = extractor
        self.timeout = timeout
        self.given_up = BodiesGivenUp()
        self.seconds = 0.0  # that all lanes together have spent on pages
        self._slow_seconds = slow_seconds
        self._first = first
        self._uses_processes = workers > 0
        self._lanes: set[_Lane] = set()
        # The last one first: a lane is started, in the place of None, when all others are busy.
        self._free: asyncio.LifoQueue[_Lane | None] = asyncio.LifoQueue()
        for _ in range(workers or 1):
            self._free.put_nowait(None)
        self._waiting = 0  # pages, for a lane
        self._began: dict[_Lane, float] = {}  # pages that are being extracted
        self._slow_turn = asyncio.Lock()
        self._slow: list[int] = []  # bytes of pages that wait for the slow lane, or are in it
        self._has_warned = False  # of pages that need a process
        if not workers:
            self._do_without_processes()

    @property
    def has_slow_page(self) -> bool:
        """Whether a page is slow that is being extracted, or waits for its turn."""
        began_before = time.monotonic() - self._slow_seconds
        return bool(self._slow) or any(since < began_before for since in self._began.values())

    async def extract(self, fetched: Fetched) -> Extraction:
        """Extract and sign the main text of a page.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        extraction: Extraction = await self._ask("extract", fetched)
        return extraction

    async def head(self, fetched: Fetched) -> Head:
        """Extract what a page says of itself; it raises what `extract` does."""
        head: Head = await self._ask("head", fetched)
        return head

    async def main_text(self, fetched: Fetched) -> MainText | None:
        """Extract the text that people read, by trafilatura; None where there is none.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        main: MainText | None = await self._ask("main_text", fetched)
        return main

    def close(self) -> None:
        """End the workers, also in the middle of a page."""
        for lane in [*self._lanes]:
            lane.end()
            if lane.worker is not None:
                lane.thread.join()
        if self._first is not None:
            self._first.end()

    async def _ask(self, name: str, fetched: Fetched) -> Any:
        question = name, fetched
        self._waiting += 1
        try:
            lane = await self._free.get()
        finally:
            self._waiting -= 1
        try:
            self.given_up.check(question)
            if lane is None:
                lane = await self._start_lane()
            # Where there are slow pages already, less time is lost on the next one.
            slow_seconds = self._slow_seconds / (2 if self._slow else 1)
            return await self._answer(lane, question, slow_seconds)
        except _TooSlowError:
            pass
        finally:
            self._free.put_nowait(lane if lane is not None and lane.is_usable else None)
        return await self._answer_slowly(question)

    async def _answer_slowly(self, question: Question) -> Any:
        """Answer a question on a slow page, in a process of its own, when it is its turn."""
        size = len(question[1].body)
        if len(self._slow) >= _MAX_SLOW_PAGES or sum(self._slow) + size > _MAX_SLOW_BYTES:
            raise self._given_up(question)
        self._slow.append(size)
        try:
            try:
                await asyncio.wait_for(self._slow_turn.acquire(), self.timeout)
            except TimeoutError:
                raise self._given_up(question) from None
            try:
                lane = await self._start_lane()
                try:
                    return await self._answer(lane, question, self.timeout)
                finally:
                    self._end(lane)
            finally:
                self._slow_turn.release()
        finally:
            self._slow.remove(size)

    async def _answer(self, lane: _Lane, question: Question, slow_seconds: float) -> Any:
        """Have a lane answer a question, which ends the lane where that takes too long.

        Raises:
            _TooSlowError: the page is slow, and others wait.
            ExtractionError: it took too long, or its worker has ended.
        """
        ask = self._answer_in_thread if lane.worker is None else lane.worker.ask
        began = self._began[lane] = time.monotonic()
        answer = lane.call(ask, question)
        try:
            wait = min(slow_seconds, self.timeout)
            while not (await asyncio.wait([answer], timeout=wait))[0]:
                seconds, wait = time.monotonic() - began, _LOOK_SECONDS
                if seconds >= self.timeout:
                    raise self._given_up(question)
                if seconds >= slow_seconds and self._waiting and lane.worker is not None:
                    raise _TooSlowError
            made = answer.result()
        except WorkerDiedError as error:
            self._end(lane)
            self.given_up.add(question, "worker_died")
            raise ExtractionError("worker_died", "the worker process died of it") from error
        finally:
            self.seconds += time.monotonic() - began
            del self._began[lane]
            if not answer.done():
                answer.cancel()
                self._end(lane)
        if isinstance(made, LastAnswer):
            self._end(lane)
            made = made.answer
        if getattr(made, "reason", None) == "too_much_memory":
            self.given_up.add(question, made.reason)
        return made

    def _given_up(self, question: Question) -> ExtractionError:
        self.given_up.add(question, "timeout")
        return ExtractionError("timeout", "the page took too long")

    def _answer_in_thread(self, question: Question) -> Any:
        """Extract a page without a process, unless that could hold up the event loop."""
        from shingling.extraction.pages import check_for_thread  # it takes long to import

        try:
            check_for_thread(question[1])
        except ExtractionError:
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "Pages that could hold up the crawl are not extracted in a thread, and are"
                    " skipped (needs_worker): they need DEDUP_WORKERS = 1 or more"
                )
            raise
        return self.extractor.answer(question)

    async def _start_lane(self) -> _Lane:
        """Start a lane with a process that is ready; without one where that is not possible."""
        worker = None
        if self._uses_processes:
            worker, self._first = self._first or start_worker(), None
            if worker is None:
                self._do_without_processes("Worker processes cannot be started")
        lane = _Lane(worker)
        self._lanes.add(lane)
        try:
            # Not within the time limit of the first page: dictionaries of a language take long.
            if worker is None:
                await lane.call(lambda extractor: extractor.warm_up(), self.extractor)
            else:
                await lane.call(worker.start, self.extractor)
        except WorkerDiedError:
            self._end(lane)
            self._do_without_processes("A worker process did not start")
            return await self._start_lane()
        except BaseException:
            self._end(lane)
            raise
        return lane

    def _end(self, lane: _Lane) -> None:
        lane.end()
        self._lanes.discard(lane)

    def _do_without_processes(self, problem: str | None = None) -> None:
        self._uses_processes = False
        if problem is not None:
            logger.warning("%s; pages are extracted in a thread", problem)
        # It reports every page without main text as an error; the verdict says it too.
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
