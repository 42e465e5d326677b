"""Measure which pairs each method calls the same, and how often it is right.

For every labelled set: precision, recall, F1 and AUC of every method, of datasketch and of
simhash. A method's threshold is tuned (greatest F1) on one half of the pairs and used on the
other, both ways round, so that each pair is decided once by a threshold that has not seen it;
no document is in both halves. Beside that, the figures at the method's usual threshold. AUC,
which needs no threshold, is of all pairs.

    python -m benchmarks.quality [--data DIR] [--only copycat,...] [--schemes] [--json FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from benchmarks import peers
from benchmarks.data import data_folder
from benchmarks.pairs import DEFAULT_CACHE, PROCESSES, SETS, labelled_pairs
from shingling import Scheme, canonical_words, compare
from shingling.errors import SchemeError
from shingling.similarity import estimate, overlap
from shingling.sketch import fingerprints_of, sign_words
from shingling.text import Canonicaliser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.pairs import Pair
    from shingling import Comparison, Signature
    from shingling.sketch import Fingerprints

    Score: TypeAlias = Callable[[str, str], float]

Values: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

WORST = 5  # errors of each kind that the JSON names
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
FEWEST_WORDS = (0, 20, 30, 50, 100, 200)
_LEAST_WIDTH = 160  # of a table, also where the terminal is narrower, or a pipe


@dataclass(frozen=True)
class Method:
    """A way to tell whether two texts are the same: they are where every score is high enough.

    Args:
        name: as the tables show it.
        scores: each takes both texts; higher is more alike.
        usual: the thresholds that the literature, or the package, uses.
    """

    name: str
    scores: tuple[Score, ...]
    usual: tuple[float, ...]


@dataclass(frozen=True)
class Figures:
    """How often decisions are right.

    Args:
        found: pairs rightly called the same.
        wrong: pairs wrongly called the same.
        missed: pairs wrongly called different.
    """

    found: int
    wrong: int
    missed: int

    @classmethod
    def of(cls, decided: Flags, same: Flags) -> Figures:
        """Return the figures of decisions, given the answers."""
        return cls(
            int(np.sum(decided & same)),
            int(np.sum(decided & ~same)),
            int(np.sum(~decided & same)),
        )

    @property
    def precision(self) -> float | None:
        """Return found / all called the same; None where none was."""
        called = self.found + self.wrong
        return self.found / called if called else None

    @property
    def recall(self) -> float | None:
        """Return found / all that are the same; None where none is."""
        there = self.found + self.missed
        return self.found / there if there else None

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall; 0.0 where nothing was found."""
        return 2 * self.found / max(2 * self.found + self.wrong + self.missed, 1)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and what follows from them."""
        shares = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**asdict(self), **shares}


_compared = lru_cache(maxsize=1)(compare)  # the methods of a pair follow one another


def _measure(read: Callable[[Comparison], float]) -> Score:
    return lambda a, b: float(read(_compared(a, b)))


_estimate = _measure(lambda c: c.estimate)
_likeness = _measure(lambda c: c.simhash_likeness)
_supershingles = _measure(lambda c: c.supershingles)
_three_bits = 61 / 64

METHODS = (
    Method("resemblance", (_measure(lambda c: c.resemblance),), (0.8,)),
    Method("minhash", (_estimate,), (0.8,)),
    Method("containment", (_measure(lambda c: max(c.containment_a, c.containment_b)),), (0.8,)),
    Method("dice", (_measure(lambda c: c.dice),), (80,)),
    Method("cosine", (_measure(lambda c: c.cosine),), (0.9,)),
    Method("megashingle", (_supershingles,), (2,)),
    Method("simhash", (_likeness,), (_three_bits,)),
    Method("minhash+simhash", (_estimate, _likeness), (0.8, _three_bits)),
    # The combination of Henzinger (2006), where 355 of 384 bits were to be equal.
    Method("megashingle+simhash", (_supershingles, _likeness), (2, 355 / 384)),
    Method("datasketch, words", (peers.datasketch_words,), (0.8,)),
    Method("datasketch, 5 words", (peers.datasketch_five_words,), (0.8,)),
    Method("datasketch, 5 characters", (peers.datasketch_five_characters,), (0.8,)),
    Method("simhash package, 3 chars", (peers.simhash_three_characters,), (_three_bits,)),
    Method("simhash package, 4 chars", (peers.simhash_four_characters,), (_three_bits,)),
)


_NO_STOP_WORDS = Canonicaliser(stop_words=True)
SCHEMES = {
    **{f"{size} word{'s' * (size > 1)}": Scheme(size) for size in range(1, 11)},
    **{f"{size} characters": Scheme(size, unit="characters") for size in (5, 9, 12)},
    **{f"{size} words, any order": Scheme(size, ordered=False) for size in (3, 5)},
    "5 words, crc": Scheme(5, family="crc"),
    **{f"{size} words, no stop words": Scheme(size, canonical=_NO_STOP_WORDS) for size in (3, 5)},
    "5 words, lemmas": Scheme(5, canonical=Canonicaliser(lemmas="simplemma")),
}
"""Those that might be the default."""
DEFAULT = "5 words"


def score(pair: Pair) -> list[list[float]]:
    """Return the scores of a pair by every one of `METHODS`."""
    return [[one(pair.a, pair.b) for one in method.scores] for method in METHODS]


def halves(groups: Sequence[str]) -> Flags:
    """Return which of the pairs are in the first half, given their groups.

    The largest groups are dealt first, each to the smaller half: hashes break ties.
    """
    sizes = Counter(groups)
    order = sorted(
        sizes, key=lambda group: (-sizes[group], hashlib.blake2b(group.encode()).digest())
    )
    first: set[str] = set()
    ahead = 0
    for group in order:
        if ahead <= 0:
            first.add(group)
            ahead += sizes[group]
        else:
            ahead -= sizes[group]
    return np.array([group in first for group in groups], dtype=np.bool_)


def accepted(scores: Scores, thresholds: Sequence[float]) -> Flags:
    """Return which pairs reach every threshold."""
    reached: Flags = np.all(scores >= np.array(thresholds), axis=1)
    return reached


def _best_cut(values: Values, same: Flags, there: int) -> tuple[float, float]:
    """Return the greatest F1 and the highest threshold that reaches it.

    The threshold lies half-way to the next lower value. `there` counts the pairs that are
    the same, also those that are not among the values.
    """
    levels = np.unique(values)[::-1]
    reached = np.searchsorted(np.sort(-values), -levels, side="right")
    found = np.searchsorted(np.sort(-values[same]), -levels, side="right")
    f1 = 2 * found / (reached + there)
    best = int(np.argmax(f1))
    lower = levels[best + 1] if best + 1 < len(levels) else levels[best]
    return float(f1[best]), float(levels[best] + lower) / 2


def tune(scores: Scores, same: Flags) -> tuple[float, ...]:
    """Return the thresholds of the greatest F1; of two, every pair of values is tried."""
    there = int(np.sum(same))
    last = scores[:, -1]
    if scores.shape[1] == 1:
        return (_best_cut(last, same, there)[1],)
    first = scores[:, 0]
    tried = []
    for cut in np.unique(first):
        inside = first >= cut
        tried.append((*_best_cut(last[inside], same[inside], there), float(cut)))
    _, threshold, cut = max(tried)
    return cut, threshold


def ranks(values: Values) -> Values:
    """Return the ranks of values from 1 up; equal ones share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    means = np.cumsum(counts) - (counts - 1) / 2
    taken: Values = means[place]
    return taken


