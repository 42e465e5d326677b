"""Pages that a pool is asked about, and bodies that it has given up."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import ExtractionError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from shingling.extraction.pages import Fetched

_MAX_BODIES_GIVEN_UP = 4096  # that are remembered


class Job(NamedTuple):
    """A question on a page, and where its answer goes."""

    question: tuple[str, Fetched]
    result: Future[Any]

    @property
    def size(self) -> int:
        """Bytes of the body, or characters of a str."""
        return len(self.question[1].body)

    def finish(self, outcome: Any) -> None:
        """Hand over an answer, or an exception that is to be raised."""
        if self.result.done():  # given up before
            return
        if isinstance(outcome, Exception):
            self.result.set_exception(outcome)
        else:
            self.result.set_result(outcome)

    def key(self) -> bytes:
        """128-bit hash of the question and the body."""
        name, fetched = self.question
        body = fetched.body
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(body, digest_size=16, person=name.encode()).digest()


class BodiesGivenUp:
    """Bodies that took too long, too much memory or their worker, with the reason; the newest."""

    def __init__(self) -> None:
        self._reasons: OrderedDict[bytes, str] = OrderedDict()
        self._lock = threading.Lock()
        self.known = 0  # pages that were not tried again

    def add(self, job: Job, reason: str) -> None:
        """Remember the body of a page."""
        key = job.key()
        with self._lock:
            self._reasons[key] = reason
            if len(self._reasons) > _MAX_BODIES_GIVEN_UP:
                self._reasons.popitem(last=False)

    def note(self, job: Job, answer: Any) -> Any:
        """Remember the body of a page that took too much memory; returns the answer."""
        if getattr(answer, "reason", None) == "too_much_memory":
            self.add(job, answer.reason)
        return answer

    def check(self, job: Job) -> None:
        """Raise ExtractionError if the body of a page was given up before."""
        if not self._reasons:
            return
        key = job.key()
        with self._lock:
            reason = self._reasons.get(key)
            if reason is None:
                return
            self._reasons.move_to_end(key)
            self.known += 1
        raise ExtractionError(reason, "the same body was given up before")
