"""What a collection is deduplicated by, and what comes of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from shingling.defaults import MAX_BYTES
from shingling.errors import BulkError
from shingling.sketch import Scheme
from shingling.store import Rules

FORMATS = ("jsonl", "csv", "parquet", "warc", "html", "sql")
OUTPUTS = ("jsonl", "parquet")
MEMORY = 1 << 30


class Fields(NamedTuple):
    """The names of a row's fields.

    `text` counts before `html`. Without a name for the id, it is `id` or `url`, whichever comes
    first and is there, else the row's file and line.
    """

    text: str = "text"
    html: str = "html"
    id: str | None = None


@dataclass(frozen=True)
class Options:
    """How a collection is deduplicated.

    Args:
        rules: what decides; templates of sites are not learned from rows.
        scheme: to sign with.
        extractor: of main texts from HTML, as `DEDUP_EXTRACTOR`.
        fields: of the rows.
        format: of all inputs, one of `FORMATS`; None goes by their names.
        query: for inputs that are SQLAlchemy URLs.
        output: of what is written, one of `OUTPUTS`.
        workers: processes that read and sign; 0 is a thread of this one.
        memory: bytes that sorting may use in this process.
        max_bytes: of a row or a page; longer ones are not read.
        timeout: seconds after which a row is given up.
        strict: stop at the first bad row.

    Raises:
        BulkError: rules that bulk does not know.
    """

    rules: Rules = field(default_factory=Rules)
    scheme: Scheme = field(default_factory=Scheme)
    extractor: str = "trafilatura"
    fields: Fields = field(default_factory=Fields)
    format: str | None = None
    query: str | None = None
    output: str = "jsonl"
    workers: int = 1
    memory: int = MEMORY
    max_bytes: int = MAX_BYTES
    timeout: float = 30.0
    strict: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", replace(self.rules, templates=False, window_days=None))
        if self.rules.method == "simhash":
            raise BulkError(
                "the method simhash looks up neighbours, which whole collections have too many of:"
                " take minhash, minhash+simhash, megashingle or exact"
            )
        if self.rules.containment is not None:
            raise BulkError(
                "pieces (DEDUP_CONTAINMENT) are not looked for in whole collections:"
                " use `scrapy dedup import` for them"
            )
        if self.output not in OUTPUTS:
            raise BulkError(f"output {self.output!r} is not known: {' or '.join(OUTPUTS)}")
        if self.format is not None and self.format not in FORMATS:
            raise BulkError(f"format {self.format!r} is not known: {', '.join(FORMATS)}")

    @property
    def fewest_words(self) -> int:
        """Return how many words a row must have to be a duplicate: rows are without titles."""
        return max(self.scheme.fewest_words, self.rules.min_words)

    def shown(self) -> dict[str, Any]:
        """Return what decides the result: a run goes on only under the same."""
        rules = self.rules
        return {
            "scheme": self.scheme.id,
            "threshold": rules.threshold,
            "method": rules.method,
            "min_words": rules.min_words,
            "simhash_distance": rules.simhash_distance,
            "extractor": self.extractor,
            "fields": list(self.fields),
            "format": self.format,
            "query": self.query,
            "max_bytes": self.max_bytes,
        }


class Problem(NamedTuple):
    """A row that could not be taken: its file, its line there, and why."""

    file: str
    line: int
    reason: str


@dataclass
class Summary:
    """What came of a collection.

    Args:
        total: rows that were decided: `unique` + `repeated`.
        unique: rows that are kept.
        repeated: rows that are removed: `exact` + `near`.
        exact, near: duplicates with the same text, or with much of its words.
        short: of the unique rows, those too short to be compared.
        bad: rows that could not be taken.
        reasons: how many of them for what reason.
        problems: the first of them.
        seconds: of this run and of those that it went on from.
        stored: verdicts of a store that the rows were put into, by status.
    """

    total: int = 0
    unique: int = 0
    repeated: int = 0
    exact: int = 0
    near: int = 0
    short: int = 0
    bad: int = 0
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    stored: Counter[str] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for machines, with the shares of unique and repeated rows."""
        total = self.total or 1
        return {
            "total": self.total,
            "unique": self.unique,
            "repeated": self.repeated,
            "unique_share": round(self.unique / total, 4),
            "repeated_share": round(self.repeated / total, 4),
            "exact": self.exact,
            "near": self.near,
            "short": self.short,
            "bad": self.bad,
            "reasons": dict(self.reasons),
            "problems": [problem._asdict() for problem in self.problems],
            "seconds": round(self.seconds, 1),
            **({} if self.stored is None else {"stored": dict(self.stored)}),
        }


class Progress(NamedTuple):
    """How far a run has come.

    Args:
        phase: `signing`, `sorting`, `deciding`, `storing` or `writing`.
        rows: done in this phase.
        share: of this phase, 0 to 1, or None where nobody knows.
    """

    phase: str
    rows: int
    share: float | None
