"""The settings that are tried on labelled pairs, and the recommended ones, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.errors import TuningError
from shingling.rules.methods import DEFAULT_METHOD, METHODS
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
    size_name,
    sizes,
    variants,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shingling.sketch import Scheme
    from shingling.tuning.pairs import LabelledPair

MAX_FOLDS = 20
_MIN_GAIN_ERRORS = 2.0  # standard errors
_MIN_F1_GAIN = 0.02  # for less, nobody wants to make a new store
_ENOUGH_PAIRS, _ENOUGH_PAIRS_PER_LABEL = 100, 30  # fewer are warned of
_MAX_WRONG_SHARE = 0.1  # of the pairs that are decided to be the same; more are warned of
_MIN_COPY_RESEMBLANCE = 0.3  # texts below are no copies of each other
_MAX_KEYS_PER_PAGE = 28  # as many as a threshold of 0.5 needs; more are warned of


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
    results: tuple[Result, ...]
    recommended: Result
    reason: str
    warnings: tuple[str, ...]
    left_out: tuple[str, ...]

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
        return {
            "pairs": self.pairs,
            "same": self.same,
            "unlabelled": self.unlabelled,
            "labels": self.labels,
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
    method: str = DEFAULT_METHOD,
    distance: int = 3,
    folds: int = 5,
    unlabelled: int = 0,
    labels: str = "file",
    threshold_only: bool = False,
) -> Report:
    """Try methods, shingle sizes and ways to take words from a text on labelled pairs.

    Args:
        pairs: at least 10, and 2 of either label.
        present: the scheme in use; what it does to a text is kept in all that is tried.
        threshold: the resemblance in use.
        method: the method in use, `minhash`, `megashingle`, `simhash` or `minhash+simhash`.
        distance: SimHash distance in use, in bits.
        folds: of the cross-validation, 2 to 20.
        unlabelled: number of pairs without a label, for the report.
        labels: where they are from: `file`, `reviews`, or `titles` (by `pairs_from`).
        threshold_only: whether only other thresholds are tried.

    Raises:
        TuningError: there are too few pairs, or the number of folds is not accepted.
        SchemeError: a package that the present scheme needs is not installed.
    """
    if not 2 <= folds <= MAX_FOLDS:
        raise TuningError(f"{folds} folds are not accepted: a whole number, 2 to {MAX_FOLDS}")
    require_pairs(pairs)
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    fold_of_pair = folds_of(pairs, folds)
    measures = Measures(pairs)
    setting = Setting("present settings", present, method)
    now = at_present(setting, threshold, distance, measures, same)
    tried = [Setting(size_name(present), present, method)] if threshold_only else sizes(present)
    results = [evaluate(one, measures, same, fold_of_pair) for one in tried]
    left_out: list[str] = []
    if not threshold_only:
        best = _smallest_change(now, results, same).setting.scheme
        readings, left_out = variants(best, [pair.a for pair in pairs])
        others = [*methods(present, best), *readings]
        results += [evaluate(other, measures, same, fold_of_pair) for other in others]
    recommended, reason = _recommend(now, results, same)
    return Report(
        pairs=len(pairs),
        same=int(same.sum()),
        unlabelled=unlabelled,
        labels=labels,
        folds=folds,
        present=now,
        results=tuple(results),
        recommended=recommended,
        reason=reason,
        warnings=tuple(_warnings(same, now, recommended, by_title=labels == "titles")),
        left_out=tuple(left_out),
    )


def _recommend(present: Result, results: Sequence[Result], same: Flags) -> tuple[Result, str]:
    """Choose the smallest change that is as good as the best one, and give the reason."""
    best = _best(results)
    chosen = _smallest_change(present, results, same)
    number = len(results)
    the_best, none, it_is = (
        f"The best of the {number} settings tried, {_named(best)}",
        f"none of the {number} settings tried",
        f" It is the best of the {number} settings tried.",
    )
    if number == 1:
        the_best, none, it_is = f"The best threshold, {best.threshold}", "no other threshold", ""
    if chosen is present:
        if best.quality.f1 <= present.quality.f1:
            return present, (
                f"The present settings reach F1 {_figure(present)}, and {none} does better on"
                " pairs that it was not chosen on."
            )
        return present, (
            f"The present settings stay, at F1 {_figure(present)}. {the_best}, reaches"
            f" {_figure(best)}: {_too_little(best, present, same)}."
        )
    gain = chosen.quality.f1 - present.quality.f1
    error = gap_error(chosen.decided, present.decided, same)
    named = _named(chosen)
    reason = (
        f"{named[0].upper()}{named[1:]}: F1 rises from"
        f" {present.quality.f1:.3f} to {chosen.quality.f1:.3f} (by {gain:.3f} ± {error:.3f}),"
        f" precision goes from {present.quality.precision:.3f} to {chosen.quality.precision:.3f},"
        f" recall from {present.quality.recall:.3f} to {chosen.quality.recall:.3f}."
    )
    if best is not chosen:
        return chosen, (
            f"{reason} {the_best}, reaches {_figure(best)}: a greater change, for a gain that is"
            " small or chance."
        )
    return chosen, f"{reason}{it_is}"


def _too_little(best: Result, present: Result, same: Flags) -> str:
    """Say why a gain does not count: see `_smallest_change`."""
    gap = best.quality.f1 - present.quality.f1
    error = gap_error(best.decided, present.decided, same)
    gain = f"{gap:.3f} ± {error:.3f} more"
    if gap <= _MIN_F1_GAIN:
        return f"{gain}, and {_MIN_F1_GAIN:g} or less does not count"
    return (
        f"{gain}, which may be chance: by these {len(same)} pairs, a gain counts from"
        f" {_MIN_GAIN_ERRORS * error:.3f} on ({_MIN_GAIN_ERRORS:g} standard errors)"
    )


def _best(results: Sequence[Result]) -> Result:
    return max(results, key=lambda result: result.quality.f1)


def _smallest_change(present: Result, results: Sequence[Result], same: Flags) -> Result:
    """Choose the smallest change among the results that are not significantly worse than the best.

    That is the rule of Breiman et al. (1984, section 3.4.3), with the standard error of the
    difference on the same pairs. A result must also be better than the present settings by two
    such errors, and by 0.02.
    """

    def better(result: Result, other: Result) -> bool:
        gap = result.quality.f1 - other.quality.f1
        return gap > max(
            _MIN_F1_GAIN, _MIN_GAIN_ERRORS * gap_error(result.decided, other.decided, same)
        )

    best = _best(results)
    good = [result for result in results if better(result, present) and not better(best, result)]
    return min(
        good,
        key=lambda result: (*_change(result, present), -result.quality.f1),
        default=present,
    )


def _change(result: Result, present: Result) -> tuple[int, float]:
    """Rank what a result changes: the threshold, the size, the method, or the words or shingles."""
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
    method, threshold = recommended.setting.method, recommended.threshold
    if METHODS[method].threshold and threshold is not None and recommended is not present:
        banding = Banding.for_threshold(threshold)
        if banding.bands > _MAX_KEYS_PER_PAGE:
            found.append(
                f"a threshold of {threshold:g} takes {banding.bands} keys a page to find pairs"
                f" ({banding.recall(threshold):.0%} of those at it are found): the store grows"
                " and slows down with them"
            )
        if threshold < _MIN_COPY_RESEMBLANCE:
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