def auc(scores: Scores, same: Flags) -> float | None:
    """Return how often a pair that is the same scores above one that is not; a tie is half.

    Exact, from the ranks (Mann and Whitney 1947). Of two scores, the lower of the two ranks
    counts. None where there are no pairs of one kind.
    """
    there, rest = int(np.sum(same)), int(np.sum(~same))
    if not (there and rest):
        return None
    lower = np.min([ranks(column) for column in scores.T], axis=0)
    above = float(np.sum(ranks(lower)[same])) - there * (there + 1) / 2
    return above / (there * rest)


def held_out(scores: Scores, same: Flags, first: Flags) -> tuple[Figures, list[tuple[float, ...]]]:
    """Return the figures of both halves by the thresholds of the other, and the thresholds."""
    decided = np.zeros(len(same), dtype=np.bool_)
    thresholds = []
    for half in (first, ~first):
        thresholds.append(tune(scores[~half], same[~half]))
        decided[half] = accepted(scores[half], thresholds[-1])
    return Figures.of(decided, same), thresholds


def evaluate(scores: Scores, same: Flags, first: Flags, usual: Sequence[float]) -> dict[str, Any]:
    """Return AUC, the figures at tuned thresholds and those at the usual ones."""
    figures, thresholds = held_out(scores, same, first)
    return {
        "auc": auc(scores, same),
        "tuned": {"thresholds": thresholds, **figures.as_dict()},
        "usual": {
            "thresholds": list(usual),
            **Figures.of(accepted(scores, usual), same).as_dict(),
        },
    }


