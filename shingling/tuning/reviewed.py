"""Precision and recall of a threshold, and a threshold, by a person's reviews of some pairs.

A crawl drops a page whose nearest earlier page resembles it at or above the threshold. So what is
looked at is one pair for each page: the page and its nearest earlier one (the candidates). They
are cut into strata by their estimated resemblance, reviews are counted in each stratum, and a
stratum weighs as much as it has candidates. This is sound where the pairs that a person reviewed
within a stratum were not chosen by what they are, as in `sample_pairs`; which strata they are in
does not matter. Reviews are taken as right, and as independent of each other.

Not counted are pairs below the lowest stratum, and pairs that are no candidates, because nothing
finds them: recall is that among the candidates.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
Draws: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]

STRATUM_EDGES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Estimated resemblances at which strata begin; the last one ends with 1."""

THRESHOLDS = tuple(step / 20 for step in range(8, 20))
"""Thresholds that one is recommended of: 0.4, 0.45, ... 0.95."""

GUIDED_PAIRS = 40
"""Pairs of a guided sample, and fewest reviews that a recommendation rests on."""

_CONFIDENCE = 0.95
_DRAWS = 4000
_SEED = 84
_F1_TOLERANCE = 0.01  # a threshold that loses no more is as good as the best
_WEIGHT_DISTANCE = 0.1  # from the threshold, at which a stratum is asked about half as often


class ReviewedPair(NamedTuple):
    """A pair that a person has reviewed: its estimated resemblance, and the answer."""

    resemblance: float
    same: bool


class Share(NamedTuple):
    """An estimated share with its 95 % confidence interval, each 0 to 1."""

    value: float
    low: float
    high: float


class ReviewedQuality(NamedTuple):
    """What reviews tell of a threshold.

    Args:
        threshold: at or above which pages are dropped.
        precision: share of the dropped pages whose nearest earlier page is the same.
        recall: share of the pages whose nearest earlier page is the same that are dropped.
        pairs: reviews that count, from the lowest stratum on.
    """

    threshold: float
    precision: Share
    recall: Share
    pairs: int

    @property
    def f1(self) -> float:
        """Harmonic mean of the estimated precision and recall."""
        both = self.precision.value + self.recall.value
        return 2 * self.precision.value * self.recall.value / both if both else 0.0


class Recommendation(NamedTuple):
    """A threshold with what reviews tell of it.

    Args:
        quality: of the recommended threshold.
        enough: whether at least 40 pairs were reviewed, with either answer among them.
    """

    quality: ReviewedQuality
    enough: bool


class ThresholdCount(NamedTuple):
    """A threshold, and how many of the candidates are dropped at it."""

    threshold: float
    dropped: int


def threshold_curve(
    candidates: Numbers, thresholds: Sequence[float] = THRESHOLDS
) -> list[ThresholdCount]:
    """Count the candidates that are dropped at each threshold.

    Args:
        candidates: estimated resemblance of each page to its nearest earlier one: float64[n].
        thresholds: in any order.
    """
    ordered = np.sort(candidates)
    below = np.searchsorted(ordered, np.asarray(thresholds), side="left").tolist()
    return [
        ThresholdCount(threshold, len(ordered) - number)
        for threshold, number in zip(thresholds, below, strict=True)
    ]


def reviewed_quality(
    candidates: Numbers, reviews: Sequence[ReviewedPair], threshold: float
) -> ReviewedQuality:
    """Estimate precision and recall of a threshold by reviews.

    The values are those of the stratified estimator: the share of pairs that are the same in each
    stratum, weighted by the candidates in it; the stratum that the threshold lies in is cut in
    two. A stratum without reviews counts as half the same, and as anything between none and all
    in the intervals.

    The intervals are melded of the exact binomial ones of the strata (Clopper and Pearson 1934):
    bounds of each stratum are drawn from their confidence distributions, and the quantiles of
    what they give are taken (Fay, Proschan and Brittain 2015). With one stratum this is the
    interval of Clopper and Pearson; with several it is too wide rather than too narrow (in
    simulations with 40 reviews, 99 % of the intervals held the truth).

    Args:
        candidates: estimated resemblance of each page to its nearest earlier one: float64[n].
        reviews: of any pairs; a pair need not be among the candidates.
        threshold: 0 to 1.
    """
    edges = sorted({*STRATUM_EDGES, max(threshold, STRATUM_EDGES[0])})
    weights = _counted(candidates, edges)
    same = _counted([pair.resemblance for pair in reviews if pair.same], edges)
    different = _counted([pair.resemblance for pair in reviews if not pair.same], edges)
    total = same + different
    values = np.where(total > 0, same / np.maximum(total, 1), 0.5)[np.newaxis]
    dropped = np.asarray(edges) >= threshold
    random = np.random.default_rng(_SEED)
    lower = _beta(random, same, different + 1)
    upper = _beta(random, same + 1, different)
    return ReviewedQuality(
        threshold,
        _share(*(_precision(weights, part, dropped) for part in (values, lower, upper))),
        _share(
            *(
                _recall(weights, part, other, dropped)
                for part, other in ((values, values), (lower, upper), (upper, lower))
            )
        ),
        int(total.sum()),
    )


