"""Try settings on labelled pairs, and recommend some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.defaults import MOST_DISTANCE
from shingling.errors import TuningError
from shingling.sketch import Banding
from shingling.tuning.evaluation import Flags, folds_of, gap_error
from shingling.tuning.measuring import Measures
from shingling.tuning.pairs import require_pairs
from shingling.tuning.settings import (
    Result,
    Setting,
    as_python,
    at_present,
    changed_scheme,
    evaluate,
    methods,
    sizes,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Scheme
    from shingling.tuning.pairs import LabelledPair

MOST_FOLDS = 20
_NOISE = 2.0  # standard errors that a setting must be better by
_LEAST_GAIN = 0.02  # of F1, for which it is worth while to make a new store
_FEW_PAIRS, _FEW_OF_A_LABEL = 100, 30
_MANY_WRONG = 0.1  # of the pairs taken for the same
_LITTLE = 0.3  # a resemblance below which texts are no copies of each other
_MANY_KEYS = 28  # a page; a threshold of 0.5 needs as many


@dataclass(frozen=True)
class Report:
    """What was tried on the pairs, and what is recommended.

    Args:
        pairs, same: how many pairs there are, and how many of them are the same.
        unlabelled: pairs of the file that have no label.
        by_title: the labels are those of titles, not of a person.
        folds: of the cross-validation.
        present: what the present settings do.
        results: of all settings tried, the shingle sizes first.
        recommended: the present settings, or one of the results.
        reason: why, in a sentence or two.
        warnings: what to mind.
        left_out: settings that were not tried, with the reason.
    """

    pairs: int
    same: int
    unlabelled: int
    by_title: bool
    folds: int
    present: Result
    results: tuple[Result, ...]
    recommended: Result
    reason: str
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def settings(self) -> dict[str, Any]:
        """Return the recommended settings by name."""
        setting = self.recommended.setting
        found: dict[str, Any] = {
            "DEDUP_METHOD": setting.method,
            "DEDUP_SHINGLE_SIZE": setting.scheme.shingle_size,
        }
        if self.recommended.threshold is not None:
            found["DEDUP_THRESHOLD"] = self.recommended.threshold
        if self.recommended.distance is not None:
            found["DEDUP_SIMHASH_DISTANCE"] = self.recommended.distance
        scheme = changed_scheme(setting.scheme)
        if scheme or changed_scheme(self.present.setting.scheme):
            found["DEDUP_SCHEME"] = scheme
        return found

    @property
    def lines(self) -> list[str]:
        """Return the recommended settings as lines of settings.py."""
        return [f"{name} = {as_python(value)}" for name, value in self.settings.items()]

    def as_dict(self) -> dict[str, Any]:
        """Return the report for machines."""
        return {
            "pairs": self.pairs,
            "same": self.same,
            "unlabelled": self.unlabelled,
            "labels": "titles" if self.by_title else "file",
            "folds": self.folds,
            "present": self.present.as_dict(),
            "results": [result.as_dict() for result in self.results],
            "recommended": {
                "name": self.recommended.setting.name,
                "settings": self.settings,
                "reason": self.reason,
            },
            "warnings": list(self.warnings),
            "left_out": list(self.left_out),
        }


def tune_on(
    pairs: Sequence[LabelledPair],
    present: Scheme,
    threshold: float,
    *,
    method: str = "minhash",
    distance: int = 3,
    folds: int = 5,
    unlabelled: int = 0,
    by_title: bool = False,
) -> Report:
    """Try methods, shingle sizes and ways to read a text on labelled pairs.

    Args:
        pairs: at least 10, and 2 of either label.
        present: the scheme in use; what it does to a text is kept in all that is tried.
        threshold: the resemblance in use.
        method: the method in use, `minhash`, `megashingle`, `simhash` or `minhash+simhash`.
        distance: bits, in use.
        folds: of the cross-validation, 2 to 20.
        unlabelled: pairs without a label, which are only counted.
        by_title: the labels come from `pairs_from`.

    Raises:
        TuningError: too few pairs, or a number of folds that is not accepted.
        SchemeError: a pack that the present scheme needs is not installed.
    """
    if not 2 <= folds <= MOST_FOLDS:
        raise TuningError(f"{folds} folds are not accepted: a whole number, 2 to {MOST_FOLDS}")
    require_pairs(pairs)
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    own_folds = folds_of(pairs, folds)
    measures = Measures(pairs)
    setting = Setting("present settings", present, method)
    now = at_present(setting, threshold, distance, measures, same)
    results = [evaluate(size, measures, same, own_folds) for size in sizes(present)]
    best = _least_change(now, results, same).setting.scheme
    others = [*methods(present, best)]
    read_otherwise, left_out = variants(best, [pair.a for pair in pairs])
    others += read_otherwise
    results += [evaluate(other, measures, same, own_folds) for other in others]
    recommended, reason = _recommend(now, results, same)
    return Report(
        pairs=len(pairs),
        same=int(same.sum()),
        unlabelled=unlabelled,
        by_title=by_title,
        folds=folds,
        present=now,
        results=tuple(results),
        recommended=recommended,
        reason=reason,
        warnings=(
            *_warnings(same, now, recommended, by_title=by_title),
            *_out_of_reach(results),
        ),
        left_out=tuple(left_out),
    )


def _recommend(present: Result, results: Sequence[Result], same: Flags) -> tuple[Result, str]:
    """Return the least change that brings all that can be told from the noise, and why."""
    best = _best(results)
    chosen = _least_change(present, results, same)
    number = len(results)
    if chosen is present:
        if best.quality.f1 <= present.quality.f1:
            return present, (
                f"The present settings reach F1 {_figure(present)}, and none of the {number}"
                " settings tried does better on pairs that it was not chosen on."
            )
        gap = best.quality.f1 - present.quality.f1
        error = gap_error(best.taken, present.taken, same)
        return present, (
            f"The present settings reach F1 {_figure(present)}. The best of the {number} settings"
            f" tried, {_named(best)}, reaches {_figure(best)}: {gap:.3f} ± {error:.3f} more, which"
            " is small or chance."
        )
    gain = chosen.quality.f1 - present.quality.f1
    error = gap_error(chosen.taken, present.taken, same)
    named = _named(chosen)
    reason = (
        f"{named[0].upper()}{named[1:]}: F1 rises from"
        f" {present.quality.f1:.3f} to {chosen.quality.f1:.3f} (by {gain:.3f} ± {error:.3f}),"
        f" precision goes from {present.quality.precision:.3f} to {chosen.quality.precision:.3f},"
        f" recall from {present.quality.recall:.3f} to {chosen.quality.recall:.3f}."
    )
    if best is not chosen:
        return chosen, (
            f"{reason} The best of the {number} settings tried, {_named(best)}, reaches"
            f" {_figure(best)}: a greater change, for a gain that is small or chance."
        )
    return chosen, f"{reason} It is the best of the {number} settings tried."


def _best(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.quality.f1)


def _least_change(present: Result, results: Sequence[Result], same: Flags) -> Result:
    """Return the least change among the results that cannot be told from the best.

    That is the rule of Breiman et al. (1984, section 3.4.3), with the noise of the difference
    on the same pairs. What is not better than the present settings by more than that noise,
    and by 0.02, does not count.
    """

    def better(result: Result, other: Result) -> bool:
        gap = result.quality.f1 - other.quality.f1
        return gap > max(_LEAST_GAIN, _NOISE * gap_error(result.taken, other.taken, same))

    best = _best(results)
    good = [result for result in results if better(result, present) and not better(best, result)]
    return min(
        good,
        key=lambda result: (*_change(result, present), -result.quality.f1),
        default=present,
    )


def _change(result: Result, present: Result) -> tuple[int, float]:
    """Return how much a result would change: the threshold, the method or size, the words."""
    own, now = result.setting.scheme, present.setting.scheme
    size = abs(log(own.shingle_size / now.shingle_size))
    if replace(own, shingle_size=now.shingle_size) != now:
        return 3, size
    if result.setting.method != present.setting.method:
        return 2, size
    return (1, size) if size else (0, size)


def _named(result: Result) -> str:
    setting = result.setting
    rule = []
    if result.threshold is not None:
        rule.append(f"threshold {result.threshold:g}")
    if result.distance is not None:
        rule.append(f"distance {result.distance}")
    shingles = "shingles of " if setting.method in ("minhash", "minhash+simhash") else ""
    return f"{shingles}{setting.name}{' at ' if rule else ''}{' and '.join(rule)}"


def _figure(result: Result) -> str:
    return f"{result.quality.f1:.3f} ± {result.error:.3f}"


def _warnings(same: Flags, present: Result, recommended: Result, *, by_title: bool) -> list[str]:
    found = []
    if by_title:
        found.append(
            "the labels are a proxy: pages of one language and title were taken for the same, and"
            " others for different; pairs that a person has labelled tell more"
        )
    rarer = int(min(same.sum(), (~same).sum()))
    if len(same) < _FEW_PAIRS or rarer < _FEW_OF_A_LABEL:
        found.append(
            f"few pairs ({len(same)}, and {rarer} of the rarer label): figures may be off by"
            f" {_NOISE * recommended.error:.2f} or more; label {_FEW_PAIRS} pairs or more"
        )
    wrong = 1 - recommended.quality.precision
    if wrong > _MANY_WRONG:
        found.append(
            f"{wrong:.0%} of the pairs taken for the same are labelled different: set"
            ' DEDUP_ACTION = "tag" and look at the pages before you drop any, or take a higher'
            " threshold from the curve"
        )
    method, threshold = recommended.setting.method, recommended.threshold
    if "minhash" in method and threshold is not None and recommended is not present:
        banding = Banding.for_threshold(threshold)
        if banding.bands > _MANY_KEYS:
            found.append(
                f"a threshold of {threshold:g} takes {banding.bands} keys a page to find pairs"
                f" ({banding.recall(threshold):.0%} of those at it are found): the store grows"
                " and slows down with them"
            )
        if threshold < _LITTLE:
            found.append(
                f"texts labelled the same share little (threshold {threshold:g}): they may tell of"
                " the same thing, but they are no near-duplicates"
            )
    scheme = recommended.setting.scheme
    if scheme != present.setting.scheme:
        found.append(
            f"{recommended.setting.name}: another scheme than before, and a store keeps its own:"
            " name a new store in DEDUP_STORE_URL"
        )
    elif recommended is not present:
        options = f" --method {method}"
        options += "" if threshold is None else f" --threshold {threshold:g}"
        found.append(f"a store with another index needs `scrapy dedup rebuild{options}` once")
    return found


def _out_of_reach(results: Sequence[Result]) -> list[str]:
    """Say where SimHash would do best at more bits than a store looks up."""
    for result in results:
        if result.setting.method != "simhash" or result.curve is None:
            continue
        f1 = result.curve.f1
        best = max(f1)
        if best > max(f1[: MOST_DISTANCE + 1]) + _LEAST_GAIN:
            warning = (
                f"SimHash would do best at {f1.index(best)} bits (F1 {best:.3f} on all pairs), but"
                f" a store finds pairs of at most {MOST_DISTANCE}"
            )
            return [warning]
    return []
