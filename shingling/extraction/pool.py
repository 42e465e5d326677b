"""Worker processes, or threads, that extract pages away from the event loop.

A page is slow when it takes more than a second of CPU time, or waits for something else for five
seconds: on a busy machine, pages do not become slow ones. Where others wait for its worker, the
worker is ended, and the page is tried again in a process of its own: slow pages have one such
process, one after the other, however many there are.
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

from shingling.errors import ExtractionError, message_line
from shingling.extraction.processes import Worker, WorkerDiedError
from shingling.rules.reasons import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from shingling.extraction.html import Head
    from shingling.extraction.pages import Extraction, Fetched, PageExtractor

    Question: TypeAlias = tuple[str, Fetched]

logger = logging.getLogger(__name__)

SLOW_SECONDS = 1.0
"""CPU seconds after which a page is slow."""

_SLOW_BY_CLOCK = 5  # times as many seconds of the clock
_LOOK_SECONDS = 0.1  # between two looks at a page that takes long
# Of slow pages that wait for their process; Scrapy fetches nothing while it works on 5 MB.
_MAX_SLOW_BYTES = 4_000_000
_MAX_BODIES_GIVEN_UP = 4096  # that are remembered


def start_worker() -> Worker | None:
    """Start a process for a pool that is made later; None if processes cannot be started."""
    try:
        return Worker("shingling.extraction.pages", "shingling.extraction.main_text")
    except OSError:
        return None


class _TooSlowError(Exception):
    """A page is slow, and others wait."""


class _Thread(threading.Thread):
    """A thread that makes calls; the end of the program does not wait for it."""

    def __init__(self) -> None:
        super().__init__(name="dedup-extract", daemon=True)
        self.calls: SimpleQueue[tuple[Future[Any], Callable[[Any], Any], Any] | None]
        self.calls = SimpleQueue()
        self.start()

    def run(self) -> None:
        """Make calls until a None comes."""
        while (call := self.calls.get()) is not None:
            result, function, argument = call
            try:
                result.set_result(function(argument))
            except Exception as error:
                result.set_exception(error)
            except BaseException as error:  # an extractor that calls sys.exit fails its page only
                result.set_exception(ExtractionError(Reason.EXTRACTION_FAILED, repr(error)))


class ExtractionPool:
    """Extracts pages in worker processes, or in one thread at a time if `workers` is 0.

    A process is started when a page finds all others busy: small crawls need only one. All methods
    but `close` are called in one event loop.

    Args:
        extractor: of the pages.
        workers: number of processes at most, without that of slow pages.
        timeout: seconds after which a page is given up.
        first: a worker process that was started before.
        slow_seconds: CPU seconds after which a page is slow; infinite if no page waits for
            another one.

    Attributes:
        seconds: that were spent on pages, by all workers together.
        not_tried_again: pages whose body was given up before.
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
        self.seconds = 0.0
        self.not_tried_again = 0
        self._slow_seconds = slow_seconds
        self._first = first
        self._uses_processes = workers > 0
        self._can_start_threads = True
        self._workers: set[Worker] = set()
        self._threads: set[_Thread] = set()
        self._idle: list[_Thread] = []  # of these
        # The last one first: a worker is started, in the place of None, when all others are busy.
        self._free: asyncio.LifoQueue[Worker | None] = asyncio.LifoQueue()
        for _ in range(workers or 1):
            self._free.put_nowait(None)
        self._waiting = 0  # pages, for a worker
        self._slow: set[asyncio.Future[Any]] = set()  # pages, of those that are being extracted
        self._slow_turn = asyncio.Lock()
        self._slow_bytes = 0  # of pages that wait for the process of slow pages, or are in it
        # Why a body is given up; None: it has ended one worker. The newest.
        self._given_up: OrderedDict[bytes, Reason | None] = OrderedDict()
        self._has_warned = False  # of pages that need a process
        self._is_closed = False
        if not workers:
            self._do_without_processes()

    @property
    def has_slow_page(self) -> bool:
        """Whether a page is slow that is being extracted, or waits for its turn."""
        return self._slow_bytes > 0 or bool(self._slow)

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

    async def main_text(self, fetched: Fetched, form: str) -> str | None:
        """Extract the text that people read, by trafilatura; None if there is none.

        Args:
            fetched: the page, as HTML.
            form: `text` or `markdown`.

        Raises:
            ExtractionError: with reason `timeout` or `worker_died`.
        """
        text: str | None = await self._ask(form, fetched)
        return text

    def close(self) -> None:
        """End the workers, also in the middle of a page."""
        self._is_closed = True
        for worker in [*self._workers, *filter(None, [self._first])]:
            worker.end()
        for thread in [*self._threads]:
            thread.calls.put(None)
            if self._uses_processes:
                thread.join()

    async def _ask(self, name: str, fetched: Fetched) -> Any:
        question = name, fetched
        try:
            return await self._answer_in_turn(question)
        except WorkerDiedError:  # the first one: something else may have ended it
            return await self._answer_in_turn(question)

    async def _answer_in_turn(self, question: Question) -> Any:
        """Have a question answered by the next worker that is free, or by that of slow pages."""
        self._waiting += 1
        try:
            worker = await self._free.get()
        finally:
            self._waiting -= 1
        try:
            self._check_given_up(question)
            if worker is None:
                worker = await self._started()
            # Where there are slow pages already, less time is lost on the next one.
            slow_seconds = self._slow_seconds / (2 if self._slow_bytes else 1)
            return await self._answer(worker, question, slow_seconds)
        except _TooSlowError:
            pass
        finally:
            self._free.put_nowait(worker if worker in self._workers else None)
        return await self._answer_slowly(question)

    async def _answer_slowly(self, question: Question) -> Any:
        """Answer a question on a slow page, in a process of its own, when it is its turn."""
        size = len(question[1].body)
        if self._slow_bytes + size > _MAX_SLOW_BYTES:
            raise self._give_up(question, Reason.TIMEOUT)
        self._slow_bytes += size
        try:
            try:
                await asyncio.wait_for(self._slow_turn.acquire(), self.timeout)
            except TimeoutError:
                raise self._give_up(question, Reason.TIMEOUT) from None
            worker = None
            try:
                worker = await self._started()
                return await self._answer(worker, question, self.timeout)
            finally:
                self._end(worker)
                self._slow_turn.release()
        finally:
            self._slow_bytes -= size

    async def _answer(self, worker: Worker | None, question: Question, slow_seconds: float) -> Any:
        """Have a worker answer a question; it is ended if that takes too long.

        Raises:
            _TooSlowError: the page is slow, and others wait.
            ExtractionError: it took too long, or two workers have ended.
            WorkerDiedError: the worker has ended, the first one with this body.
        """
        ask = self._answer_in_thread if worker is None else worker.ask
        cpu_seconds = time.monotonic if worker is None else worker.cpu_seconds
        began, cpu_began = time.monotonic(), cpu_seconds()
        answer = self._in_thread(ask, question)
        wait = min(slow_seconds, self.timeout)
        try:
            while not (await asyncio.wait([answer], timeout=wait))[0]:
                seconds, wait = time.monotonic() - began, _LOOK_SECONDS
                if seconds >= self.timeout:
                    raise self._give_up(question, Reason.TIMEOUT)
                taken = max(cpu_seconds() - cpu_began, seconds / _SLOW_BY_CLOCK)
                if taken >= slow_seconds:
                    self._slow.add(answer)
                    if self._waiting and worker is not None:
                        raise _TooSlowError
            made = answer.result()
        except WorkerDiedError as error:
            self._end(worker)
            if self._is_closed or _key(question) in self._given_up:
                raise self._give_up(question, Reason.WORKER_DIED) from error
            self._remember(question, None)
            raise
        finally:
            self.seconds += time.monotonic() - began
            self._slow.discard(answer)
            if not answer.done():
                answer.cancel()
                self._end(worker)
        if worker is not None and worker.has_grown:
            self._end(worker)
        if getattr(made, "reason", None) == Reason.TOO_MUCH_MEMORY:
            self._give_up(question, made.reason)
        return made

    def _give_up(self, question: Question, reason: Reason) -> ExtractionError:
        """Remember the body of a page that is not to be tried again."""
        is_known = self._given_up.get(_key(question)) is not None
        self._remember(question, reason)
        if reason == Reason.WORKER_DIED and not (is_known or self._is_closed):
            logger.warning(
                "Two worker processes have ended while they extracted %s: the page is skipped"
                " (worker_died), and so is every other one with the same bytes",
                message_line(question[1].url or "a text")[:500],
            )
        return ExtractionError(reason, "the page took too long, or ended its workers")

    def _remember(self, question: Question, reason: Reason | None) -> None:
        self._given_up[_key(question)] = reason
        if len(self._given_up) > _MAX_BODIES_GIVEN_UP:
            self._given_up.popitem(last=False)

    def _check_given_up(self, question: Question) -> None:
        """Raise ExtractionError if the body of a page was given up before."""
        if self._given_up and (reason := self._given_up.get(key := _key(question))) is not None:
            self._given_up.move_to_end(key)
            self.not_tried_again += 1
            raise ExtractionError(reason, "the same body was given up before")

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

    async def _started(self) -> Worker | None:
        """Start a process and wait until it is ready; None, for a thread, if it cannot be."""
        # Not within the time limit of the first page: dictionaries of a language take long.
        if self._uses_processes:
            worker, self._first = self._first or start_worker(), None
            if worker is not None:
                self._workers.add(worker)
                try:
                    await self._in_thread(worker.start, self.extractor)
                except WorkerDiedError:
                    self._end(worker)
                else:
                    return worker
            self._do_without_processes("A worker process did not start")
        await self._in_thread(lambda extractor: extractor.warm_up(), self.extractor)
        return None

    def _in_thread(self, function: Callable[[Any], Any], argument: Any) -> asyncio.Future[Any]:
        """Call a function in a thread that does nothing else."""
        thread = self._idle.pop() if self._idle else self._new_thread()
        self._threads.add(thread)
        result: Future[Any] = Future()
        result.set_running_or_notify_cancel()  # so that it is not cancelled with what is returned
        answer = asyncio.wrap_future(result)
        result.add_done_callback(lambda _: self._idle.append(thread))
        thread.calls.put((result, function, argument))
        return answer

    def _new_thread(self) -> _Thread:
        """Start a thread, unless one could not be started before.

        Of many attempts with too little memory, one may begin a thread that cannot go on. Python
        waits for it for ever.

        Raises:
            RuntimeError: no thread can be started.
        """
        if not self._can_start_threads:
            raise RuntimeError("a thread could not be started before")
        self._can_start_threads = False
        thread = _Thread()
        self._can_start_threads = True
        return thread

    def _end(self, worker: Worker | None) -> None:
        """End a process, in a thread: what it holds takes a moment to be given back."""
        if worker is not None and worker in self._workers:
            self._workers.discard(worker)
            worker.kill()
            self._in_thread(lambda ended: ended.end(), worker)

    def _do_without_processes(self, problem: str | None = None) -> None:
        self._uses_processes = False
        if problem is not None:
            logger.warning("%s; pages are extracted in a thread", problem)
        # It reports every page without main text as an error; the verdict says it too.
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def _key(question: Question) -> bytes:
    """128-bit hash of a question and its body."""
    name, fetched = question
    return hashlib.blake2b(fetched.raw, digest_size=16, person=name.encode()).digest()
