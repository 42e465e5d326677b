"""Page that shows what thresholds do, and the one that reviews recommend, as `tune` does.

Pairs to review come from a sample of the stored pages. The answers are in the store, and the
address of a pair has the number of its part of the sample: so a person can go on after a restart,
while crawls write, and in two browsers at once.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.admin.reviews import reviews_of
from shingling.admin.thresholds import LOWEST_THRESHOLD, CandidatePair, Candidates, DroppedPages
from shingling.errors import SchemeError, ShinglingError, TuningError
from shingling.rules import METHODS
from shingling.store import Store
from shingling.tuning.evaluation import THRESHOLDS, curve
from shingling.tuning.pairs import reviewed_pairs
from shingling.tuning.report import tune_on
from shingling.web.requests import read, share, whole_number
from shingling.web.shown import link
from shingling.web.store_threads import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shingling.rules.rules import Rules
    from shingling.store import Review
    from shingling.store.session import Session
    from shingling.tuning.report import Report

PAIRS_AT_ONCE = 40
"""Pairs of a part of the sample."""

EXAMPLES_ON_EACH_SIDE = 5
_SEED = 84


class Example(NamedTuple):
    """A pair of a page and the earlier one that is most like it.

    Args:
        pair: these.
        reviewed: what a person has said; None: not asked yet.
    """

    pair: CandidatePair
    reviewed: bool | None


class Walk(NamedTuple):
    """Pairs that a person goes through, and how far they have come.

    Args:
        pairs: in this order.
        fields: of the query that it goes on by.
    """

    pairs: list[Example]
    fields: dict[str, str]

    @property
    def reviewed(self) -> int:
        """Number of pairs that are reviewed."""
        return sum(one.reviewed is not None for one in self.pairs)

    @property
    def end(self) -> str:
        """Address of the page that it ends on."""
        return link("/threshold", self.fields.items())

    @property
    def first(self) -> str | None:
        """Address of the first pair that is not reviewed; None where all are."""
        return self._from(0)

    def after(self, a: str, b: str) -> str:
        """Address of the next pair that is not reviewed, or of the end."""
        urls = [{one.pair.nearest, one.pair.url} for one in self.pairs]
        return self._from(urls.index({a, b}) + 1 if {a, b} in urls else 0) or self.end

    def _from(self, start: int) -> str | None:
        for pair, reviewed in self.pairs[start:]:
            if reviewed is None:
                return link("/pair", [("a", pair.nearest), ("b", pair.url), *self.fields.items()])
        return None


class ThresholdPage:
    """The page of one store; what takes long to read is kept for a while."""

    def __init__(self) -> None:
        self._sampled = Kept(_read)
        self._advised: tuple[list[Review], Report | str] | None = None

    def show(self, session: Session, query: Mapping[str, str]) -> dict[str, Any]:
        """Show what a threshold drops, and what reviews recommend."""
        found, at = self._sampled.get(session)
        examples = _reviewed(session, found)
        rules = session.fitting_rules
        now = rules.threshold if METHODS[rules.method].threshold else None
        advice = self._advice(session, rules)
        report = None if isinstance(advice, str) else advice
        recommended = None if report is None else report.recommended.threshold
        usual = max(round(recommended or rules.threshold, 2), LOWEST_THRESHOLD)
        threshold = _asked_threshold(query) or usual
        # At the present threshold, what the store has is counted.
        stored = DroppedPages(
            0.0 if now is None else round(now, 2),
            found.duplicates,
            found.duplicates / max(found.stored, 1),
        )
        begun = read(query, "sample", whole_number)
        parts = [
            Walk(_part(examples, number), {"sample": str(number), "threshold": f"{threshold:g}"})
            for number in range(1, 2 + len(examples) // PAIRS_AT_ONCE)
        ]
        [again] = [one for one in found.dropped if one.threshold == threshold]
        return {
            "at": at,
            "found": found,
            "threshold": threshold,
            "lowest": LOWEST_THRESHOLD,
            "now": now,
            "method": rules.method,
            "stored": stored,
            "again": again,
            "chosen": stored if stored.threshold == threshold else again,
            "advice": report,
            "recommended": recommended,
            "quality": _quality(report),
            "missing": advice,
            "nearest": _nearest(examples, threshold),
            "begun": next((one for one in parts if one.fields["sample"] == str(begun)), None),
            "next_part": next((one for one in parts if one.first), None),
            "index": _index_problem(session, rules, threshold),
        }

    def walk(self, session: Session, fields: dict[str, str]) -> Walk | None:
        """Pairs that a query asks for: a part of the sample, or those nearest to a threshold.

        Args:
            session: of the store.
            fields: `sample` or `threshold`.

        Raises:
            RequestError: it is none that our pages make.
        """
        number, threshold = read(fields, "sample", whole_number), _asked_threshold(fields)
        if number is None and threshold is None:
            return None
        examples = _reviewed(session, self._sampled.get(session)[0])
        if number is not None:
            return Walk(_part(examples, number), fields)
        return Walk(_nearest(examples, threshold or LOWEST_THRESHOLD), fields)

    def _advice(self, session: Session, rules: Rules) -> Report | str:
        """Ask `tune` for a threshold under the present scheme, or say why there is none."""
        store = Store(session)
        reviews = store.admin.reviews()
        if self._advised is None or self._advised[0] != reviews:
            try:
                labelled = reviewed_pairs(store)
                advice: Report | str = tune_on(labelled, store.scheme, rules, sizes=())
            except (SchemeError, TuningError) as error:
                advice = str(error)
            self._advised = reviews, advice
        return self._advised[1]


def _read(session: Session) -> tuple[Candidates, datetime]:
    return Store(session).admin.candidates(), datetime.now(UTC)


def _reviewed(session: Session, found: Candidates) -> list[Example]:
    """Pairs of the sample with their reviews, in the order asked."""
    pairs = spread(found.pairs)
    with session.reading() as connection:
        reviews = reviews_of(connection, [(pair.nearest, pair.url) for pair in pairs])
    return [
        Example(pair, None if review is None else review.same)
        for pair, review in zip(pairs, reviews, strict=True)
    ]


def spread(pairs: Sequence[CandidatePair]) -> list[CandidatePair]:
    """Draw all pairs, so that all resemblances have their turn.

    Of each tenth of the resemblances comes one pair, then of each another one.
    """
    by_tenth = defaultdict(list)
    ordered = sorted(pairs, key=lambda pair: pair.ids)
    for pair in random.Random(_SEED).sample(ordered, len(ordered)):  # noqa: S311 (no secret)
        by_tenth[int(10 * pair.resemblance)].append(pair)
    turns = zip_longest(*(by_tenth[tenth] for tenth in sorted(by_tenth)))
    return [pair for turn in turns for pair in turn if pair is not None]


def _part(examples: Sequence[Example], number: int) -> list[Example]:
    return [*examples[max(number - 1, 0) * PAIRS_AT_ONCE :][:PAIRS_AT_ONCE]]


def _nearest(examples: Sequence[Example], threshold: float) -> list[Example]:
    """Pairs just above and just below a threshold, the most alike first."""
    ordered = sorted(examples, key=lambda one: (-one.pair.resemblance, one.pair.ids))
    above = [one for one in ordered if one.pair.resemblance >= threshold]
    below = ordered[len(above) :]
    return [*above[-EXAMPLES_ON_EACH_SIDE:], *below[:EXAMPLES_ON_EACH_SIDE]]


def _asked_threshold(query: Mapping[str, str]) -> float | None:
    """Threshold that a query asks for, by the slider where that was moved."""
    name = "threshold"
    if query.get("slider") and query["slider"] != query.get("shown"):
        name = "slider"
    given = read(query, name, partial(share, lowest=LOWEST_THRESHOLD))
    return None if given is None else round(given, 2)


def _quality(advice: Report | None) -> dict[float, tuple[float, float]]:
    """Precision and recall of the reviewed pairs by threshold."""
    if advice is None:
        return {}
    precision, recall, _ = curve(advice.present.resemblances, advice.same).tolist()
    return dict(zip(THRESHOLDS.tolist(), zip(precision, recall, strict=True), strict=True))


def _index_problem(session: Session, rules: Rules, threshold: float) -> str | None:
    """Why the store cannot be used with a threshold yet, and what to run."""
    try:
        session.index.require(replace(rules, threshold=threshold))
    except ShinglingError as error:
        return str(error)
    return None
