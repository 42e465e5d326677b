"""The settings that are tried, and the quality of each on labelled pairs."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from shingling.errors import SchemeError
from shingling.rules import DEFAULT_METHOD, MAX_SIMHASH_DISTANCE, METHODS
from shingling.similarity import distance, equal_supershingles, overlap
from shingling.sketch import fingerprint_set_of_words, sign_words
from shingling.tuning.evaluation import (
    Choice,
    Scoring,
    area_under_curve,
    choose,
    cross_validated,
    gap_error,
    quality,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shingling.arrays import Flags, Floats, Integers
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme, Signature
    from shingling.text import Canonicaliser
    from shingling.tuning.evaluation import Quality
    from shingling.tuning.pairs import LabelledPair

_T = TypeVar("_T")

IDF_FILE = "the file that you have.json"
SIZES = (1, 2, 3, 4, 5, 7, 10)
THRESHOLDS = np.arange(1, 101) / 100
_CHARACTER_SHINGLE_SIZE = 9
_CYRILLIC = re.compile(r"[\u0400-\u04ff]{3}")
_MIN_RUSSIAN_SHARE = 0.1  # of texts with Russian letters, for Russian lemmas


class Setting(NamedTuple):
    """A method with the scheme of its signatures.

    Args:
        name: a few words.
        scheme: of the signatures.
        method: `minhash`, `megashingle`, `simhash` or `minhash+simhash`.
    """

    name: str
    scheme: Scheme
    method: str = DEFAULT_METHOD


class Curve(NamedTuple):
    """Precision, recall and F1 on all pairs, at every threshold or distance.

    Args:
        by: `threshold` (resemblance) or `distance` (bits).
        at: rising thresholds or distances.
        precision: at each of them, 0 to 1.
        recall: likewise.
        f1: likewise.
    """

    by: str
    at: list[float]
    precision: list[float]
    recall: list[float]
    f1: list[float]


@dataclass(frozen=True, eq=False)
class Result:
    """Quality of a setting on the pairs.

    Args:
        setting: that was tried.
        threshold: resemblance, chosen on all pairs; None if the method has none.
        distance: SimHash distance in bits, likewise.
        quality: of decisions on pairs that the threshold was not chosen on.
        error: standard error of F1.
        auc: area under the ROC curve.
        decided: those decisions, bool[pairs].
        curve: quality at all thresholds; None if the method has none.
    """

    setting: Setting
    threshold: float | None
    distance: int | None
    quality: Quality
    error: float
    auc: float
    decided: Flags
    curve: Curve | None

    def as_dict(self) -> dict[str, Any]:
        """Represent the result as JSON has it, without the decisions."""
        curve = None
        if self.curve is not None:
            by, *lines = self.curve
            curve = {
                name: [round(value, 4) for value in line]
                for name, line in zip((by, "precision", "recall", "f1"), lines, strict=True)
            }
        return {
            "name": self.setting.name,
            "method": self.setting.method,
            "scheme": changed_scheme(self.setting.scheme),
            "shingle_size": self.setting.scheme.shingle_size,
            "threshold": self.threshold,
            "distance": self.distance,
            **{name: round(value, 4) for name, value in self.quality._asdict().items()},
            "f1_error": round(self.error, 4),
            "auc": round(self.auc, 4),
            "curve": curve,
        }


def changed_scheme(scheme: Scheme) -> dict[str, Any]:
    """Value of DEDUP_SCHEME for a scheme: what differs from the default.

    A scheme does not know the file of its document frequencies: `IDF_FILE` is in its place.
    """
    shown = scheme.as_dict()
    for name in ("shingle_size", "version"):
        del shown[name]
    if "idf" in shown.get("simhash", {}):
        shown["simhash"]["idf"] = IDF_FILE
    return shown


def as_python(value: Any) -> str:
    """Write a value as settings.py has it."""
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{as_python(key)}: {as_python(own)}' for key, own in value.items())}}}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_python, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def sizes(present: Scheme) -> Iterable[Setting]:
    """Shingle sizes that are tried, with that of the present scheme."""
    words = replace(present, unit="words")
    schemes = [replace(words, shingle_size=size) for size in SIZES]
    if present not in schemes:
        schemes.append(present)
    for scheme in sorted(schemes, key=lambda scheme: scheme.shingle_size):
        yield Setting(size_name(scheme), scheme)


def size_name(scheme: Scheme) -> str:
    """Describe the shingles of a scheme."""
    order = "" if scheme.ordered else ", unordered"
    return f"{scheme.shingle_size} {scheme.unit[: None if scheme.shingle_size > 1 else -1]}{order}"


def methods(present: Scheme, best: Scheme) -> Iterable[Setting]:
    """Other methods, with the present scheme and with the best shingle size."""
    for scheme in (present, best) if best != present else (present,):
        name = size_name(scheme)
        yield Setting(f"{name}, and SimHash", scheme, "minhash+simhash")
    yield Setting("SimHash", present, "simhash")
    yield Setting(f"{size_name(present)}, megashingles", present, "megashingle")


def variants(best: Scheme, texts: Sequence[str]) -> tuple[list[Setting], list[str]]:
    """Other ways to take words or shingles from a text, at the best shingle size.

    Returns:
        The settings, and the reasons for those that need a package which is not installed.
    """
    canonical = best.canonical
    russian = sum(_CYRILLIC.search(text) is not None for text in texts)
    lemmas = "pymorphy3" if russian > _MIN_RUSSIAN_SHARE * len(texts) else "simplemma"
    tried = [
        ("without stop words", replace(canonical, stop_words=True)),
        (f"lemmas ({lemmas})", replace(canonical, lemmas=lemmas)),
    ]
    found, left_out = [], []
    for name, changed in tried:
        try:
            changed.require_packs()
        except SchemeError as error:
            left_out.append(f"{name}: {error}")
        else:
            scheme = replace(best, canonical=changed)
            found.append(Setting(f"{size_name(best)}, {name}", scheme))
    others = [replace(best, ordered=False)] if best.shingle_size > 1 else []
    others.append(
        replace(best, unit="characters", shingle_size=_CHARACTER_SHINGLE_SIZE, ordered=True)
    )
    found += [Setting(size_name(scheme), scheme) for scheme in others]
    return [setting for setting in found if setting.scheme != best], left_out


class Measures:
    """Measures of labelled pairs, float64[n]; what was read last by one scheme is kept.

    Args:
        pairs: in the order of all measures.
    """

    def __init__(self, pairs: Sequence[LabelledPair]) -> None:
        self._pairs = pairs
        self._texts = list(dict.fromkeys(text for pair in pairs for text in (pair.a, pair.b)))
        self._words = lru_cache(1)(self._read)
        self._signatures = lru_cache(1)(self._sign)

    def resemblances(self, scheme: Scheme) -> Floats:
        """Exact resemblance of each pair, 0 to 1."""
        words = self._words(scheme.canonical)
        shingles = [fingerprint_set_of_words(one, scheme) for one in words]
        return self._compared(shingles, lambda a, b: overlap(a, b).resemblance)

    def distances(self, scheme: Scheme) -> Floats:
        """SimHash distance of each pair in bits, all bits if a text is empty."""
        bits = scheme.simhash.bits
        return self._compared(
            self._signatures(scheme),
            lambda a, b: distance(a.simhash, b.simhash) if a.words and b.words else bits,
        )

    def supershingles(self, scheme: Scheme) -> Floats:
        """Count the equal supershingles of each pair, 0 to 6, 0 if a text is empty."""
        return self._compared(
            self._signatures(scheme),
            lambda a, b: equal_supershingles(a.minima, b.minima) if a.words and b.words else 0,
        )

    def _compared(self, known: Sequence[_T], measure: Callable[[_T, _T], float]) -> Floats:
        of_text = dict(zip(self._texts, known, strict=True))
        found = (measure(of_text[pair.a], of_text[pair.b]) for pair in self._pairs)
        return np.fromiter(found, np.float64, len(self._pairs))

    def _read(self, canonical: Canonicaliser) -> list[list[str]]:
        # One string a word, however often it occurs.
        return [[sys.intern(word) for word in canonical.words(text)] for text in self._texts]

    def _sign(self, scheme: Scheme) -> list[Signature]:
        words = zip(self._words(scheme.canonical), self._texts, strict=True)
        return [sign_words(one, scheme, text) for one, text in words]


def evaluate(setting: Setting, measures: Measures, same: Flags, folds: Integers) -> Result:
    """Evaluate a setting: its cutoff on all pairs, its quality by cross-validation."""
    scorings = _scorings(setting, measures)
    decided = cross_validated(scorings, same, folds)
    return _result(setting, scorings, choose(scorings, same), decided, same)


def at_present(setting: Setting, rules: Rules, measures: Measures, same: Flags) -> Result:
    """Evaluate a setting at the threshold and distance of some rules."""
    scorings = _scorings(setting, measures)
    method = METHODS[setting.method]
    if method.threshold:
        choice = Choice(rules.simhash_distance if method.distance else 0, rules.threshold)
    else:
        choice = Choice(0, -rules.simhash_distance if method.distance else method.supershingles)
    decided = scorings[choice.scoring].scores >= choice.cutoff
    return _result(setting, scorings, choice, decided, same)


def _scorings(setting: Setting, measures: Measures) -> Sequence[Scoring]:
    """Scores of the pairs, with the cutoffs that can be set; for both, one for each distance."""
    scheme, method = setting.scheme, METHODS[setting.method]
    if method.supershingles:
        return [Scoring(measures.supershingles(scheme), np.array([float(method.supershingles)]))]
    if not method.threshold:
        return [Scoring(-measures.distances(scheme), np.arange(-MAX_SIMHASH_DISTANCE, 1.0))]
    resemblances = measures.resemblances(scheme)
    if not method.distance:
        return [Scoring(resemblances, THRESHOLDS)]
    distances = measures.distances(scheme)
    return [
        Scoring(np.where(distances <= most, resemblances, -1.0), THRESHOLDS)
        for most in range(MAX_SIMHASH_DISTANCE + 1)
    ]


def _result(
    setting: Setting, scorings: Sequence[Scoring], choice: Choice, decided: Flags, same: Flags
) -> Result:
    method, (scores, cutoffs) = METHODS[setting.method], scorings[choice.scoring]
    threshold = choice.cutoff if method.threshold else None
    distance, curve = None, None
    if method.threshold:
        distance = choice.scoring if method.distance else None
        lines = Scoring(scores, cutoffs).curve(same)
        curve = Curve("threshold", cutoffs.tolist(), *lines.tolist())
    elif method.distance:
        distance = round(-choice.cutoff)
        every = np.arange(setting.scheme.simhash.bits + 1.0)
        lines = Scoring(scores, -every[::-1]).curve(same)[:, ::-1]
        curve = Curve("distance", every.tolist(), *lines.tolist())
    return Result(
        setting=setting,
        threshold=threshold,
        distance=distance,
        quality=quality(decided, same),
        error=gap_error(decided, np.zeros_like(decided), same),
        auc=area_under_curve(scores, same),
        decided=decided,
        curve=curve,
    )
