"""The records of an exported store, and the checks of imported ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.admin import checks
from shingling.errors import RecordError, ShinglingError, shortened
from shingling.sketch import Halves, Scheme
from shingling.store.index import Index
from shingling.store.model import STATUSES
from shingling.store.schema.rows import COLUMNS, PAGE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from shingling.admin.checks import Check

FORMAT = 1
"""Version of the format."""

_OTHER_NAMES = ("packs", "extractors", "rules", "created", "pages", "texts")  # of a header
_PAGES_PER_STEP = 256  # of progress
_MAX_SHOWN_CHARACTERS = 60  # of a value in a message


class Record(NamedTuple):
    """One record: the store itself, a run, a review, a page, or others.

    Args:
        kind: `store`, `run`, `review`, `page`, `template` or `end`.
        fields: by name; `text_hash`, `minima` and `blocks` are bytes, `simhash` has no sign,
            times are seconds since 1970.
        where: its place in a file, such as `line 17`; "" if it is in none.
    """

    kind: str
    fields: Mapping[str, Any]
    where: str = ""

    def error(self, message: str) -> RecordError:
        """Error that names the place of the record."""
        return RecordError(f"{self.where}: {message}" if self.where else message)


@dataclass(frozen=True)
class Header:
    """What an export says about its store.

    Args:
        scheme: of the signatures.
        index: what originals were found by.
        packs: versions of the language packs that signed.
        created: when the store was made, seconds since 1970.
        pages: how many follow.
        texts: whether some of them have their main text.
        extractors: names of those that the texts are by, the last one last; none if not known.
        rules: that pages were decided by, as JSON, by their numbers.
    """

    scheme: Scheme
    index: Index
    packs: dict[str, str]
    created: int
    pages: int
    texts: bool
    extractors: list[str] = field(default_factory=list)
    rules: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_record(cls, record: Record) -> Header:
        """Read the first record of an export.

        Raises:
            RecordError: it is another record, or one of another version of the format.
        """
        if record.kind != "store":
            raise record.error(f"the first record of a store is expected, not {record.kind!r}")
        fields = record.fields
        problem = _problem_of(fields, _STORE) or _problem_of(fields["index"], _INDEX)
        if problem:
            raise record.error(problem)
        try:
            scheme = Scheme.from_dict(fields["scheme"])
            index = Index.stored(*(fields["index"][name] for name in _INDEX))
        except (ShinglingError, TypeError, ValueError) as error:
            raise record.error(str(error)) from None
        halves = index.keys_of
        other_width = isinstance(halves, Halves) and halves.bits != scheme.simhash.bits
        if index.columns() != fields["index"] or other_width:
            raise record.error(f"index is {_shown(fields['index'])}, not one of this release")
        return cls(scheme, index, **{name: fields[name] for name in _OTHER_NAMES})

    def record(self) -> Record:
        """First record of an export."""
        fields = {
            "format": FORMAT,
            "scheme": self.scheme.as_dict(),
            "index": self.index.columns(),
            **{name: getattr(self, name) for name in _OTHER_NAMES},
        }
        return Record("store", fields)


def read_export(records: Iterator[Record]) -> tuple[Header, Iterator[Record]]:
    """Check the records of an export, of which nothing is known: here, and nowhere else.

    Returns:
        What the first one says, and the others but for the end, each checked when it is read.

    Raises:
        RecordError: a record is wrong or not known, or the end is missing.
    """
    return Header.from_record(next(records, Record("nothing", {}))), _checked(records)


def _checked(records: Iterable[Record]) -> Iterator[Record]:
    number = 0
    has_ended = False
    for record in records:
        if has_ended:
            raise record.error("there is something behind the last record")
        if record.kind not in _KINDS:
            raise record.error(f"a record {_shown(record.kind)} is not known")
        if problem := _problem_of(record.fields, _KINDS[record.kind]):
            raise record.error(problem)
        number += record.kind == "page"
        if record.kind == "end":
            if record.fields["pages"] != number:
                raise record.error(
                    f"{record.fields['pages']:,} pages are announced, {number:,} are here"
                )
            has_ended = True
            continue
        yield record
    if not has_ended:
        raise RecordError(f"the end is missing: cut off after {number:,} pages")


def watched(
    records: Iterable[Record], phase: str, total: int, show: Callable[[str, int, float], None]
) -> Iterator[Record]:
    """Pass records on, and show how many of the pages among them are done."""
    done = 0
    show(phase, done, 0.0)
    for record in records:
        yield record
        if record.kind == "page":
            done += 1
            if done % _PAGES_PER_STEP == 0 or done == total:
                show(phase, done, done / total)


def batches(records: Iterable[Record], size: int) -> Iterator[list[Record]]:
    """Yield records in lists of one kind, of so many at most."""
    for _, of_one_kind in groupby(records, key=attrgetter("kind")):
        while batch := [*islice(of_one_kind, size)]:
            yield batch


def _problem_of(fields: Mapping[str, Any], checks: Mapping[str, Check]) -> str:
    """Say what is wrong with the fields of a record; "" if nothing is known to be."""
    for name, (fits, expected) in checks.items():
        value = fields.get(name)
        if not fits(value):
            shown = "missing" if value is None else _shown(value)
            return f"{name} is {shown}, not {expected}"
    return ""


def _shown(value: object) -> str:
    return shortened(repr(value), _MAX_SHOWN_CHARACTERS)


def _are_rules(value: Any) -> bool:
    is_text, _ = checks.STRING
    return type(value) is dict and all(
        name.isdecimal() and len(name) < 16 and is_text(rule) for name, rule in value.items()
    )


_INDEX = {
    "indexed": checks.one_of("minima", "simhash"),
    "bands": checks.COUNT,
    "rows": checks.COUNT,
    "sampled": checks.of_type(bool),
}

_STORE = {
    "format": (lambda value: value == FORMAT, f"{FORMAT}, which this release reads"),
    "scheme": checks.of_type(dict),
    "index": checks.of_type(dict),
    "packs": checks.values_of(dict, checks.STRING),
    "extractors": checks.values_of(list, checks.STRING),
    "rules": (_are_rules, "numbers with rules"),
    "created": checks.TIME,
    "pages": checks.COUNT,
    "texts": checks.of_type(bool),
}

_SHOWN_AS = {"run_id": "run", "last_run_id": "last_run"}
PAGE_COLUMNS = {_SHOWN_AS.get(name, name): name for name in COLUMNS if name != "url_key"}
"""The columns of a page by their names in an export: all but the key of its URL, made of that."""

BINARY = [
    name for name, column in PAGE_COLUMNS.items() if PAGE_FIELDS[column].sql.python_type is bytes
]
"""Names of those that are bytes."""

_PAGE: dict[str, Check] = {
    **{name: checks.of_column(PAGE_FIELDS[column]) for name, column in PAGE_COLUMNS.items()},
    "id": checks.ID,
    "url": checks.URL,
    "scope": checks.SCOPE,
    "words": checks.whole_number(1, (1 << 31) - 1),
    "simhash": checks.whole_number(-(1 << 63), (1 << 64) - 1),  # with a sign in the database only
    "status": checks.one_of("new", "exact", "near", "skipped"),
    "last_verdict": checks.one_of(*STATUSES),
    "first_seen": checks.TIME,
    "last_seen": checks.TIME,
    "original": checks.ANYTHING,  # its URL, for readers of the file
    "text": checks.or_none(checks.MAIN_TEXT),
    "last_change": checks.or_none(checks.STRING),
}
"""What is accepted of a page: what its columns take, or less."""

_KINDS: dict[str, dict[str, Check]] = {
    "run": {
        "id": checks.ID,
        "spider": checks.STRING,
        "started": checks.TIME,
        "finished": checks.or_none(checks.TIME),
        "outcome": checks.or_none(checks.STRING),
        "counts": checks.values_of(dict, checks.COUNT),
        "settings": checks.of_type(dict),
    },
    "review": {
        "a": checks.URL,
        "b": checks.URL,
        "same": checks.of_type(bool),
        "note": checks.or_none(checks.STRING),
        "created": checks.TIME,
    },
    "page": _PAGE,
    "template": {
        "site": checks.STRING,
        "blocks": checks.of_type(bytes),
        "lines": checks.or_none(checks.of_type(bytes)),
    },
    "end": {"pages": checks.COUNT},
}

KINDS = ("store", *_KINDS)
"""The kinds of records."""

NO_VALUES = dict.fromkeys(_PAGE)
"""The fields of an exported page, none of which has a value."""
