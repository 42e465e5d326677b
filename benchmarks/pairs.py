"""Pairs of texts whose answer, the same or not, is known: the labelled sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.data import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


@dataclass(frozen=True)
class Pair:
    """Two texts and the answer.

    Args:
        id: unique within the set.
        a, b: the texts.
        same: the answer.
        group: pairs that share a document are of one group; halves of a set are cut
            between groups.
        label: the set's own word for the answer.
    """

    id: str
    a: str
    b: str
    same: bool
    group: str
    label: str


@dataclass(frozen=True)
class LabelledSet:
    """How a set is read, and what its answers mean.

    Args:
        read: takes the folder of the data.
        truth: what `same` means in it.
    """

    read: Callable[[Path], list[Pair]]
    truth: str


def labelled_pairs(folder: Path, name: str) -> list[Pair]:
    """Return the pairs of one of `SETS`, always the same ones in the same order.

    Args:
        folder: of the labelled data.
        name: of the set.
    """
    return SETS[name].read(folder)


def _graded(folder: Path, lowest_same: float, left_out: tuple[str, ...]) -> list[Pair]:
    return [
        Pair(
            id=row["pair_id"],
            a=row["a"],
            b=row["b"],
            same=float(row["label"]) >= lowest_same,
            group=row["canonical"],
            label=row["label"],
        )
        for row in rows_of(folder / "copycat" / "pairs.jsonl.gz")
        if row["label"] not in left_out
    ]


def _copycat(folder: Path) -> list[Pair]:
    return _graded(folder, 2, ("1", "unknown"))


def _copycat_strict(folder: Path) -> list[Pair]:
    return _graded(folder, 3, ("unknown",))


def _tgcontest(folder: Path) -> list[Pair]:
    rows = rows_of(folder / "tgcontest" / "pairs.jsonl.gz")
    groups = _components((row["a_url"], row["b_url"]) for row in rows)
    return [
        Pair(
            id=row["pair_id"],
            a=row["a"],
            b=row["b"],
            same=row["label"] == "OK",
            group=groups[row["a_url"]],
            label=row["label"],
        )
        for row in rows
    ]


def _components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for every document the first one of those that pairs connect it with."""
    parts: dict[str, set[str]] = {}
    for a, b in edges:
        joined = parts.get(a, {a}) | parts.get(b, {b})
        parts.update(dict.fromkeys(joined, joined))
    return {document: min(part) for document, part in parts.items()}


def _clough_stevenson(folder: Path) -> list[Pair]:
    return [
        Pair(
            id=row["id"],
            a=row["a"],
            b=row["b"],
            same=row["label"] != "non",
            group=row["task"],
            label=row["label"],
        )
        for row in rows_of(folder / "clough-stevenson" / "pairs.jsonl.gz")
    ]


SETS = {
    "copycat": LabelledSet(
        _copycat,
        "web pages of one canonical URL, graded by a person: 3 and 2 the same, 0.5 not, 1 left out",
    ),
    "copycat-strict": LabelledSet(
        _copycat_strict,
        "the same pages: 3 the same, 2, 1 and 0.5 not",
    ),
    "clough-stevenson": LabelledSet(
        _clough_stevenson,
        "an answer and the longer article: cut, lightly or heavily revised from it, or not;"
        " derived texts, no near-duplicates: containment is the measure",
    ),
    "tgcontest": LabelledSet(
        _tgcontest,
        "news, mostly Russian, of one event or not; rewritten texts, no near-duplicates",
    ),
}
