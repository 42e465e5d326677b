"""Measure which pairs each method calls the same, and how often it is right.

For every labelled set: the AUC of every method, of datasketch and of simhash, and precision, recall
and F1 at the method's usual threshold. Of two scores, the lower rank makes the AUC. `scrapy dedup
tune` chooses thresholds by such pairs.

Other packages are used as their own examples do. datasketch has no tokeniser: its README feeds it
the words of a text; windows of words are what its users feed it besides. simhash gets windows of 3
characters, as in its documentation.

    python -m benchmarks.quality [--data DIR] [--only copycat,...]
"""

from __future__ import annotations

import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from datasketch import MinHash
from simhash import Simhash

from benchmarks.data import data_folder, rows_of
from benchmarks.report import chosen, options_of, show
from shingling import compare
from shingling.tuning.evaluation import Quality, quality

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from shingling import Comparison
    from shingling.arrays import Flags, Floats

    Score: TypeAlias = Callable[[str, str], float]

_PROCESSES = 2
_BITS = 64  # of a Simhash
_CACHED = 4096  # texts: one stands in several pairs


@dataclass(frozen=True)
class Pair:
    """Two texts and the answer.

    Args:
        a, b: the texts.
        same: the answer.
    """

    a: str
    b: str
    same: bool


@dataclass(frozen=True)
class LabelledSet:
    """How a set is read, and what its answers mean.

    Args:
        same: labels of pairs that are the same.
        truth: what `same` means in it.
        left_out: labels of pairs that are not read.
    """

    same: frozenset[str]
    truth: str
    left_out: frozenset[str] = frozenset()


SETS = {
    "copycat": LabelledSet(
        frozenset({"3", "2"}),
        "web pages of one canonical URL, graded by a person: 3 and 2 the same, 0.5 not, 1 left out",
        frozenset({"1", "unknown"}),
    ),
    "clough-stevenson": LabelledSet(
        frozenset({"cut", "light", "heavy"}),
        "an answer and the longer article: cut, lightly or heavily revised from it, or not;"
        " derived texts, no near-duplicates: containment is the measure",
    ),
    "tgcontest": LabelledSet(
        frozenset({"OK"}),
        "news, mostly Russian, of one event or not; rewritten texts, no near-duplicates",
    ),
}


def labelled_pairs(data: Path, name: str) -> list[Pair]:
    """Return the pairs of one of `SETS`, always in the same order."""
    one = SETS[name]
    return [
        Pair(row["a"], row["b"], row["label"] in one.same)
        for row in rows_of(data / name / "pairs.jsonl.gz")
        if row["label"] not in one.left_out
    ]


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


@lru_cache(_CACHED)
def _minhash(text: str, size: int) -> MinHash:
    words = text.lower().split()
    shingles = {" ".join(words[i : i + size]) for i in range(max(len(words) - size + 1, 1))}
    sketch = MinHash(num_perm=128)
    sketch.update_batch([shingle.encode() for shingle in shingles])
    return sketch


def _datasketch(size: int) -> Score:
    return lambda a, b: float(_minhash(a, size).jaccard(_minhash(b, size)))


@lru_cache(_CACHED)
def _simhash(text: str) -> Simhash:
    line = re.sub(r"[^\w]+", "", text.lower())
    return Simhash([line[i : i + 3] for i in range(max(len(line) - 2, 1))])


def _equal_bits(a: str, b: str) -> float:
    return (_BITS - int(_simhash(a).distance(_simhash(b)))) / _BITS


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
    Method("datasketch, words", (_datasketch(1),), (0.8,)),
    Method("datasketch, 5 words", (_datasketch(5),), (0.8,)),
    Method("simhash package, 3 chars", (_equal_bits,), (_three_bits,)),
)


def score(pair: Pair) -> list[list[float]]:
    """Return the scores of a pair by every one of `METHODS`."""
    return [[one(pair.a, pair.b) for one in method.scores] for method in METHODS]


def methods_of(
    pairs: Sequence[Pair], pool: ProcessPoolExecutor
) -> dict[str, tuple[float, Quality]]:
    """Return of every method the AUC, and the quality at its usual threshold, on pairs of a set."""
    scored = list(pool.map(score, pairs, chunksize=16))
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    found = {}
    for place, method in enumerate(METHODS):
        scores = np.array([row[place] for row in scored])
        ranks = [np.searchsorted(np.sort(column), column) for column in scores.T]
        single = scores[:, 0] if len(method.scores) == 1 else np.min(ranks, axis=0) * 1.0
        taken = np.all(scores >= np.array(method.usual), axis=1)
        found[method.name] = area_under_curve(single, same), quality(taken, same)
    return found


def area_under_curve(scores: Floats, same: Flags) -> float:
    """Compute the probability that a pair which is the same scores above one which is not.

    Ties count half (Mann and Whitney 1947; Hanley and McNeil 1982).
    """
    ranks = np.unique(scores, return_inverse=True)[1]
    same_at, other_at = (np.bincount(ranks[flags], minlength=len(ranks)) for flags in (same, ~same))
    below = other_at.cumsum() - other_at
    number = int(same_at.sum()) * int(other_at.sum())
    return float((same_at * (below + other_at / 2)).sum() / number)


def show_methods(name: str, found: dict[str, tuple[float, Quality]], counts: str) -> None:
    """Print the table of one set's methods."""
    usual = {method.name: " & ".join(f"{one:.3g}" for one in method.usual) for method in METHODS}
    show(
        ("method", "AUC", "threshold", "P", "R", "F1"),
        (
            (
                method,
                f"{area:.3f}",
                usual[method],
                f"{reached.precision.value:.3f}",
                f"{reached.recall.value:.3f}",
                f"{reached.f1:.3f}",
            )
            for method, (area, reached) in found.items()
        ),
        f"{name}: {counts}\n{SETS[name].truth}",
    )


def main() -> None:
    """Print the tables."""
    parser = options_of(__doc__, data=True)
    parser.add_argument("--only", default=",".join(SETS), help="sets, with commas between")
    options = parser.parse_args()
    names = chosen(parser, options.only, SETS)
    folder = data_folder(options.data)
    with ProcessPoolExecutor(_PROCESSES) as pool:
        for name in names:
            pairs = labelled_pairs(folder, name)
            same = sum(pair.same for pair in pairs)
            counts = f"{same} pairs the same, {len(pairs) - same} different"
            show_methods(name, methods_of(pairs, pool), counts)


if __name__ == "__main__":
    main()
