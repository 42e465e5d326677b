"""The pairs that a threshold decides on, read from the store now and then."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from shingling.store import Store

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
    """

    candidates: Candidates
    at: datetime


class SampledPairs:
    """Candidates of one store, which are kept for a while: in large stores, reading takes long."""

    def __init__(self) -> None:
        self._reading = threading.Lock()
        self._kept: Sampled | None = None
        self._good_until = 0.0

    def read(self, session: Session) -> Sampled:
        """Candidates as they are now, or were a short while ago."""
        with self._reading:
            begun = time.monotonic()
            if self._kept is None or begun > self._good_until:
                found = Store(session).admin.candidates()
                self._kept = Sampled(found, datetime.now(UTC))
                ended = time.monotonic()
                kept = min(_KEPT_TIMES_READING * (ended - begun), MAX_SECONDS_KEPT)
                self._good_until = ended + kept
            return self._kept
