"""The settings that are tried, and what each does on labelled pairs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.defaults import MOST_DISTANCE
from shingling.errors import SchemeError
from shingling.tuning.evaluation import (
    Choice,
    Flags,
    Folds,
    Ladder,
    Quality,
    area_under_curve,
    choose,
    f1_error,
    held_out,
    quality,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shingling.sketch import Scheme
    from shingling.tuning.measuring import Measures

IDF_FILE = "the file that you have.json"
SIZES = (1, 2, 3, 4, 5, 7, 10)
THRESHOLDS = np.arange(1, 101) / 100
_MEGASHINGLE = 2.0  # equal supershingles, which make one equal megashingle
_CHARACTERS = 9
_CYRILLIC = re.compile(r"[\u0400-\u04ff]{3}")
_SHARE = 0.1  # of the texts in Russian letters, from which on the lemmas are those for Russian


@dataclass(frozen=True)
class Setting:
    """A method and the scheme that its signatures are made under.

    Args:
        name: of the setting, in a few words.
        scheme: of the signatures.
        method: `minhash`, `megashingle`, `simhash` or `minhash+simhash`.
    """

    name: str
    scheme: Scheme
    method: str = "minhash"


@dataclass(frozen=True)
class Curve:
    """Precision, recall and F1 on all pairs, at every threshold or distance.

    Args:
        by: what `at` is, `threshold` or `distance`.
        at: rising.
        precision, recall, f1: at each.
    """

    by: str
    at: tuple[float, ...]
    precision: tuple[float, ...]
    recall: tuple[float, ...]
    f1: tuple[float, ...]


@dataclass(frozen=True)
class Result:
    """What a setting does on the pairs.

    Args:
        setting: what was tried.
        threshold: resemblance, chosen on all pairs; None where the method has none.
        distance: bits, likewise.
        quality: of decisions on pairs that the threshold was not chosen on.
        error: standard error of F1.
        auc: area under the ROC curve.
        taken: those decisions.
        curve: over all thresholds; None where there is none.
    """

    setting: Setting
    threshold: float | None
    distance: int | None
    quality: Quality
    error: float
    auc: float
    taken: Flags = field(repr=False, compare=False)
    curve: Curve | None = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return what there is to tell, without the decisions."""
        curve = None
        if self.curve is not None:
            curve = {
                name: [round(value, 4) for value in values]
                for name, values in vars(self.curve).items()
                if name != "by"
            }
            curve = {self.curve.by: curve.pop("at"), **curve}
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
    """Return what DEDUP_SCHEME has to say of a scheme: what is not the default.

    Of a table of document frequencies, a scheme does not know the file that it came from.
    """
    shown = scheme.as_dict()
    for name in ("shingle_size", "version"):
        del shown[name]
    if "idf" in shown.get("simhash", {}):
        shown["simhash"]["idf"] = IDF_FILE
    return shown


