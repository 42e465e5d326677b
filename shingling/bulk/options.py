"""Options, progress and summary of a run: the values that users of `bulk` pass and get.

Every other module of `bulk` may use them; they use none of those.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from shingling.errors import BulkError
from shingling.rules import DEFAULT_EXTRACTOR, MAX_BYTES, METHODS, OWN_TEXT, WORKER_MEMORY_BYTES
from shingling.rules.rules import Rules
from shingling.sketch import Scheme

INPUT_FORMATS = ("jsonl", "csv", "parquet", "warc", "html")
OUTPUT_FORMATS = ("jsonl", "parquet")
KEPT_ROWS = ("first", "longest", "newest")
"""Which row of a group stays."""

TIME_FIELD = "fetched"
"""Field with the time of a row, unless `Options.order_field` names another one."""


class Fields(NamedTuple):
    """Names of the fields that are read from a row.

    Args:
        text: field with the text, or with a list of messages, as data sets of chats have it.
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
        delimiter: of the cells of CSV; None takes what separates the names of the header.
        own_text: which rows stay although they resemble an original: "keep", those whose text says
            something of its own, as on pages of one site; "strict", those with any changed line;
            "ignore", none.
        skip_words: number of words that each text is compared without at its beginning, such as
            those of a prompt that most rows begin with. Rows come out whole.
        query: filter in extended JSON for collections of MongoDB; None takes all documents.
        keep: which of the rows that are alike stays, one of `KEPT_ROWS`: the first one in the order
            of the inputs, or by `order_field`; the one with the longest text; or the newest one.
        order_field: field that rows are ordered by: a number, or a time in ISO 8601. The lowest
            comes first; with `newest`, whose default is `TIME_FIELD`, the highest. Rows without it
            come last.
        keep_each: number of rows of a group that stay: its original and the first duplicates.
        export: also write `store.jsonl`, which `scrapy dedup import` and `against` read.
        output: format of the files that are written, one of `OUTPUT_FORMATS`.
        workers: number of processes that read and sign; 0 uses a thread of this one.
        max_bytes: largest row or page; larger ones are bad rows.
        timeout: seconds that a row may take in a worker process; slower ones are bad rows.
        worker_memory: bytes that a worker process may take; a row that needs more is a bad row. 0
            is no limit.
        strict: stop at the first bad row.

    Raises:
        BulkError: containment, a value that is not known, or `order_field` with `longest`.
    """

    rules: Rules = field(default_factory=Rules)
    scheme: Scheme = field(default_factory=Scheme)
    extractor: str = DEFAULT_EXTRACTOR
    fields: Fields = field(default_factory=Fields)
    format: str | None = None
    delimiter: str | None = None
    own_text: str = "ignore"
    skip_words: int = 0
    query: str | None = None
    keep: str = "first"
    order_field: str | None = None
    keep_each: int = 1
    export: bool = False
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
        for name, values in (
            ("output", OUTPUT_FORMATS),
            ("format", (None, *INPUT_FORMATS)),
            ("keep", KEPT_ROWS),
            ("own_text", OWN_TEXT),
        ):
            if (value := getattr(self, name)) not in values:
                known = ", ".join(filter(None, values))
                raise BulkError(f"{name} {value!r} is not known: {known}")
        if self.keep_each < 1:
            raise BulkError(f"keep_each is {self.keep_each}, but at least one row of a group stays")
        if self.keep == "longest" and self.order_field is not None:
            raise BulkError("the longest rows stay, or those that come first by a field: not both")
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise BulkError(f"delimiter {self.delimiter!r} is not accepted: one character")

    @property
    def min_exact_words(self) -> int:
        """Number of words from which on rows are compared; shorter ones are kept."""
        if METHODS[self.rules.method].keys is None:
            return 1
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
            "own_text": self.own_text,
            "skip_words": self.skip_words,
            "format": self.format,
            "keep": [self.keep, self.order_field],
            "delimiter": self.delimiter,
            "max_bytes": self.max_bytes,
            "strict": self.strict,
        }


def order_field(options: Options) -> str | None:
    """Field that rows are ordered by; None if there is none."""
    return options.order_field or (TIME_FIELD if options.keep == "newest" else None)


def keeps_order(options: Options) -> bool:
    """Whether rows are decided in the order in which they come."""
    return options.keep == "first" and options.order_field is None


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
        short: kept rows that are too short to be compared.
        without_text: kept rows that have no text.
        bad: rows that could not be read or signed.
        same_id: rows with the id of an earlier row, which are called by their file and line.
        same_id_example: the first of them.
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
    without_text: int = 0
    bad: int = 0
    same_id: int = 0
    same_id_example: str = ""
    seconds: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    stored: Counter[str] | None = None

    @property
    def read(self) -> int:
        """Number of rows that were read: `bad` + `unique` + `repeated`."""
        return self.total + self.bad

    def as_dict(self) -> dict[str, Any]:
        """Summary as JSON has it, with the shares (0 to 1) of kept and removed rows.

        `kept` and `removed` are other names of `unique` and `repeated`.
        """
        total = self.total or 1
        counts = {"read": self.read, "bad": self.bad, "kept": self.unique, "removed": self.repeated}
        return {
            **counts,
            **vars(self),
            "unique_share": round(self.unique / total, 4),
            "repeated_share": round(self.repeated / total, 4),
            "problems": [problem._asdict() for problem in self.problems],
            "seconds": round(self.seconds, 1),
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
