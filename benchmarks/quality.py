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
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.console import Console

from benchmarks import peers
from benchmarks.data import data_folder
from benchmarks.figures import Figures, estimate_errors, evaluate, halves, worst
from benchmarks.pairs import DEFAULT_CACHE, PROCESSES, SETS, labelled_pairs
from benchmarks.quality_tables import (
    cuts_table,
    errors_table,
    methods_table,
    scheme_thresholds_table,
    schemes_table,
)
from shingling import Scheme, canonical_words, compare
from shingling.errors import SchemeError
from shingling.similarity import estimate, overlap
from shingling.sketch import fingerprint_set_of_words, sign_words
from shingling.text import Canonicaliser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.figures import Flags
    from benchmarks.pairs import Pair
    from shingling import Comparison, Signature
    from shingling.sketch import Fingerprints

    Score: TypeAlias = Callable[[str, str], float]

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


_NO_STOP_WORDS = Canonicaliser(stop_words="long")
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
    return sign_words(words, scheme), fingerprint_set_of_words(words, scheme)


def score_scheme(name: str, pair: Pair) -> tuple[float, float]:
    """Return the exact and the estimated resemblance of a pair under one of `SCHEMES`."""
    (first, own), (second, other) = _sketched(name, pair.a), _sketched(name, pair.b)
    return overlap(own, other).resemblance, estimate(first, second)


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
                scheme.canonical.require_packs()
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
