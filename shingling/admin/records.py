"""The records of an exported store, and the checks of imported ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sqlalchemy import BigInteger, Float, Integer, LargeBinary, Text

from shingling.errors import RecordError, ShinglingError, shortened
from shingling.sketch import Halves, Scheme
from shingling.store.index import Index
from shingling.store.model import FIRST_SECOND, LAST_SECOND, MAX_SCOPE_CHARACTERS, STATUSES
from shingling.store.schema.rows import COLUMNS, PAGE_FIELDS
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlalchemy.types import TypeEngine

    from shingling.store.schema.rows import PageField

    Export: TypeAlias = "tuple[Header, Iterator[Record]]"
    """What an exported store says first, and its other records but for the end."""


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


def read_export(records: Iterator[Record]) -> Export:
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


Check = tuple[Callable[[Any], bool], str]
"""A test of a value, and what it expects, as an error message says it."""


def whole_number(low: int, high: int) -> Check:
    """Accept a whole number from `low` to `high`."""
    return lambda value: type(value) is int and low <= value <= high, "a whole number in its range"


def one_of(*accepted: str) -> Check:
    """Accept one of some strings."""
    return lambda value: value in accepted, f"one of {', '.join(accepted)}"


def or_none(check: Check) -> Check:
    """Accept None as well."""
    fits, expected = check
    return lambda value: value is None or fits(value), expected


def of_type(kind: type) -> Check:
    """Accept a value of exactly this type."""
    return lambda value: type(value) is kind, f"a {kind.__name__}"


def values_of(kind: type[dict[Any, Any] | list[Any]], check: Check) -> Check:
    """Accept a dict or a list whose values pass a check."""
    fits, expected = check

    def all_fit(value: Any) -> bool:
        values = value.values() if type(value) is dict else value
        return type(value) is kind and all(map(fits, values))

    return all_fit, f"a {kind.__name__}, each value {expected}"


def of_column(field: PageField) -> Check:
    """Accept what the column of a page takes."""
    length = getattr(field.sql, "length", None)
    check = _OF_TYPES[type(field.sql)]
    if length:
        check = lambda value: type(value) is bytes and len(value) == length, f"{length} bytes"
    return or_none(check) if field.nullable else check


def _is_storable(value: Any) -> bool:
    return type(value) is str and clean(value) == value


def _is_text(value: Any) -> bool:
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError):
        return False
    return True


ANYTHING: Check = lambda _: True, "anything"
STRING: Check = _is_storable, "a string without NUL and lone surrogates"
URL: Check = lambda value: bool(value) and _is_storable(value), "a URL"
MAIN_TEXT: Check = _is_text, "a string without lone surrogates"
SHARE: Check = (
    lambda value: type(value) in (float, int) and 0 <= value <= 1,
    "a number from 0 to 1",
)
SCOPE: Check = (
    lambda value: _is_storable(value) and len(value) <= MAX_SCOPE_CHARACTERS,
    f"a string of {MAX_SCOPE_CHARACTERS} characters at most",
)
TIME = whole_number(FIRST_SECOND, LAST_SECOND)
ID = whole_number(1, 1 << 53)  # new ones follow the largest; exact in every reader of JSON
COUNT = whole_number(0, (1 << 63) - 1)
NUMBER = whole_number(-(1 << 63), (1 << 63) - 1)

_OF_TYPES: dict[type[TypeEngine[Any]], Check] = {
    Text: STRING,
    Integer: whole_number(-(1 << 31), (1 << 31) - 1),
    BigInteger: NUMBER,
    Float: SHARE,
    LargeBinary: of_type(bytes),
}


def _are_rules(value: Any) -> bool:
    return type(value) is dict and all(
        name.isdecimal() and len(name) < 16 and _is_storable(rule) for name, rule in value.items()
    )


_INDEX = {
    "indexed": one_of("minima", "simhash"),
    "bands": COUNT,
    "rows": COUNT,
    "sampled": of_type(bool),
}

_STORE = {
    "format": (lambda value: value == FORMAT, f"{FORMAT}, which this release reads"),
    "scheme": of_type(dict),
    "index": of_type(dict),
    "packs": values_of(dict, STRING),
    "extractors": values_of(list, STRING),
    "rules": (_are_rules, "numbers with rules"),
    "created": TIME,
    "pages": COUNT,
    "texts": of_type(bool),
}

_SHOWN_AS = {"run_id": "run", "last_run_id": "last_run"}
PAGE_COLUMNS = {_SHOWN_AS.get(name, name): name for name in COLUMNS if name != "url_key"}
"""The columns of a page by their names in an export: all but the key of its URL, made of that."""

BINARY = [
    name for name, column in PAGE_COLUMNS.items() if PAGE_FIELDS[column].sql.python_type is bytes
]
"""Names of those that are bytes."""

_PAGE: dict[str, Check] = {
    **{name: of_column(PAGE_FIELDS[column]) for name, column in PAGE_COLUMNS.items()},
    "id": ID,
    "url": URL,
    "scope": SCOPE,
    "words": whole_number(1, (1 << 31) - 1),
    "simhash": whole_number(-(1 << 63), (1 << 64) - 1),  # with a sign in the database only
    "status": one_of("new", "exact", "near", "skipped"),
    "last_verdict": one_of(*STATUSES),
    "first_seen": TIME,
    "last_seen": TIME,
    "original": ANYTHING,  # its URL, for readers of the file
    "text": or_none(MAIN_TEXT),
    "last_change": or_none(STRING),
}
"""What is accepted of a page: what its columns take, or less."""

_KINDS: dict[str, dict[str, Check]] = {
    "run": {
        "id": ID,
        "spider": STRING,
        "started": TIME,
        "finished": or_none(TIME),
        "outcome": or_none(STRING),
        "counts": values_of(dict, COUNT),
        "settings": of_type(dict),
    },
    "review": {
        "a": URL,
        "b": URL,
        "same": of_type(bool),
        "note": or_none(STRING),
        "created": TIME,
    },
    "page": _PAGE,
    "template": {
        "site": STRING,
        "blocks": of_type(bytes),
        "lines": or_none(of_type(bytes)),
    },
    "end": {"pages": COUNT},
}

KINDS = ("store", *_KINDS)
"""The kinds of records."""

NO_VALUES = dict.fromkeys(_PAGE)
"""The fields of an exported page, none of which has a value."""