def worst(values: Values, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the different pairs that score highest and the same ones that score lowest."""
    order = np.argsort(values, kind="stable")
    lowest = [int(place) for place in order if pairs[place].same][:WORST]
    highest = [int(place) for place in order[::-1] if not pairs[place].same][:WORST]
    return {
        kind: [
            {"id": pairs[p].id, "label": pairs[p].label, "score": float(values[p])} for p in places
        ]
        for kind, places in (("same, but lowest", lowest), ("different, but highest", highest))
    }


def methods_of(pairs: Sequence[Pair], pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Return the figures of every method on the pairs of a set."""
    scored = list(pool.map(score, pairs, chunksize=16))
    same, first = _answers(pairs)
    found = {}
    for place, method in enumerate(METHODS):
        scores = np.array([row[place] for row in scored])
        found[method.name] = {
            **evaluate(scores, same, first, method.usual),
            "worst": worst(scores[:, 0], pairs),
        }
    return found


def _answers(pairs: Sequence[Pair]) -> tuple[Flags, Flags]:
    """Return which pairs are the same, and which are in the first half."""
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    return same, halves([pair.group for pair in pairs])


@lru_cache(256)
def _sketched(name: str, text: str) -> tuple[Signature, Fingerprints]:
    scheme = SCHEMES[name]
    words = scheme.canonical.words(text)
    return sign_words(words, scheme), fingerprints_of(words, scheme)


def score_scheme(name: str, pair: Pair) -> tuple[float, float]:
    """Return the exact and the estimated resemblance of a pair under one of `SCHEMES`."""
    (first, own), (second, other) = _sketched(name, pair.a), _sketched(name, pair.b)
    return overlap(own, other).resemblance, estimate(first, second)


def estimate_errors(truth: Values, estimated: Values) -> dict[str, Any]:
    """Return bias and RMSE of estimates, and the RMSE that the theory foretells.

    Only of pairs that resemble each other somewhat: the others leave no room for an error.
    """
    inside = (truth > 0) & (truth < 1)
    errors, expected = (estimated - truth)[inside], (truth * (1 - truth))[inside] / 84
    count = int(np.sum(inside))
    return {
        "pairs": count,
        "bias": float(np.mean(errors)) if count else None,
        "rmse": sqrt(np.mean(errors**2)) if count else None,
        "expected": sqrt(np.mean(expected)) if count else None,
    }


def schemes_of(pairs: Sequence[Pair], pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Return the figures of the resemblance under every scheme, and the estimate's errors."""
    same, first = _answers(pairs)
    found = {}
    for name in SCHEMES:
        scored = np.array(list(pool.map(partial(score_scheme, name), pairs, chunksize=16)))
        found[name] = {
            **evaluate(scored[:, :1], same, first, (0.8,)),
            "estimate": {
                **evaluate(scored[:, 1:], same, first, (0.8,)),
                "errors": estimate_errors(scored[:, 0], scored[:, 1]),
            },
        }
    return found


def cuts_of(pairs: Sequence[Pair], pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Return the figures of the default estimate at several thresholds and fewest words."""
    scored = np.array(list(pool.map(partial(score_scheme, DEFAULT), pairs, chunksize=16)))
    same, _ = _answers(pairs)
    shorter = np.array(
        [min(len(canonical_words(pair.a)), len(canonical_words(pair.b))) for pair in pairs]
    )
    estimated = scored[:, 1]
    return {
        "thresholds": {
            str(cut): Figures.of(estimated >= cut, same).as_dict() for cut in THRESHOLDS
        },
        "fewest_words": {
            str(words): {
                "pairs": int(np.sum(shorter >= words)),
                **Figures.of(
                    (estimated >= 0.8)[shorter >= words], same[shorter >= words]
                ).as_dict(),
            }
            for words in FEWEST_WORDS
        },
    }


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _thresholds(thresholds: Sequence[float]) -> str:
    return " & ".join(f"{threshold:.3g}" for threshold in thresholds)


def _prf(figures: dict[str, Any]) -> list[str]:
    return [_share(figures[name]) for name in ("precision", "recall", "f1")]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, box=SIMPLE, title_justify="left", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if table.columns else "left", no_wrap=True)
    return table


def methods_table(name: str, found: dict[str, Any], counts: str) -> Table:
    """Return the table of one set's methods."""
    columns = ("method", "AUC", "tuned to", "P", "R", "F1", "usual", "P", "R", "F1")
    table = _table(f"{name}: {counts}\n{SETS[name].truth}", columns)
    for method, figures in found.items():
        tuned, usual = figures["tuned"], figures["usual"]
        table.add_row(
            method,
            _share(figures["auc"]),
            " / ".join(map(_thresholds, tuned["thresholds"])),
            *_prf(tuned),
            _thresholds(usual["thresholds"]),
            *_prf(usual),
        )
    return table


def schemes_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the schemes: held-out F1 and AUC of each set, and their means.

    Args:
        found: figures by set and scheme.
    """
    near = [name for name in found if SETS[name].near_duplicates]
    columns = ["scheme", *(f"{name}" for name in found), "near-duplicates", "all"]
    table = _table("Resemblance by scheme: held-out F1, AUC (means: of the sets)", columns)
    for scheme in SCHEMES:
        cells = {
            name: (rows[scheme]["tuned"]["f1"], rows[scheme]["auc"]) for name, rows in found.items()
        }
        means = [np.mean([cells[name] for name in names], axis=0) for names in (near, cells)]
        shown = [*cells.values(), *means]
        table.add_row(scheme, *(f"{f1:.3f} {area:.3f}" for f1, area in shown))
    return table


def scheme_thresholds_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the mean of each scheme's two tuned thresholds, and F1 at 0.8."""
    table = _table("Resemblance by scheme: tuned threshold, F1 at 0.8", ["scheme", *found])
    for scheme in SCHEMES:
        cells = []
        for rows in found.values():
            tuned = float(np.mean(rows[scheme]["tuned"]["thresholds"]))
            cells.append(f"{tuned:.3f} {rows[scheme]['usual']['f1']:.3f}")
        table.add_row(scheme, *cells)
    return table


def errors_table(found: dict[str, dict[str, Any]]) -> Table:
    """Return the table of the errors of the estimate: bias and RMSE, measured and foretold."""
    table = _table("The estimate of 84 minima: bias, RMSE, RMSE in theory", ["scheme", *found])
    for scheme in SCHEMES:
        cells = []
        for rows in found.values():
            errors = rows[scheme]["estimate"]["errors"]
            measured = (errors["bias"], errors["rmse"], errors["expected"])
            cells.append("{:+.4f} {:.4f} {:.4f}".format(*measured) if errors["pairs"] else "-")
        table.add_row(scheme, *cells)
    return table


def cuts_table(name: str, cuts: dict[str, Any]) -> Table:
    """Return the table of one set's thresholds and fewest words."""
    table = _table(
        f"{name}: the default estimate", ["where", "pairs", "wrong", "missed", "P", "R", "F1"]
    )
    for cut, figures in cuts["thresholds"].items():
        errors = str(figures["wrong"]), str(figures["missed"])
        table.add_row(f"at {cut}", "all", *errors, *_prf(figures))
    for words, figures in cuts["fewest_words"].items():
        errors = str(figures["wrong"]), str(figures["missed"])
        table.add_row(
            f"at 0.8, {words} words or more", str(figures["pairs"]), *errors, *_prf(figures)
        )
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="folder of the labelled data (default: DEDUP_DATA)")
    parser.add_argument("--only", default=",".join(SETS), help="sets, with commas between")
    parser.add_argument("--schemes", action="store_true", help="compare schemes, too")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="for extracted texts")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := sorted(set(names) - set(SETS)):
        parser.error(f"no set {', '.join(unknown)}; known: {', '.join(SETS)}")
    if options.schemes:
        try:
            for scheme in SCHEMES.values():
                scheme.canonical.require()
        except SchemeError as error:
            parser.error(f"--schemes: {error}")
    folder = data_folder(options.data)
    console = Console(width=max(Console().width, _LEAST_WIDTH), highlight=False)
    results: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        for name in names:
            pairs = labelled_pairs(folder, name, options.cache)
            same = sum(pair.same for pair in pairs)
            results[name] = {
                "pairs": len(pairs),
                "same": same,
                "labels": Counter(pair.label for pair in pairs),
                "methods": methods_of(pairs, pool),
            }
            counts = f"{same} pairs the same, {len(pairs) - same} different"
            console.print(methods_table(name, results[name]["methods"], counts))
            if options.schemes:
                results[name]["schemes"] = schemes_of(pairs, pool)
                results[name]["cuts"] = cuts_of(pairs, pool)
    if options.schemes:
        found = {name: result["schemes"] for name, result in results.items()}
        console.print(schemes_table(found))
        console.print(scheme_thresholds_table(found))
        console.print(errors_table(found))
        for name, result in results.items():
            console.print(cuts_table(name, result["cuts"]))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
