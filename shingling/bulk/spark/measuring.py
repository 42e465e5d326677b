"""What is said of rows by the exact measures of their texts, as Spark's workers do it.

The lines of a row lie side by side: that with its text first, then those of whom it meets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.bulk.spark.batches import of_rows
from shingling.similarity import overlap
from shingling.sketch import FUNCTIONS, text_fingerprints
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.bulk.spark.meeting import Deciding
    from shingling.similarity import Overlap
    from shingling.sketch import Fingerprints, Scheme

WAITS, ORIGINAL, DUPLICATE, LIKELY = range(4)
"""What a round says of a row; `LIKELY` is a duplicate if enough of those before it are."""

OWN = FUNCTIONS + 1
"""In place of minima in common: the text of the row itself. It comes before those of others."""

DECIDED = "row long, verdict int, other long, resemblance double, containment double, unlike long"
CHOSEN = "row long, original long, resemblance double, containment double"

_ANSWERS = 1 << 12  # handed on at a time
_REMEMBERED = 1 << 26  # bytes of fingerprints


class _Entry(NamedTuple):
    """Another row that a row meets, with what the column of its name in `MET` says."""

    other: int
    equal: int
    original: bool
    sure: bool
    ahead: int
    text: str


class _Measures:
    """Exact measures of texts, whose fingerprints are remembered for a while."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._known: dict[int, Fingerprints] = {}
        self._size = 0

    def overlap(self, row: int, text: str, entry: _Entry) -> Overlap:
        """Return what two texts share."""
        return overlap(self._of(row, text), self._of(entry.other, entry.text))

    def _of(self, row: int, text: str) -> Fingerprints:
        known = self._known.get(row)
        if known is None:
            if self._size > _REMEMBERED:
                self._known.clear()
                self._size = 0
            known = self._known[row] = text_fingerprints(clean(text), self._scheme)
            self._size += known.nbytes
        return known


class _Asking(NamedTuple):
    """A row with all whom it meets, those with most minima in common first, then the oldest."""

    bucket: int
    row: int
    hidden: int
    text: str
    entries: list[_Entry]


def _asking(batches: Iterable[Any]) -> Iterator[_Asking]:
    """Yield rows with whom they meet; their lines lie side by side, that with its text first."""
    asking: _Asking | None = None
    for batch in batches:
        for line in batch.to_pylist():
            if asking is None or asking.row != line["row"]:
                if asking is not None:
                    yield asking
                asking = _Asking(line["bucket"], line["row"], line["hidden"], line["text"], [])
            if 0 <= line["equal"] < OWN:
                asking.entries.append(_Entry(*(line[name] for name in _Entry._fields)))
    if asking is not None:
        yield asking


def decide(batches: Iterable[Any], deciding: Deciding) -> Iterator[Any]:
    """Say of rows what is certain: `DECIDED`, for lines by bucket and row.

    The rows of a bucket come in their order: what was said of one is known to those behind it.
    """
    measures = _Measures(deciding.scheme)
    said: dict[int, int] = {}
    bucket = -1
    answers = []
    for asking in _asking(batches):
        if asking.bucket != bucket:
            bucket = asking.bucket
            said.clear()
        answer = _said(asking, said, measures, deciding)
        if answer[0] in (ORIGINAL, DUPLICATE):
            said[asking.row] = answer[0]
        answers.append((asking.row, *answer))
        if len(answers) == _ANSWERS:
            yield of_rows(answers, DECIDED)
            answers = []
    yield of_rows(answers, DECIDED)


def _said(
    asking: _Asking, said: dict[int, int], measures: _Measures, deciding: Deciding
) -> tuple[int, int | None, float | None, float | None, int | None]:
    """Return verdict, the original found with its measures, and how many unlike come before it.

    A row is a duplicate if an original is alike that is measured for certain: it is among the
    oldest of a key, and fewer others than are measured can come before it that are not alike. It
    is an original if nobody who could be one is alike.
    """
    waits = WAITS, None, None, None, None
    undecided = []
    unlike, blocked = 0, False
    for entry in asking.entries:
        state = said.get(entry.other, ORIGINAL if entry.original else WAITS)
        if state == DUPLICATE:
            continue
        if state == WAITS:
            undecided.append(entry)
            unlike += 1
            continue
        both = measures.overlap(asking.row, asking.text, entry)
        if both.resemblance < deciding.ranking.least:
            unlike += 1
            continue
        before = unlike + entry.ahead
        if entry.sure and before < deciding.measured:
            is_sure = before + asking.hidden < deciding.measured
            verdict = DUPLICATE if is_sure else LIKELY
            return verdict, entry.other, both.resemblance, both.containment, before
        blocked = True
    if blocked or asking.hidden:
        return waits
    for entry in undecided:
        both = measures.overlap(asking.row, asking.text, entry)
        if both.resemblance >= deciding.ranking.least:
            return waits
    return ORIGINAL, None, None, None, None


def choose(batches: Iterable[Any], deciding: Deciding) -> Iterator[Any]:
    """Choose the original of each duplicate among those it meets: `CHOSEN`, as bulk does."""
    measures = _Measures(deciding.scheme)
    ranking = deciding.ranking
    answers = []
    for asking in _asking(batches):
        best: tuple[int, Overlap] | None = None
        for entry in asking.entries:
            estimate = entry.equal / FUNCTIONS
            if best is not None and ranking.is_beaten(estimate, best[1].resemblance):
                break
            both = measures.overlap(asking.row, asking.text, entry)
            if both.resemblance < ranking.least:
                continue
            if best is None or (both.resemblance, -entry.other) > (best[1].resemblance, -best[0]):
                best = entry.other, both
        assert best is not None
        answers.append((asking.row, best[0], best[1].resemblance, best[1].containment))
        if len(answers) == _ANSWERS:
            yield of_rows(answers, CHOSEN)
            answers = []
    yield of_rows(answers, CHOSEN)
