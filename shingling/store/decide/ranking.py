"""Which of its candidates a page is a duplicate of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from shingling.similarity import distance as simhash_distance, equal_supershingles, standard_error
from shingling.store.decide.titles import are_two

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shingling.similarity import Overlap
    from shingling.store.decide.batch import WorkingSet
    from shingling.store.rules import Rules
    from shingling.store.schema.rows import Row

_ERRORS = 3.0  # standard errors below the threshold at which a candidate is still measured
_DILUTED = 0.5  # of the threshold: the estimate that templates may bring copies down to
_SURELY = 0.8  # resemblance of whole texts at which pages of a site with one title are one
MEASURED = 32  # candidates measured at most, the most alike first


class Ranking(NamedTuple):
    """Which candidates are measured, by the estimates from all minima.

    Args:
        least: resemblance that is asked for.
        worth: estimate from which on a candidate is measured.
        margin: by how much a measure may lie above its estimate.
    """

    least: float
    worth: float
    margin: float

    @classmethod
    def of(cls, rules: Rules) -> Ranking:
        """Return how candidates are ranked under rules."""
        return cls(_least(rules), least_estimate(rules), _margin(rules))

    def order(self, estimates: NDArray[np.float64]) -> Iterator[int]:
        """Yield the places of those that are measured: the most alike first, then the oldest."""
        for place in np.argsort(-estimates, kind="stable")[:MEASURED].tolist():
            if estimates[place] < self.worth:
                return
            yield place

    def is_beaten(self, estimate: float, best: float) -> bool:
        """Return whether a candidate, and those behind it, lie below one that was measured."""
        return estimate + self.margin < best


class Contained(NamedTuple):
    """The original that a page is a piece of, or the URL of one that it contains.

    And whether another original was passed over for its title.
    """

    piece: tuple[Row, Overlap] | None = None
    contains: str | None = None
    other_title: bool = False


class Choice(NamedTuple):
    """The original of a page with the measures; whether another was passed over for its title."""

    best: tuple[Row, float, float] | None = None
    other_title: bool = False


def choose(row: Row, candidates: Sequence[Row], rules: Rules, store: WorkingSet) -> Choice:
    """Return the most alike of the candidates that the method takes, but for other documents.

    The estimate from all minima picks whom to measure; among equals the oldest wins.
    """
    taken = _taken(row, candidates, rules)
    if not taken:
        return Choice()
    ranking = Ranking.of(rules)
    estimates = (np.stack([other.minima for other in taken]) == row.minima).mean(axis=1)
    best: tuple[Row, float, float] | None = None
    other_title = False
    for place in ranking.order(estimates):
        if best is not None and ranking.is_beaten(float(estimates[place]), best[1]):
            break
        other = taken[place]
        resemblance, containment = _measured(row, other, ranking.least, store)
        if resemblance < ranking.least or (not resemblance and store.is_template(other, rules)):
            continue
        if are_two(row, other, resemblance, store):
            other_title = True
            continue
        if best is None or (resemblance, -other.id) > (best[1], -best[0].id):
            best = other, resemblance, containment
    return Choice(best, other_title)


def _measured(row: Row, other: Row, least: float, store: WorkingSet) -> tuple[float, float]:
    """Return resemblance and containment of two pages without the templates of their sites.

    Pages of one site can only look more alike by its template: whole, they must be alike as well.
    With one title they are one page, if they are nearly the same as a whole.
    """
    left = store.measure(row, other)
    if row.site != other.site:
        return left
    whole = store.measure(row, other, whole=True)
    if whole[0] >= max(least, _SURELY) and store.are_one(row, other):
        return whole
    return min(left, whole)


def _least(rules: Rules) -> float:
    """Return the resemblance that a method asks for."""
    return rules.threshold if "minhash" in rules.method else 0.0


def _margin(rules: Rules) -> float:
    """Return how far below it an estimate may lie."""
    return _ERRORS * standard_error(_least(rules) or 0.5)


def least_estimate(rules: Rules) -> float:
    """Return the estimate, from whole texts, from which on two pages are worth measuring.

    What surrounds an article on another site makes it look less alike than it is.
    """
    worth = _least(rules) - _margin(rules)
    return min(worth, _DILUTED * _least(rules)) if rules.templates else worth


def _taken(row: Row, candidates: Sequence[Row], rules: Rules) -> Sequence[Row]:
    """Return the candidates that a method takes by their signatures alone."""
    if rules.method == "megashingle":
        return [other for other in candidates if equal_supershingles(row.minima, other.minima) > 1]
    if "simhash" in rules.method:
        return [
            other
            for other in candidates
            if simhash_distance(row.simhash, other.simhash) <= rules.simhash_distance
        ]
    return candidates


def contained(row: Row, others: Sequence[Row], least: float, store: WorkingSet) -> Contained:
    """Return the original that the row is a piece of, and the URL of one that it contains.

    Others come with the likeliest first; among equals it wins. A piece has no more shingles
    than its whole.
    """
    piece: tuple[Row, Overlap] | None = None
    contains: tuple[float, str] | None = None
    other_title = False
    for other in others[:MEASURED]:
        both = store.overlap(row, other)
        if both is None or both.containment < least:
            continue
        if both.a <= both.b and are_two(row, other, both.containment, store):
            other_title = True
        elif both.a <= both.b and (piece is None or both.containment > piece[1].containment):
            piece = other, both
        if both.a > both.b and (contains is None or both.containment > contains[0]):
            contains = both.containment, other.url
    return Contained(piece, contains[1] if contains and piece is None else None, other_title)
