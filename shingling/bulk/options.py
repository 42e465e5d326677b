"""Options, progress and summary of a run: the values that users of `bulk` pass and get.

Every other module of `bulk` may use them; they use none of those.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from shingling.errors import BulkError
from shingling.rules import DEFAULT_EXTRACTOR, MAX_BYTES, WORKER_MEMORY_BYTES
from shingling.rules.rules import Rules
from shingling.sketch import Scheme

INPUT_FORMATS = ("jsonl", "csv", "parquet", "warc", "html")
OUTPUT_FORMATS = ("jsonl", "parquet")


class Fields(NamedTuple):
    """Names of the fields that are read from a row.

    Args:
        text: field with the text.
        html: field with HTML to extract the text from, if the row has no text.
        id: field with the id, any JSON value; None takes `id`, then `url`, then `_id`, then the
            row's file and line.
    """

    text: str = "text"
    html: str = "html"
    id: str | None = None


@dataclass(frozen=True)
class Options:
    """How a collection is deduplicated.

    Args:
        rules: what is a duplicate; `templates` and `original_max_age_days` do not apply to rows
            and are switched off.
        scheme: how texts are signed.
        extractor: takes main texts out of HTML, as `DEDUP_EXTRACTOR`.
        fields: names of the rows' fields.
        format: of all inputs, one of `INPUT_FORMATS`; None goes by the names of the files.
        query: filter in extended JSON for collections of MongoDB; None takes all documents.
        output: format of the files that are written, one of `OUTPUT_FORMATS`.
        workers: number of processes that read and sign; 0 uses a thread of this one.
        max_bytes: largest row or page; larger ones are bad rows.
        timeout: seconds that a row may take in a worker process; slower ones are bad rows.
        worker_memory: bytes that a worker process may take; a row that needs more is a bad row. 0
            is no limit.
        strict: stop at the first bad row.

    Raises:
        BulkError: containment, or a format that is not known.
    """

    rules: Rules = field(default_factory=Rules)
    scheme: Scheme = field(default_factory=Scheme)
    extractor: str = DEFAULT_EXTRACTOR
    fields: Fields = field(default_factory=Fields)
    format: str | None = None
    query: str | None = None
    output: str = "jsonl"
    workers: int = 1
    max_bytes: int = MAX_BYTES
    timeout: float = 30.0
    worker_memory: int = WORKER_MEMORY_BYTES
    strict: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "rules", replace(self.rules, templates=False, original_max_age_days=None)
        )
        if self.rules.containment is not None:
            raise BulkError(
                "pieces (DEDUP_CONTAINMENT) are not looked for in whole collections:"
                " use `scrapy dedup import` for them"
            )
        if self.output not in OUTPUT_FORMATS:
            raise BulkError(f"output {self.output!r} is not known: {' or '.join(OUTPUT_FORMATS)}")
        if self.format is not None and self.format not in INPUT_FORMATS:
            raise BulkError(f"format {self.format!r} is not known: {', '.join(INPUT_FORMATS)}")

    @property
    def min_exact_words(self) -> int:
        """Number of words from which on rows with the same text are exact duplicates."""
        return max(self.scheme.min_comparable_words, self.rules.min_words)

    def as_dict(self) -> dict[str, Any]:
        """Options that decide the result: an interrupted run continues only with equal ones."""
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
            "max_bytes": self.max_bytes,
            "strict": self.strict,
        }


class Problem(NamedTuple):
    """A bad row.

    Args:
        file: path or URL of the input.
        line: number of its line or row there, from 1 on.
        reason: why it is bad, in a few words.
    """

    file: str
    line: int
    reason: str


@dataclass
class Summary:
    """Counts of a run.

    Args:
        total: number of rows that were decided: `unique` + `repeated`.
        unique: rows that are kept.
        repeated: rows that are removed: `exact` + `near`.
        exact: duplicates with the same text.
        near: duplicates with a similar text.
        short: unique rows that are too short for near-duplicates.
        bad: rows that could not be read or signed, or have the id of an earlier row.
        seconds: duration, without that of interrupted runs before.
        reasons: number of bad rows by reason.
        problems: the first bad rows.
        stored: number of verdicts by status, of the store that the rows were put into; None
            without a store.
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
        """Summary as JSON has it, with the shares (0 to 1) of unique and repeated rows."""
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
    """Progress of a run.

    Args:
        phase: `signing`, `deciding`, `storing` or `writing`.
        rows: number of rows that are done in this phase.
        share: of the phase that is done, 0 to 1; None if the size of an input is not known.
    """

    phase: str
    rows: int
    share: float | None
