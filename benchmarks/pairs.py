"""Pairs of texts whose answer, the same or not, is known: the labelled sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.data import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


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
