"""The records that a store is exported as, and what must be true of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.errors import RecordError, ShinglingError
from shingling.sketch import FUNCTIONS, Halves, Scheme
from shingling.store.index.keys import Index
from shingling.store.model import STATUSES
from shingling.store.schema.site_entries import are_entries
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FORMAT = 2
"""The number of the format; a file of a higher one was written by a newer release."""

_IDS = 1, (1 << 63) - 1
_TIMES = -62_135_596_800, 253_402_300_799  # seconds since 1970: the years 1 to 9999
_SHOWN = 60  # characters of a value in a message


class Record(NamedTuple):
    """One record: the store itself, a run, a review, a page, a site's template, or the end of all.

    Args:
        kind: `store`, `run`, `review`, `page`, `template` or `end`.
        fields: by name; `text_hash`, `minima` and `blocks` are bytes, `simhash` has no sign,
            times are seconds since 1970.
        where: its place in a file, such as `line 17`; "" where it is in none.
    """

    kind: str
    fields: Mapping[str, Any]
    where: str = ""

    def error(self, message: str) -> RecordError:
        """Return an error that names the place of the record."""
        return RecordError(f"{self.where}: {message}" if self.where else message)


@dataclass(frozen=True)
class Header:
    """What an export says of the store that it was made of.

    Args:
        scheme: of the signatures.
        index: what originals were found by.
        packs: versions of the language packs that signed.
        created: when the store was made, seconds since 1970.
        pages: how many follow.
        texts: whether some of them have their main text.
    """

    scheme: Scheme
    index: Index
    packs: Mapping[str, str]
    created: int
    pages: int
    texts: bool

    @classmethod
    def of(cls, record: Record) -> Header:
        """Return what the first record of an export says.

        Raises:
            RecordError: it is no such record, or was written by a newer release.
        """
        if record.kind != "store":
            raise record.error(f"the first record of a store is expected, not {record.kind!r}")
        written = record.fields.get("format")
        if type(written) is int and written > FORMAT:
            raise record.error(f"format {written} of a newer release; this one reads {FORMAT}")
        _require(record, _STORE)
        fields = record.fields
        _require(Record("index", fields["index"], record.where), _INDEX)
        try:
            scheme = Scheme.from_dict(fields["scheme"])
            index = Index.stored(*(fields["index"][name] for name in _INDEX))
        except (ShinglingError, TypeError, ValueError) as error:
            raise record.error(str(error)) from None
        halves = index.keys_of
        other_width = isinstance(halves, Halves) and halves.bits != scheme.simhash.bits
        if index.columns() != fields["index"] or other_width:
            raise record.error(f"index is {_shown(fields['index'])}, not one of this release")
        shown = {name: fields[name] for name in ("packs", "created", "pages", "texts")}
        return cls(scheme, index, **shown)

    def record(self) -> Record:
        """Return the first record of an export."""
        fields = {
            "format": FORMAT,
            "scheme": self.scheme.as_dict(),
            "index": self.index.columns(),
            "packs": dict(self.packs),
            "created": self.created,
            "pages": self.pages,
            "texts": self.texts,
        }
        return Record("store", fields)


def checked(records: Iterable[Record]) -> Iterator[Record]:
    """Yield the records behind the header up to the end; all of them are what they should be.

    Raises:
        RecordError: one is not, one is not known, or the end is missing.
    """
    number = 0
    runs: set[int] = set()
    last = None
    for record in records:
        if last is not None and last.kind == "end":
            raise record.error("there is something behind the last record")
        last = record
        if record.kind not in _KINDS:
            raise record.error(f"a record {_shown(record.kind)} is not known")
        _require(record, _KINDS[record.kind])
        if record.kind == "run":
            runs.add(record.fields["id"])
        elif record.kind == "page":
            number += 1
            _require_page(record, runs)
        elif record.kind == "end" and record.fields["pages"] != number:
            raise record.error(
                f"{record.fields['pages']:,} pages are announced, {number:,} are here"
            )
        if record.kind != "end":
            yield record
    if last is None or last.kind != "end":
        raise RecordError(f"the end is missing: cut off after {number:,} pages")


def _require_page(record: Record, runs: set[int]) -> None:
    fields = record.fields
    if fields.get("run") is not None and fields["run"] not in runs:
        raise record.error(f"run {fields['run']} is not in the file")
    if fields.get("original_id") is None:
        fits = fields["status"] in ("new", "skipped") and fields.get("resemblance") is None
    else:
        fits = fields["status"] in ("exact", "near") and fields.get("resemblance") is not None
    if not fits or fields.get("original_id") == fields["id"]:
        raise record.error("status, original_id and resemblance contradict each other")


def _require(record: Record, fields: Mapping[str, _Check]) -> None:
    for name, (fits, expected) in fields.items():
        value = record.fields.get(name)
        if not fits(value):
            found = "missing" if value is None else _shown(value)
            raise record.error(f"{name} is {found}, not {expected}")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


_Check = tuple[Callable[[Any], bool], str]
"""Whether a value fits, and what fits."""


def _whole(low: int, high: int) -> _Check:
    return lambda value: type(value) is int and low <= value <= high, "a whole number in its range"


def _bytes(number: int) -> _Check:
    return lambda value: type(value) is bytes and len(value) == number, f"{number} bytes"


def _one_of(*accepted: str) -> _Check:
    return lambda value: value in accepted, f"one of {', '.join(accepted)}"


def _or_none(check: _Check) -> _Check:
    fits, expected = check
    return lambda value: value is None or fits(value), expected


def _is(kind: type) -> _Check:
    return lambda value: type(value) is kind, f"a {kind.__name__}"


def _is_storable(value: Any) -> bool:
    return type(value) is str and clean(value) == value


def _is_text(value: Any) -> bool:
    return type(value) is str and (value.isascii() or _is_utf8(value))


def _is_utf8(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_STRING: _Check = _is_storable, "a string without NUL and lone surrogates"
_URL: _Check = lambda value: bool(value) and _is_storable(value), "a URL"
_SHARE: _Check = (
    lambda value: type(value) in (float, int) and 0 <= value <= 1,
    "a number from 0 to 1",
)
_TIME = _whole(*_TIMES)
_ID = _whole(*_IDS)
_COUNT = _whole(0, _IDS[1])

_INDEX = {
    "indexed": _one_of("minima", "simhash"),
    "bands": _COUNT,
    "rows": _COUNT,
    "sampled": _is(bool),
}

_STORE = {
    "format": _whole(1, FORMAT),
    "scheme": _is(dict),
    "index": _is(dict),
    "packs": _is(dict),
    "created": _TIME,
    "pages": _COUNT,
    "texts": _is(bool),
}

_KINDS: dict[str, dict[str, _Check]] = {
    "run": {
        "id": _ID,
        "spider": _STRING,
        "started": _TIME,
        "finished": _or_none(_TIME),
        "outcome": _or_none(_STRING),
        "counts": _is(dict),
        "settings": _is(dict),
    },
    "review": {
        "a": _URL,
        "b": _URL,
        "same": _is(bool),
        "note": _or_none(_STRING),
        "created": _TIME,
    },
    "page": {
        "id": _ID,
        "url": _URL,
        "site": _STRING,
        "scope": _STRING,
        "title": _or_none(_STRING),
        "language": _or_none(_STRING),
        "words": _whole(1, (1 << 31) - 1),
        "status": _one_of("new", "exact", "near", "skipped"),
        "last_verdict": _one_of(*STATUSES),
        "original_id": _or_none(_ID),
        "resemblance": _or_none(_SHARE),
        "containment": _or_none(_SHARE),
        "first_seen": _TIME,
        "last_seen": _TIME,
        "run": _or_none(_ID),
        "source": _or_none(_STRING),
        "text_hash": _bytes(16),
        "simhash": _whole(0, (1 << 64) - 1),
        "minima": _bytes(4 * FUNCTIONS),
        "text": _or_none((_is_text, "a string without lone surrogates")),
    },
    "template": {
        "site": _STRING,
        "blocks": (lambda value: type(value) is bytes and are_entries(value), "blocks of a site"),
    },
    "end": {"pages": _COUNT},
}

PAGE_FIELDS = (
    *("id", "url", "site", "scope", "title", "language", "words", "status", "last_verdict"),
    *("original_id", "original", "resemblance", "containment", "first_seen", "last_seen", "run"),
    *("source", "text_hash", "simhash", "minima", "text"),
)
"""The fields of a page, in their order; `original` is its URL, for whoever reads the file."""
