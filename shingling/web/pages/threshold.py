"""Page that shows what thresholds do, and recommends one by the reviews made so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import ShinglingError
from shingling.rules.methods import METHODS
from shingling.store.admin.looking.guided import guided_pairs
from shingling.tuning.reviewed import (
    GUIDED_PAIRS,
    STRATUM_EDGES,
    ReviewedPair,
    recommend,
    reviewed_quality,
    sample_pairs,
    threshold_curve,
)
from shingling.web.pages.guided import guided_sample, written
from shingling.web.requests import asked_of, share
from shingling.web.shown import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shingling.rules.rules import Rules
    from shingling.store import CandidatePair, Candidates
    from shingling.store.session import Session
    from shingling.tuning.reviewed import Numbers, Recommendation
    from shingling.web.pages.sampled import SampledPairs

LOWEST_THRESHOLD = STRATUM_EDGES[0]  # few of the pairs below it are found
EXAMPLES_ON_EACH_SIDE = 5
_DRAWN = [step / 100 for step in range(30, 101)]
_LISTED = [step / 20 for step in range(6, 21)]

_Answers = dict[tuple[int, int], ReviewedPair]


@dataclass(frozen=True)
class Dropped:
    """Pages that are dropped at a threshold.

    Args:
        threshold: at or above which pages are dropped.
        pages: of the store, estimated where only some of its pages were looked at.
        share: of all pages.
        error: standard error of the share; 0 where all pages were looked at.
    """

    threshold: float
    pages: int
    share: float
    error: float


@dataclass(frozen=True)
class Example:
    """A pair near the threshold.

    Args:
        a, b: URLs, that of the earlier page first.
        resemblance: estimated.
        dropped: whether the page is dropped at the threshold.
        reviewed: what a person has said; None: not asked yet.
    """

    a: str
    b: str
    resemblance: float
    dropped: bool
    reviewed: bool | None


def show_threshold(
    sampled: SampledPairs, session: Session, query: Mapping[str, str]
) -> dict[str, Any]:
    """Page of one threshold: what it drops, and what reviews say of it."""
    asked = _asked_threshold(query)
    read = sampled.read(session)
    found = read.candidates
    rules = session.fitting_rules
    estimates = np.array([pair.resemblance for pair in found.pairs], np.float64)
    answers = sampled.read_reviews(session)
    reviews = [*answers.values()]
    advice = recommend(estimates, reviews) if reviews and found.pairs else None
    threshold = asked or _unasked_threshold(rules, advice)
    nearest = _nearest(found.pairs, threshold)
    examples = _examples(session, nearest, threshold, answers)
    sample = _sample(found, estimates, reviews, threshold, answers)
    return {
        "at": read.at,
        "found": found,
        "threshold": threshold,
        "lowest": LOWEST_THRESHOLD,
        "now": rules.threshold if METHODS[rules.method].threshold else None,
        "method": rules.method,
        "listed": [
            (one, reviewed_quality(estimates, reviews, one.threshold) if advice else None)
            for one in _dropped(found, estimates, _LISTED)
        ],
        "curve": _dropped(found, estimates, _DRAWN),
        "chosen": _dropped(found, estimates, [threshold])[0],
        "drops_near": bool((estimates >= threshold).any()),
        "quality": reviewed_quality(estimates, reviews, threshold) if advice else None,
        "advice": advice if advice and advice.enough else None,
        "missing": _missing(advice, reviews),
        "above": [one for one in examples if one.dropped],
        "below": [one for one in examples if not one.dropped],
        "example_fields": [
            ("sample", written([pair.ids for pair in nearest])),
            ("threshold", f"{threshold:g}"),
        ],
        "sample": guided_sample(session, {"sample": written(sample)}) if sample else None,
        "begun": guided_sample(session, asked_of(query).guided),
        "index": _index_problem(session, rules, threshold),
    }


def _asked_threshold(query: Mapping[str, str]) -> float | None:
    """Threshold that a query asks for, by the slider where that was moved."""
    name = "threshold"
    if query.get("slider") and query["slider"] != query.get("shown"):
        name = "slider"
    given = share(query, name, LOWEST_THRESHOLD)
    return None if given is None else round(given, 2)


def _unasked_threshold(rules: Rules, advice: Recommendation | None) -> float:
    if advice is not None and advice.enough:
        return advice.quality.threshold
    return max(round(rules.threshold, 2), LOWEST_THRESHOLD)


def _dropped(found: Candidates, estimates: Numbers, thresholds: Sequence[float]) -> list[Dropped]:
    shares = [
        (one.threshold, (one.dropped + found.exact) / max(found.sampled, 1))
        for one in threshold_curve(estimates, thresholds)
    ]
    unseen = 1 - found.sampled / max(found.stored, found.sampled, 1)
    return [
        Dropped(
            threshold,
            round(value * found.stored),
            value,
            (unseen * value * (1 - value) / max(found.sampled, 1)) ** 0.5,
        )
        for threshold, value in shares
    ]


def _nearest(pairs: Sequence[CandidatePair], threshold: float) -> list[CandidatePair]:
    """Pairs just above and just below a threshold, the most alike first."""
    ordered = sorted(pairs, key=lambda pair: (-pair.resemblance, pair.ids))
    above = [pair for pair in ordered if pair.resemblance >= threshold]
    below = ordered[len(above) :]
    return [*above[-EXAMPLES_ON_EACH_SIDE:], *below[:EXAMPLES_ON_EACH_SIDE]]


def _examples(
    session: Session, pairs: Sequence[CandidatePair], threshold: float, answers: _Answers
) -> list[Example]:
    with session.reading() as connection:
        present = guided_pairs(connection, [pair.ids for pair in pairs])
    stored = {frozenset((one.a, one.b)) for one in present}
    return [
        Example(
            pair.nearest,
            pair.url,
            pair.resemblance,
            pair.resemblance >= threshold,
            answers[pair.ids].same if pair.ids in answers else None,
        )
        for pair in pairs
        if frozenset((pair.nearest, pair.url)) in stored
    ]


def _sample(
    found: Candidates,
    estimates: Numbers,
    reviews: Sequence[ReviewedPair],
    threshold: float,
    answers: _Answers,
) -> list[tuple[int, int]]:
    """Ids of the pairs that tell most: as many as a recommendation lacks, or 40 more."""
    counted = sum(review.resemblance >= LOWEST_THRESHOLD for review in reviews)
    number = GUIDED_PAIRS - counted if counted < GUIDED_PAIRS else GUIDED_PAIRS
    waiting = [
        place
        for place, pair in enumerate(found.pairs)
        if pair.ids not in answers and pair.resemblance >= LOWEST_THRESHOLD
    ]
    chosen = sample_pairs(estimates[waiting], reviews, threshold, number)
    return [found.pairs[waiting[place]].ids for place in chosen]


def _missing(advice: Recommendation | None, reviews: Sequence[ReviewedPair]) -> str | None:
    """Reviews that a recommendation lacks; None where there is one."""
    answers = [one.same for one in reviews if one.resemblance >= LOWEST_THRESHOLD]
    if len(answers) < GUIDED_PAIRS:
        return count(GUIDED_PAIRS - len(answers), "more reviewed pair")
    if advice is None or advice.enough:
        return None
    kinds = ("different", "the same") if answers[0] else ("the same", "different")
    return f"a pair that is {kinds[0]}: all {len(answers)} reviewed pairs are {kinds[1]}"


def _index_problem(session: Session, rules: Rules, threshold: float) -> str | None:
    """Why the store cannot be used with a threshold yet, and what to run."""
    try:
        session.index.require(replace(rules, threshold=threshold))
    except ShinglingError as error:
        return str(error)
    return None
