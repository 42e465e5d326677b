"""Which original a page follows: what every room that decides near-duplicates asks.

The store (`store.decide.decide`), whole collections (`bulk.deciding`) and Spark
(`bulk.spark.near`) find candidates and measure texts in their own ways. Which candidates are
measured, in which order, whether one reaches the rules and which one is best stands here alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from shingling.rules import METHODS
from shingling.similarity.measures import standard_error
from shingling.sketch import FUNCTIONS, SUPERSHINGLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shingling.arrays import Flags, Hashes, Integers
    from shingling.rules.rules import Rules
    from shingling.similarity.measures import Overlap

MAX_CANDIDATES_MEASURED = 32
"""Candidates of a page whose texts are compared with its own: the most alike ones."""

_STANDARD_ERRORS = 3.0  # below the threshold at which a candidate is still measured
_MIN_ESTIMATE_FRACTION = 0.5  # of the threshold: templates may bring copies down to it


class Measured(Protocol):
    """What two texts have in common."""

    @property
    def resemblance(self) -> float:
        """Shared shingles of all shingles."""


_M = TypeVar("_M", bound=Measured)


class MatchRule(NamedTuple):
    """What makes a page follow an original.

    Args:
        rules: with the method.
        min_resemblance: resemblance that is asked for.
        min_estimate: estimate, from all minima, from which on a candidate is measured.
        margin: by how much a measure may lie above its estimate.
    """

    rules: Rules
    min_resemblance: float
    min_estimate: float
    margin: float

    @classmethod
    def by(cls, rules: Rules) -> MatchRule:
        """Make it of rules.

        What surrounds an article on another site makes it look less alike than it is: estimates
        from whole texts may lie lower if templates are left out.
        """
        asked = rules.least_resemblance or 0.0
        margin = _STANDARD_ERRORS * standard_error(asked or 0.5)
        min_estimate = asked - margin
        if rules.templates:
            min_estimate = min(min_estimate, _MIN_ESTIMATE_FRACTION * asked)
        return cls(rules, asked, min_estimate, margin)

    def contains(self, both: Overlap | None) -> bool:
        """Whether a page contains an original, and more: then it is not dropped for it.

        Args:
            both: shingles of the page (a) and of the original (b); None if they are not known.
        """
        least = self.rules.containment
        return (
            least is not None
            and both is not None
            and least * both.b <= both.shared < least * both.a
        )

    def worth_measuring(
        self, equal: Flags, simhash: Hashes, others: Hashes
    ) -> tuple[Flags, Integers]:
        """Which pairs the method accepts and have enough equal minima, and how many each has.

        Args:
            equal: which minima are equal, bool[n, 84].
            simhash: of the pages, uint64[n] or uint64[1].
            others: SimHashes of the candidates, uint64[n].

        Returns:
            bool[n] and int64[n].
        """
        method, counts = METHODS[self.rules.method], np.count_nonzero(equal, axis=1)
        accepted: Flags = counts / FUNCTIONS >= self.min_estimate
        if method.supershingles:
            parts = equal.reshape(-1, SUPERSHINGLES, FUNCTIONS // SUPERSHINGLES).all(axis=2)
            accepted &= parts.sum(axis=1) >= method.supershingles
        if method.distance:
            accepted &= np.bitwise_count(simhash ^ others) <= self.rules.simhash_distance
        return accepted, counts

    def best(
        self,
        ranked: Iterable[tuple[int, float]],
        ages: Sequence[int],
        measure: Callable[[int], _M | None],
    ) -> tuple[int, _M] | None:
        """Choose the candidate that the page follows: the most alike, among equals the oldest.

        Args:
            ranked: places of candidates with their estimates, the most alike first.
            ages: a number of each candidate, by place; lower ones are older.
            measure: compares the texts, exactly; None passes a candidate over.

        Returns:
            Its place and its measure; None if none is alike enough.
        """
        chosen: tuple[int, _M] | None = None
        for place, estimate in ranked:
            if chosen is not None and estimate + self.margin < chosen[1].resemblance:
                break
            own = measure(place)
            if own is None or own.resemblance < self.min_resemblance:
                continue
            if chosen is None or (own.resemblance, -ages[place]) > (
                chosen[1].resemblance,
                -ages[chosen[0]],
            ):
                chosen = place, own
        return chosen
