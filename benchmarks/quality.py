"""Measure which pairs each method calls the same, and how often it is right.

For every labelled set: precision, recall, F1 and AUC of every method, of datasketch and of
simhash. A method's threshold is tuned, as `scrapy dedup tune` does it, on one half of the pairs and
used on the other, both ways round, so that each pair is decided once by a threshold that has not
seen it; no document is in both halves. Of two scores, the lower rank is tuned. Beside that, the
figures at the method's usual threshold. AUC, which needs no threshold, is of all pairs.

Other packages are used as their own examples do. datasketch has no tokeniser: its README feeds it
the words of a text; windows of words are what its users feed it besides. simhash gets windows of 3
characters, as in its documentation.

    python -m benchmarks.quality [--data DIR] [--only copycat,...]
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from datasketch import MinHash
from simhash import Simhash

from benchmarks.data import data_folder, rows_of
from benchmarks.report import chosen, options_of, show
from shingling import compare
from shingling.tuning.evaluation import (
    Quality,
    Scoring,
    area_under_curve,
    cross_validated,
    quality,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from shingling import Comparison
    from shingling.arrays import Integers

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
        group: pairs that share a document are of one group; halves of a set are cut
            between groups.
        label: the set's own word for the answer.
    """

    a: str
    b: str
    same: bool
    group: str
    label: str


@dataclass(frozen=True)
class LabelledSet:
    """How a set is read, and what its answers mean.

    Args:
        folder: of its file.
        same: labels of pairs that are the same.
        documents: fields that name the documents of a pair, or what they belong to.
        truth: what `same` means in it.
        left_out: labels of pairs that are not read.
    """

    folder: str
    same: frozenset[str]
    documents: tuple[str, ...]
    truth: str
    left_out: frozenset[str] = frozenset()


SETS = {
    "copycat": LabelledSet(
        "copycat",
        frozenset({"3", "2"}),
        ("canonical",),
        "web pages of one canonical URL, graded by a person: 3 and 2 the same, 0.5 not, 1 left out",
        frozenset({"1", "unknown"}),
    ),
    "copycat-strict": LabelledSet(
        "copycat",
        frozenset({"3"}),
        ("canonical",),
        "the same pages: 3 the same, 2, 1 and 0.5 not",
        frozenset({"unknown"}),
    ),
    "clough-stevenson": LabelledSet(
        "clough-stevenson",
        frozenset({"cut", "light", "heavy"}),
        ("task",),
        "an answer and the longer article: cut, lightly or heavily revised from it, or not;"
        " derived texts, no near-duplicates: containment is the measure",
    ),
    "tgcontest": LabelledSet(
        "tgcontest",
        frozenset({"OK"}),
        ("a_url", "b_url"),
        "news, mostly Russian, of one event or not; rewritten texts, no near-duplicates",
    ),
}


def labelled_pairs(data: Path, name: str) -> list[Pair]:
    """Return the pairs of one of `SETS`, always the same ones in the same order.

    Args:
        data: folder of the labelled data.
        name: of the set.
    """
    one = SETS[name]
    rows = [
        row
        for row in rows_of(data / one.folder / "pairs.jsonl.gz")
        if row["label"] not in one.left_out
    ]
    groups = _components([row[field] for field in one.documents] for row in rows)
    return [
        Pair(
            a=row["a"],
            b=row["b"],
            same=row["label"] in one.same,
            group=groups[row[one.documents[0]]],
            label=row["label"],
        )
        for row in rows
    ]


def _components(pairs: Iterable[list[str]]) -> dict[str, str]:
    """Return for every document the first one of those that pairs connect it with."""
    parts: dict[str, set[str]] = {}
    for documents in pairs:
        joined = set().union(*(parts.get(document, {document}) for document in documents))
        parts.update(dict.fromkeys(joined, joined))
    return {document: min(part) for document, part in parts.items()}


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


def halves(groups: Sequence[str]) -> Integers:
    """Return the half, 0 or 1, of each of the pairs, given their groups.

    The largest groups are dealt first, each to the smaller half: hashes break ties.
    """
    sizes = Counter(groups)
    order = sorted(
        sizes, key=lambda group: (-sizes[group], hashlib.blake2b(group.encode()).digest())
    )
    half_of: dict[str, int] = {}
    ahead = 0
    for group in order:
        half_of[group] = int(ahead > 0)
        ahead += -sizes[group] if ahead > 0 else sizes[group]
    return np.array([half_of[group] for group in groups])


def methods_of(pairs: Sequence[Pair], pool: ProcessPoolExecutor) -> dict[str, Any]:
    """Return the figures of every method on the pairs of a set."""
    scored = list(pool.map(score, pairs, chunksize=16))
    same = np.array([pair.same for pair in pairs], dtype=np.bool_)
    parts = halves([pair.group for pair in pairs])
    found = {}
    for place, method in enumerate(METHODS):
        scores = np.array([row[place] for row in scored])
        ranks = [np.searchsorted(np.sort(column), column) for column in scores.T]
        single = scores[:, 0] if len(method.scores) == 1 else np.min(ranks, axis=0) * 1.0
        tuned = cross_validated([Scoring(single, np.unique(single))], same, parts)
        usual = np.all(scores >= np.array(method.usual), axis=1)
        found[method.name] = {
            "auc": area_under_curve(single, same),
            "tuned": quality(tuned, same)._asdict(),
            "usual": {"thresholds": method.usual, **quality(usual, same)._asdict()},
        }
    return found


def show_methods(name: str, found: dict[str, Any], counts: str) -> None:
    """Print the table of one set's methods."""
    rows = []
    for method, figures in found.items():
        tuned, used = (
            [f"{figures[kind][share]:.3f}" for share in Quality._fields]
            for kind in ("tuned", "usual")
        )
        usual = " & ".join(f"{threshold:.3g}" for threshold in figures["usual"]["thresholds"])
        rows.append((method, f"{figures['auc']:.3f}", *tuned, usual, *used))
    columns = ("method", "AUC", "tuned: P", "R", "F1", "usual", "P", "R", "F1")
    show(columns, rows, f"{name}: {counts}\n{SETS[name].truth}")


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