def as_python(value: Any) -> str:
    """Return a value as settings.py has it."""
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{as_python(key)}: {as_python(own)}' for key, own in value.items())}}}"
        )
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(as_python, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def sizes(present: Scheme) -> Iterable[Setting]:
    """Return the shingle sizes that are tried, that of the present scheme among them."""
    words = replace(present, unit="words")
    schemes = [replace(words, shingle_size=size) for size in SIZES]
    if present not in schemes:
        schemes.append(present)
    for scheme in sorted(schemes, key=lambda scheme: scheme.shingle_size):
        yield Setting(size_name(scheme), scheme)


def size_name(scheme: Scheme) -> str:
    """Return the shingles of a scheme in words."""
    order = "" if scheme.ordered else ", unordered"
    return f"{scheme.shingle_size} {scheme.unit[: None if scheme.shingle_size > 1 else -1]}{order}"


def methods(present: Scheme, best: Scheme) -> Iterable[Setting]:
    """Return the other methods, by the present scheme, and by the best shingle size."""
    for scheme in (present, best) if best != present else (present,):
        name = size_name(scheme)
        yield Setting(f"{name}, and SimHash", scheme, "minhash+simhash")
    yield Setting("SimHash", present, "simhash")
    yield Setting(f"{size_name(present)}, megashingles", present, "megashingle")


def variants(best: Scheme, texts: Sequence[str]) -> tuple[list[Setting], list[str]]:
    """Return other ways to read a text at the best shingle size, and those left out.

    Left out is what needs a pack that is not installed.
    """
    canonical = best.canonical
    russian = sum(_CYRILLIC.search(text) is not None for text in texts)
    lemmas = "pymorphy3" if russian > _SHARE * len(texts) else "simplemma"
    tried = [
        ("without stop words", replace(canonical, stop_words=True)),
        (f"lemmas ({lemmas})", replace(canonical, lemmas=lemmas)),
    ]
    found, left_out = [], []
    for name, changed in tried:
        if changed == canonical:
            continue
        try:
            changed.require()
        except SchemeError as error:
            left_out.append(f"{name}: {error}")
            continue
        scheme = replace(best, canonical=changed)
        found.append(Setting(f"{size_name(best)}, {name}", scheme))
    others = [replace(best, ordered=False)] if best.shingle_size > 1 else []
    others.append(replace(best, unit="characters", shingle_size=_CHARACTERS, ordered=True))
    found += [Setting(size_name(scheme), scheme) for scheme in others if scheme != best]
    return found, left_out


def evaluate(setting: Setting, measures: Measures, same: Flags, folds: Folds) -> Result:
    """Return what a setting does: its cutoff from all pairs, its quality by cross-validation."""
    ladders = _ladders(setting, measures)
    taken = held_out(ladders, same, folds)
    choice = choose(ladders, same)
    return _result(setting, ladders, choice, taken, same)


def at_present(
    setting: Setting, threshold: float, distance: int, measures: Measures, same: Flags
) -> Result:
    """Return what a setting does at a threshold and a distance that are given, not chosen."""
    ladders = _ladders(setting, measures)
    choice = {
        "minhash": Choice(0, threshold),
        "minhash+simhash": Choice(distance, threshold),
        "simhash": Choice(0, -float(distance)),
        "megashingle": Choice(0, _MEGASHINGLE),
    }[setting.method]
    taken = ladders[choice.ladder].scores >= choice.cutoff
    return _result(setting, ladders, choice, taken, same)


def _ladders(setting: Setting, measures: Measures) -> Sequence[Ladder]:
    scheme = setting.scheme
    if setting.method == "megashingle":
        return [Ladder(measures.supershingles(scheme), np.array([_MEGASHINGLE]))]
    if setting.method == "simhash":
        every = -np.arange(scheme.simhash.bits, -1, -1, dtype=np.float64)
        return [Ladder(-measures.distances(scheme), every, MOST_DISTANCE + 1)]
    resemblances = measures.resemblances(scheme)
    if setting.method == "minhash":
        return [Ladder(resemblances, THRESHOLDS)]
    distances = measures.distances(scheme)
    return [
        Ladder(np.where(distances <= most, resemblances, -1.0), THRESHOLDS)
        for most in range(MOST_DISTANCE + 1)
    ]


def _result(
    setting: Setting, ladders: Sequence[Ladder], choice: Choice, taken: Flags, same: Flags
) -> Result:
    ladder = ladders[choice.ladder]
    threshold, distance = {
        "minhash": (choice.cutoff, None),
        "minhash+simhash": (choice.cutoff, choice.ladder),
        "simhash": (None, round(-choice.cutoff)),
        "megashingle": (None, None),
    }[setting.method]
    curve = None
    if setting.method != "megashingle":
        by_distance = setting.method == "simhash"
        step = -1 if by_distance else 1
        lines = ladder.curve(same)[:, ::step].tolist()
        at = (step * ladder.cutoffs[::step]).tolist()
        curve = Curve("distance" if by_distance else "threshold", tuple(at), *map(tuple, lines))
    return Result(
        setting=setting,
        threshold=threshold,
        distance=distance,
        quality=quality(taken, same),
        error=f1_error(taken, same),
        auc=area_under_curve(ladder.scores, same),
        taken=taken,
        curve=curve,
    )
