"""The shingle sizes that are tried on labelled pairs, and what is recommended, with the reason."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import TuningError
from shingling.proportions import Proportion
from shingling.rules import DEFAULT_METHOD
from shingling.similarity.measures import overlap
from shingling.sketch import fingerprint_set_of_words
from shingling.tuning.evaluation import (
    THRESHOLDS,
    Quality,
    choose,
    cross_validated,
    curve,
    quality,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Flags, Floats
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.tuning.pairs import LabelledPair

SIZES = (1, 2, 3, 4, 5, 7, 10)
_MIN_PAIRS, _MIN_PAIRS_PER_LABEL = 10, 2
_MIN_F1_GAIN = 0.02  # for less, nobody wants to rebuild a store
_MIN_PRECISION = 0.9  # less is warned of


@dataclass(frozen=True, eq=False)
class Result:
    """Quality of a shingle size and a threshold on the pairs.

    Args:
        shingle_size: in words, or characters.
        threshold: that pairs are decided by.
        resemblances: of the pairs, float64[n].
        decided: decisions on the pairs, bool[n].
        quality: of these decisions.
    """

    shingle_size: int
    threshold: float
    resemblances: Floats
    decided: Flags
    quality: Quality


@dataclass(frozen=True)
class TuningReport:
    """Results of all shingle sizes, and a recommendation.

    Args:
        same: labels of the pairs, bool[n].
        present: result of the present settings.
        results: of the shingle sizes, each with the threshold that is best on all pairs, and
            decisions on pairs that the threshold was not chosen on.
        recommended: the present settings, or one of the results.
        reason: for the recommendation, in a sentence or two.
        warnings: reasons to be careful with it.
    """

    same: Flags
    present: Result
    results: list[Result]
    recommended: Result
    reason: str
    warnings: list[str]

    @property
    def settings(self) -> dict[str, Any]:
        """Recommended settings, by name."""
        chosen = self.recommended
        return {
            "DEDUP_SHINGLE_SIZE": chosen.shingle_size,
            "DEDUP_THRESHOLD": chosen.threshold,
        }

    def as_dict(self) -> dict[str, Any]:
        """Report as JSON has it."""
        return {
            "pairs": len(self.same),
            "same": int(self.same.sum()),
            "present": self._shown(self.present),
            "results": [self._shown(result) for result in self.results],
            "recommended": {"settings": self.settings, "reason": self.reason},
            "warnings": self.warnings,
        }

    def _shown(self, result: Result) -> dict[str, Any]:
        precision, recall, f1 = result.quality
        lines = curve(result.resemblances, self.same).round(4).tolist()
        return {
            "shingle_size": result.shingle_size,
            "threshold": result.threshold,
            "precision": precision._asdict(),
            "recall": recall._asdict(),
            "f1": f1,
            "curve": {
                "threshold": THRESHOLDS.tolist(),
                **dict(zip(("precision", "recall", "f1"), lines, strict=True)),
            },
        }


def tune_on(
    pairs: Sequence[LabelledPair], scheme: Scheme, rules: Rules, sizes: Sequence[int] = SIZES
) -> TuningReport:
    """Try shingle sizes on labelled pairs, each with the threshold that is best for it.

    Args:
        pairs: at least 10, and 2 of either label.
        scheme: in use; all but its shingle size is kept.
        rules: in use.
        sizes: of shingles that are tried besides the present one.

    Raises:
        TuningError: there are too few pairs.
        SchemeError: a package that the scheme needs is not installed.
    """
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    alike = int(same.sum())
    if len(same) < _MIN_PAIRS or min(alike, len(same) - alike) < _MIN_PAIRS_PER_LABEL:
        raise TuningError(
            f"{len(same)} labelled pairs, {alike} the same and {len(same) - alike} different, are"
            f" too few: at least {_MIN_PAIRS}, and {_MIN_PAIRS_PER_LABEL} of either label"
        )
    order = [hashlib.sha256(repr(pair).encode("utf-8", "replace")).digest() for pair in pairs]
    words = {
        text: [sys.intern(word) for word in scheme.canonical.words(text)]
        for text in {text for pair in pairs for text in (pair.a, pair.b)}
    }

    def resemblances_at(size: int) -> Floats:
        sized = replace(scheme, shingle_size=size)
        fingerprints = {text: fingerprint_set_of_words(own, sized) for text, own in words.items()}
        return np.array(
            [overlap(fingerprints[pair.a], fingerprints[pair.b]).resemblance for pair in pairs]
        )

    measured = {size: resemblances_at(size) for size in sorted({*sizes, scheme.shingle_size})}
    results = []
    for size, resemblances in measured.items():
        decided = cross_validated(resemblances, same, order)
        threshold = choose(resemblances, same)
        results.append(Result(size, threshold, resemblances, decided, quality(decided, same)))
    now = measured[scheme.shingle_size]
    least = rules.least_resemblance or rules.threshold
    decided = now >= least
    present = Result(scheme.shingle_size, least, now, decided, quality(decided, same))
    recommended = _smallest_change(present, results, same)
    return TuningReport(
        same=same,
        present=present,
        results=results,
        recommended=recommended,
        reason=_reason(present, recommended),
        warnings=_warnings(present, recommended, rules),
    )


def _is_better(result: Result, other: Result, same: Flags) -> bool:
    """Whether a result is better by 0.02 of F1, and not by chance.

    By the test of McNemar (1947), exactly: of the pairs that only one of them decides rightly,
    more than half are decided so by the first one, at the lower end of the interval.
    """
    gained = int(((result.decided == same) & (other.decided != same)).sum())
    differing = int((result.decided != other.decided).sum())
    gain = result.quality.f1 - other.quality.f1
    return gain > _MIN_F1_GAIN and Proportion.of(gained, differing).low > 0.5


def _smallest_change(present: Result, results: Sequence[Result], same: Flags) -> Result:
    """Choose among the results that are better than the present one, and hardly below the best."""
    best = max(results, key=lambda result: result.quality.f1)
    good = [
        result
        for result in results
        if _is_better(result, present, same) and not _is_better(best, result, same)
    ]

    def change(result: Result) -> tuple[float, float]:
        return abs(log(result.shingle_size / present.shingle_size)), -result.quality.f1

    return min(good, key=change, default=present)


def _reason(present: Result, chosen: Result) -> str:
    if chosen is present:
        return (
            f"The present settings stay, at precision {present.quality.precision} and recall"
            f" {present.quality.recall}: by these pairs, nothing that was tried is clearly better."
        )
    before, after = present.quality, chosen.quality
    return (
        f"Shingle size {chosen.shingle_size} at threshold {chosen.threshold:g}: precision goes"
        f" from {before.precision} to {after.precision}, recall from {before.recall} to"
        f" {after.recall}."
    )


def _warnings(present: Result, chosen: Result, rules: Rules) -> list[str]:
    warnings = []
    if rules.method != DEFAULT_METHOD:
        warnings.append(
            f'DEDUP_METHOD is "{rules.method}", and these figures are of "{DEFAULT_METHOD}"'
        )
    wrong = 1 - chosen.quality.precision.value
    if wrong > 1 - _MIN_PRECISION:
        warnings.append(
            f"{wrong:.0%} of the pairs taken for the same are labelled different: set"
            ' DEDUP_ACTION = "tag" and look at the pages before you drop any, or take a higher'
            " threshold"
        )
    if chosen.shingle_size != present.shingle_size:
        warnings.append(
            "a store keeps its shingle size until `scrapy dedup rebuild --scheme` has signed its"
            " texts again"
        )
    return warnings