def recommend(
    candidates: Numbers,
    reviews: Sequence[ReviewedPair],
    thresholds: Sequence[float] = THRESHOLDS,
) -> Recommendation:
    """Recommend the threshold with the highest estimated F1.

    Of those that are as good within 0.01, the middle one of the widest stretch, because pages to
    come may lie on either side. The intervals are those of a threshold named beforehand: that it
    was chosen by the same reviews makes them a little too narrow.

    Args:
        candidates: estimated resemblance of each page to its nearest earlier one: float64[n].
        reviews: of any pairs.
        thresholds: rising; one of them is recommended.
    """
    found = [reviewed_quality(candidates, reviews, threshold) for threshold in thresholds]
    best = max(quality.f1 for quality in found)
    good = [quality.f1 >= best - _F1_TOLERANCE for quality in found]
    edges = np.flatnonzero(np.diff([False, *good, False])).reshape(-1, 2).tolist()
    start, end = max(edges, key=lambda edge: edge[1] - edge[0])
    answers = {pair.same for pair in reviews if pair.resemblance >= STRATUM_EDGES[0]}
    chosen = found[(start + end - 1) // 2]
    return Recommendation(chosen, len(answers) == 2 and chosen.pairs >= GUIDED_PAIRS)


def sample_pairs(
    candidates: Numbers,
    reviews: Sequence[ReviewedPair],
    threshold: float,
    number: int = GUIDED_PAIRS,
    seed: int = _SEED,
) -> list[int]:
    """Choose the candidates that tell most about a threshold.

    Strata near the threshold are asked about more often, and those with fewer reviews first;
    within a stratum, candidates are drawn at random.

    Args:
        candidates: estimated resemblances of pairs that nobody has reviewed: float64[n].
        reviews: that were made before.
        threshold: 0 to 1.
        number: of pairs, at most.
        seed: of the draw.

    Returns:
        Places in `candidates`, in the order in which the pairs tell most.
    """
    random = np.random.default_rng(seed)
    strata = np.searchsorted(np.asarray(STRATUM_EDGES), candidates, side="right") - 1
    waiting = [
        random.permutation(np.flatnonzero(strata == stratum)).tolist()
        for stratum in range(len(STRATUM_EDGES))
    ]
    middles = np.array([(low + high) / 2 for low, high in pairwise((*STRATUM_EDGES, 1.0))])
    weights = 1 / (_WEIGHT_DISTANCE + np.abs(middles - threshold))
    asked = _counted([pair.resemblance for pair in reviews], STRATUM_EDGES)
    chosen: list[int] = []
    while len(chosen) < number and any(waiting):
        gains = np.where([bool(part) for part in waiting], weights / (asked + 1), -1.0)
        stratum = int(np.argmax(gains))
        asked[stratum] += 1
        chosen.append(waiting[stratum].pop())
    return chosen


def _counted(resemblances: Sequence[float] | Numbers, edges: Sequence[float]) -> Numbers:
    """Resemblances in each stratum: float64[strata]."""
    counts = np.histogram(np.asarray(resemblances, np.float64), [*edges, np.inf])[0]
    return counts.astype(np.float64)


def _beta(random: np.random.Generator, a: Numbers, b: Numbers) -> Draws:
    """Draw from a beta distribution for each stratum; all 0 where a is 0, all 1 where b is."""
    draws = random.beta(np.maximum(a, 1), np.maximum(b, 1), size=(_DRAWS, len(a)))
    drawn: Draws = np.where(a == 0, 0.0, np.where(b == 0, 1.0, draws))
    return drawn


def _precision(weights: Numbers, same: Draws, dropped: Flags) -> Numbers:
    """Share of same pairs among the dropped ones, for each draw; 1 where nothing is dropped."""
    total = weights[dropped].sum()
    shares: Numbers = same[:, dropped] @ weights[dropped] / max(total, 1)
    return shares if total else np.ones(len(same))


def _recall(
    weights: Numbers,
    same: Draws,
    same_below: Draws,
    dropped: Flags,
) -> Numbers:
    """Share of dropped pairs among the same ones, for each draw; 1 where none is the same."""
    found = same[:, dropped] @ weights[dropped]
    missed = same_below[:, ~dropped] @ weights[~dropped]
    shares: Numbers = np.where(found + missed > 0, found / np.maximum(found + missed, 1e-12), 1.0)
    return shares


def _share(value: Numbers, low: Numbers, high: Numbers) -> Share:
    tail = (1 - _CONFIDENCE) / 2
    lowest, highest = float(np.quantile(low, tail)), float(np.quantile(high, 1 - tail))
    return Share(float(value[0]), lowest, highest)
