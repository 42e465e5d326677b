"""The settings that are tried on labelled pairs, and the recommended ones, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import TuningError
from shingling.rules import DEFAULT_METHOD, METHODS
from shingling.tuning.evaluation import folds_of, gap_error
from shingling.tuning.settings import (
    Measures,
    Result,
    Setting,
    as_python,
    at_present,
    changed_scheme,
    evaluate,
    methods,
    size_name,
    sizes,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.arrays import Flags
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.tuning.pairs import LabelledPairs

MAX_FOLDS = 20
_MIN_GAIN_ERRORS = 2.0  # standard errors
_MIN_F1_GAIN = 0.02  # for less, nobody wants to make a new store
_ENOUGH_PAIRS, _ENOUGH_PAIRS_PER_LABEL = 100, 30  # fewer are warned of
_MAX_WRONG_SHARE = 0.1  # of the pairs that are decided to be the same; more are warned of


@dataclass(frozen=True)
class Report:
    """Results of all settings, and a recommendation.

    Args:
        pairs: number of labelled pairs.
        same: number of those that are the same.
        unlabelled: number of pairs of the file without a label.
        labels: where they are from: `file`, `reviews`, or `titles`, which are no person's.
        folds: of the cross-validation.
        present: result of the present settings.
        results: of all settings tried, the shingle sizes first.
        recommended: the present settings, or one of the results.
        reason: for the recommendation, in a sentence or two.
        warnings: reasons to be careful with it.
        left_out: settings that were not tried, each with the reason.
    """

    pairs: int
    same: int
    unlabelled: int
    labels: str
    folds: int
    present: Result
    results: list[Result]
    recommended: Result
    reason: str
    warnings: list[str]
    left_out: list[str]

    @property
    def settings(self) -> dict[str, Any]:
        """Recommended settings, by name."""
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
        """Recommended settings, as lines of settings.py."""
        return [f"{name} = {as_python(value)}" for name, value in self.settings.items()]

    def as_dict(self) -> dict[str, Any]:
        """Report as JSON has it."""
        shown = {
            **vars(self),
            "present": self.present.as_dict(),
            "results": [result.as_dict() for result in self.results],
            "recommended": {
                "name": self.recommended.setting.name,
                "settings": self.settings,
                "reason": self.reason,
            },
        }
        del shown["reason"]
        return shown


def tune_on(
    labelled: LabelledPairs,
    present: Scheme,
    rules: Rules,
    *,
    folds: int = 5,
    threshold_only: bool = False,
) -> Report:
    """Try methods, shingle sizes and ways to take words from a text on labelled pairs.

    Args:
        labelled: at least 10 pairs, and 2 of either label.
        present: the scheme in use; what it does to a text is kept in all that is tried.
        rules: those in use; if they ask for no similarity, `minhash` takes their place.
        folds: of the cross-validation, 2 to 20.
        threshold_only: whether only other thresholds are tried, for `minhash` if the rules ask for
            no threshold.

    Raises:
        TuningError: there are too few pairs, or the number of folds is not accepted.
        SchemeError: a package that the present scheme needs is not installed.
    """
    if not 2 <= folds <= MAX_FOLDS:
        raise TuningError(f"{folds} folds are not accepted: a whole number, 2 to {MAX_FOLDS}")
    if labelled.shortage:
        raise TuningError(labelled.shortage)
    pairs = labelled.pairs
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    fold_of_pair = folds_of(pairs, folds)
    measures = Measures(pairs)
    fits = METHODS[rules.method].threshold if threshold_only else METHODS[rules.method].keys
    method = rules.method if fits else DEFAULT_METHOD
    now = at_present(Setting("present settings", present, method), rules, measures, same)
    tried = [Setting(size_name(present), present, method)] if threshold_only else sizes(present)
    results = [evaluate(one, measures, same, fold_of_pair) for one in tried]
    left_out: list[str] = []
    if not threshold_only:
        best = _smallest_change(now, results, same).setting.scheme
        readings, left_out = variants(best, [pair.a for pair in pairs])
        others = [*methods(present, best), *readings]
        results += [evaluate(other, measures, same, fold_of_pair) for other in others]
    recommended = _smallest_change(now, results, same)
    return Report(
        pairs=len(pairs),
        same=int(same.sum()),
        unlabelled=labelled.unlabelled,
        labels=labelled.labels,
        folds=folds,
        present=now,
        results=results,
        recommended=recommended,
        reason=_reason(now, _best(results), recommended, same),
        warnings=_warnings(same, now, recommended, by_title=labelled.labels == "titles"),
        left_out=left_out,
    )


def _reason(present: Result, best: Result, chosen: Result, same: Flags) -> str:
    """Say why a result was chosen."""
    other = f"The best of what was tried, {_named(best)}, reaches {_figure(best)}"
    if chosen is not present:
        named, before, after = _named(chosen), present.quality, chosen.quality
        gain, error = _gain(chosen, present, same)
        ending = "Nothing that was tried is better."
        if best is not chosen:
            ending = f"{other}: a greater change, for a gain that is small or chance."
        return (
            f"{named[0].upper()}{named[1:]}: F1 rises from {before.f1:.3f} to {after.f1:.3f} (by"
            f" {gain:.3f} ± {error:.3f}), precision goes from {before.precision:.3f} to"
            f" {after.precision:.3f}, recall from {before.recall:.3f} to {after.recall:.3f}."
            f" {ending}"
        )
    gain, error = _gain(best, present, same)
    if gain <= 0:
        return (
            f"The present settings reach F1 {_figure(present)}, and nothing that was tried does"
            " better on pairs that it was not chosen on."
        )
    why = f"and {_MIN_F1_GAIN:g} or less does not count"
    if gain > _MIN_F1_GAIN:
        why = (
            f"which may be chance: by these {len(same)} pairs, a gain counts from"
            f" {_MIN_GAIN_ERRORS * error:.3f} on ({_MIN_GAIN_ERRORS:g} standard errors)"
        )
    return (
        f"The present settings stay, at F1 {_figure(present)}. {other}: {gain:.3f} ± {error:.3f}"
        f" more, {why}."
    )


def _gain(result: Result, other: Result, same: Flags) -> tuple[float, float]:
    """F1 that a result has more than another one, with the standard error of the difference."""
    error = gap_error(result.decided, other.decided, same)
    return result.quality.f1 - other.quality.f1, error


def _best(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.quality.f1)


def _smallest_change(present: Result, results: Sequence[Result], same: Flags) -> Result:
    """Choose the smallest change among the results that are not significantly worse than the best.

    That is the rule of Breiman et al. (1984, section 3.4.3), with the standard error of the
    difference on the same pairs. A result must also be better than the present settings by two
    such errors, and by 0.02. The smallest change is of the threshold, then of the size of
    shingles, the method, and the words or kinds of shingles.
    """

    def better(result: Result, other: Result) -> bool:
        gain, error = _gain(result, other, same)
        return gain > max(_MIN_F1_GAIN, _MIN_GAIN_ERRORS * error)

    def change(result: Result) -> tuple[bool, bool, float, float]:
        scheme, now = result.setting.scheme, present.setting.scheme
        return (
            replace(scheme, shingle_size=now.shingle_size) != now,
            result.setting.method != present.setting.method,
            abs(log(scheme.shingle_size / now.shingle_size)),
            -result.quality.f1,
        )

    best = _best(results)
    good = [result for result in results if better(result, present) and not better(best, result)]
    return min(good, key=change, default=present)


def _named(result: Result) -> str:
    setting = result.setting
    rule = []
    if result.threshold is not None:
        rule.append(f"threshold {result.threshold:g}")
    if result.distance is not None:
        rule.append(f"distance {result.distance}")
    shingles = "shingles of " if METHODS[setting.method].threshold else ""
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
    if len(same) < _ENOUGH_PAIRS or rarer < _ENOUGH_PAIRS_PER_LABEL:
        found.append(
            f"few pairs ({len(same)}, and {rarer} of the rarer label): figures may be off by"
            f" {_MIN_GAIN_ERRORS * recommended.error:.2f} or more; label {_ENOUGH_PAIRS} pairs"
            " or more"
        )
    wrong = 1 - recommended.quality.precision
    if wrong > _MAX_WRONG_SHARE:
        found.append(
            f"{wrong:.0%} of the pairs taken for the same are labelled different: set"
            ' DEDUP_ACTION = "tag" and look at the pages before you drop any, or take a higher'
            " threshold from the curve"
        )
    scheme = recommended.setting.scheme
    if scheme != present.setting.scheme:
        found.append(
            f"{recommended.setting.name}: another scheme than before, and a store keeps its own:"
            " name a new store in DEDUP_STORE_URL"
        )
    elif recommended is not present:
        options = f" --method {recommended.setting.method}"
        if recommended.threshold is not None:
            options += f" --threshold {recommended.threshold:g}"
        found.append(f"a store with another index needs `scrapy dedup rebuild{options}` once")
    return found
