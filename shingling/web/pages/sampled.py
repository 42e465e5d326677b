"""The pairs that a threshold decides on, read from the store now and then."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shingling.store import Store
from shingling.store.admin.looking.candidates import pair_estimates, reviewed_pairs
from shingling.tuning.reviewed import ReviewedPair

if TYPE_CHECKING:
    from shingling.store import Candidates
    from shingling.store.session import Session

MAX_SECONDS_KEPT = 600.0
_KEPT_TIMES_READING = 100  # so that reading takes no more than a hundredth of the time


@dataclass(frozen=True)
class Sampled:
    """Candidates of a store.

    Args:
        candidates: as they were when they were read.
        at: when that was.
        estimates: resemblances of reviewed pairs, by the ids of their pages; None where they
            cannot be compared.
    """

    candidates: Candidates
    at: datetime
    estimates: dict[tuple[int, int], float | None]


class SampledPairs:
    """Candidates of one store, which are kept for a while: in large stores, reading takes long."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._kept: Sampled | None = None
        self._good_until = 0.0

    def read(self, session: Session) -> Sampled:
        """Candidates as they are now, or were a short while ago."""
        kept = self._kept
        # One thread reads; others take what there is.
        if not self._reading.acquire(blocking=kept is None) and kept is not None:
            return kept
        try:
            begun = time.monotonic()
            if self._kept is None or begun > self._good_until:
                found = Store(session).admin.candidates()
                self._kept = Sampled(found, datetime.now(UTC), {})
                ended = time.monotonic()
                seconds = min(_KEPT_TIMES_READING * (ended - begun), MAX_SECONDS_KEPT)
                self._good_until = ended + seconds
            return self._kept
        finally:
            self._reading.release()

    def read_reviews(self, session: Session) -> dict[tuple[int, int], ReviewedPair]:
        """Reviewed pairs as they are now, by the ids of their pages, the newest first."""
        known = self.read(session).estimates
        with session.reading() as connection:
            answers = reviewed_pairs(connection)
            new = [ids for ids in answers if ids not in known]
            found = pair_estimates(session, connection, new)
        known.update({ids: found.get(ids) for ids in new})
        measured = ((ids, known[ids], same) for ids, same in answers.items())
        return {
            ids: ReviewedPair(estimate, same)
            for ids, estimate, same in measured
            if estimate is not None
        }
