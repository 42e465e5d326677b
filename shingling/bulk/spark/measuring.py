"""Rows compared with the texts of their candidates, by Spark's workers.

The lines of a row come one after the other: first one with its own text, then one with the text
of each candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.bulk.spark.batches import of_rows
from shingling.similarity import overlap, unless_forged
from shingling.sketch import FUNCTIONS, fingerprint_set
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.arrays import Fingerprints
    from shingling.bulk.spark.candidates import Deciding
    from shingling.similarity import Overlap

WAITS, ORIGINAL, DUPLICATE, LIKELY = range(4)
"""Verdicts of a round on a row; `LIKELY` is a duplicate if enough of the rows before it are."""

OWN_TEXT = FUNCTIONS + 1
"""In place of the number of equal minima: the line has the row's own text, and sorts first."""

DECIDED = "row long, verdict int, other long, resemblance double, containment double, unlike long"
CHOSEN = "row long, original long, resemblance double, containment double"

_MAX_BATCH_ROWS = 1 << 12
_FINGERPRINTS_BYTES = 1 << 26  # remembered


class _Candidate(NamedTuple):
    """A candidate of a row; the fields are columns of `CANDIDATES`, `ahead` and its text."""

    other: int
    equal: int
    original: bool
    sure: bool
    ahead: int
    text: str


class _Measures:
    """Exact measures of texts, whose fingerprints are remembered for a while."""

    def __init__(self, deciding: Deciding) -> None:
        self._scheme = deciding.scheme
        self._by_hashes = not deciding.following.least
        self._known: dict[int, Fingerprints] = {}
        self._size = 0

    def overlap(self, row: int, text: str, candidate: _Candidate) -> Overlap:
        """Compare the texts of a row and a candidate."""
        both = overlap(self._of(row, text), self._of(candidate.other, candidate.text))
        if not self._by_hashes:
            return both
        return unless_forged(both, clean(text), clean(candidate.text), self._scheme)

    def _of(self, row: int, text: str) -> Fingerprints:
        known = self._known.get(row)
        if known is None:
            if self._size > _FINGERPRINTS_BYTES:
                self._known.clear()
                self._size = 0
            known = self._known[row] = fingerprint_set(clean(text), self._scheme)
            self._size += known.nbytes
        return known


class _Row(NamedTuple):
    """A row with its candidates: those with most equal minima first, then the oldest."""

    block: int
    number: int
    hidden: int
    text: str
    candidates: list[_Candidate]


def _rows(batches: Iterable[Any]) -> Iterator[_Row]:
    """Yield rows with their candidates."""
    row: _Row | None = None
    for batch in batches:
        for line in batch.to_pylist():
            if row is None or row.number != line["row"]:
                if row is not None:
                    yield row
                row = _Row(line["block"], line["row"], line["hidden"], line["text"], [])
            if 0 <= line["equal"] < OWN_TEXT:
                row.candidates.append(_Candidate(*(line[name] for name in _Candidate._fields)))
    if row is not None:
        yield row


def decide(batches: Iterable[Any], deciding: Deciding) -> Iterator[Any]:
    """Decide the rows whose outcome is certain.

    Args:
        batches: lines sorted by block and row; a verdict is known to the rows after it in the
            same block.
        deciding: how rows are decided.

    Yields:
        Batches of the schema `DECIDED`.
    """
    measures = _Measures(deciding)
    verdicts: dict[int, int] = {}
    block = -1
    answers = []
    for row in _rows(batches):
        if row.block != block:
            block = row.block
            verdicts.clear()
        answer = _decide(row, verdicts, measures, deciding)
        if answer[0] in (ORIGINAL, DUPLICATE):
            verdicts[row.number] = answer[0]
        answers.append((row.number, *answer))
        if len(answers) == _MAX_BATCH_ROWS:
            yield of_rows(answers, DECIDED)
            answers = []
    yield of_rows(answers, DECIDED)


def _decide(
    row: _Row, verdicts: dict[int, int], measures: _Measures, deciding: Deciding
) -> tuple[int, int | None, float | None, float | None, int | None]:
    """Decide a row.

    A row is a duplicate if an original is similar enough that is certain to be measured: it is
    among the oldest of a key, and fewer candidates than are measured can come before it without
    being similar enough. A row is an original if no possible original is similar enough.

    Returns:
        The verdict, the original with resemblance and containment, and the number of candidates
        before it that are not similar enough.
    """
    waits = WAITS, None, None, None, None
    undecided = []
    unlike, blocked = 0, False
    for candidate in row.candidates:
        state = verdicts.get(candidate.other, ORIGINAL if candidate.original else WAITS)
        if state == DUPLICATE:
            continue
        if state == WAITS:
            undecided.append(candidate)
            unlike += 1
            continue
        both = measures.overlap(row.number, row.text, candidate)
        if both.resemblance < deciding.following.least:
            unlike += 1
            continue
        before = unlike + candidate.ahead
        if candidate.sure and before < deciding.max_measured:
            is_sure = before + row.hidden < deciding.max_measured
            verdict = DUPLICATE if is_sure else LIKELY
            return verdict, candidate.other, both.resemblance, both.containment, before
        blocked = True
    if blocked or row.hidden:
        return waits
    for candidate in undecided:
        both = measures.overlap(row.number, row.text, candidate)
        if both.resemblance >= deciding.following.least:
            return waits
    return ORIGINAL, None, None, None, None


def choose(batches: Iterable[Any], deciding: Deciding) -> Iterator[Any]:
    """Choose the original of each duplicate among its candidates, as bulk on one machine does.

    Yields:
        Batches of the schema `CHOSEN`.
    """
    measures = _Measures(deciding)
    answers = []
    for row in _rows(batches):
        original, both = _chosen(row, measures, deciding)
        answers.append((row.number, original, both.resemblance, both.containment))
        if len(answers) == _MAX_BATCH_ROWS:
            yield of_rows(answers, CHOSEN)
            answers = []
    yield of_rows(answers, CHOSEN)


def _chosen(row: _Row, measures: _Measures, deciding: Deciding) -> tuple[int, Overlap]:
    """Original of a duplicate, and what both have in common."""
    ages = [candidate.other for candidate in row.candidates]
    best = deciding.following.best(
        ((at, one.equal / FUNCTIONS) for at, one in enumerate(row.candidates)),
        ages,
        lambda at: measures.overlap(row.number, row.text, row.candidates[at]),
    )
    assert best is not None
    return ages[best[0]], best[1]
