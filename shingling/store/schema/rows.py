"""The fields of a stored page, and a page in memory: as it is read, changed and written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from sqlalchemy import BigInteger, Float, Integer, LargeBinary, Text

from shingling.rules.own_fields import OwnFields, changed_since, differing
from shingling.rules.reasons import Reason
from shingling.sketch import FUNCTIONS
from shingling.store.model import fetched_at
from shingling.store.urls import safe_url, server_of, site_of
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import RowMapping
    from sqlalchemy.types import TypeEngine

    from shingling.arrays import Minima
    from shingling.rules.rules import Rules
    from shingling.sketch import Signature
    from shingling.store.model import Page, Status

MINIMA_BYTES = 4 * FUNCTIONS
HASH_BYTES = 16

ROW_ID: TypeEngine[Any] = BigInteger().with_variant(Integer, "sqlite")
"""SQL type of ids; SQLite counts up only an INTEGER PRIMARY KEY."""

Origin: TypeAlias = Literal["extracted", "signature", "decision", ""]
"""Where a value comes from, which says when it changes.

- `extracted`: from the body of a page, with its text. If one differs, the body is another one.
- `signature`: from the text.
- `decision`: from deciding the page.
- "": from elsewhere. `Row.of` sets it, and `Batch.see_again` keeps it up to date.
"""


class Stored(NamedTuple):
    """A value that the database has in another form than `Row`."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


# Databases have no unsigned numbers.
SIGNED = Stored(
    lambda value: value - (1 << 64) if value >= 1 << 63 else value, lambda value: value % (1 << 64)
)
LITTLE_ENDIAN = Stored(
    lambda minima: minima.astype("<u4", copy=False).tobytes(),
    lambda raw: np.frombuffer(raw, dtype="<u4"),
)

REASON = Stored(lambda reason: reason, Reason.named)


class PageField(NamedTuple):
    """What becomes of one field of a page.

    Args:
        sql: type of its column.
        origin: where its value comes from.
        nullable: whether it may be None.
        stored: how the database has it, if not as it is.
    """

    sql: TypeEngine[Any]
    origin: Origin = ""
    nullable: bool = False
    stored: Stored | None = None


def _column(
    sql: TypeEngine[Any],
    origin: Origin = "",
    *,
    nullable: bool = False,
    stored: Stored | None = None,
) -> Any:
    """Field of a dataclass that has a column of its own; the arguments are those of `PageField`."""
    return field(metadata={"page": PageField(sql, origin, nullable, stored)})


GONE = 0
"""In the place of the last run that met a page: the page has answered that it is gone."""


class Keyed(NamedTuple):
    """What the keys of a page are made of, and whether it has samples."""

    scope: str
    minima: Minima
    simhash: int
    sampled: bool = True


@dataclass(slots=True, eq=False)
class Row:
    """One row of `pages`, and what the database finds it by (None: nothing).

    This is the table of fields: columns and rebuilds are derived from it.
    """

    id: int = _column(ROW_ID)
    scope: str = _column(Text())
    url: str = _column(Text())
    url_key: bytes = _column(LargeBinary(HASH_BYTES))  # hash of the URL
    site: str = _column(Text())
    title: str | None = _column(Text(), "extracted", nullable=True)
    language: str | None = _column(Text(), "extracted", nullable=True)
    words: int = _column(Integer(), "signature")
    text_hash: bytes = _column(LargeBinary(HASH_BYTES), "signature")
    minima: Minima = _column(LargeBinary(MINIMA_BYTES), "signature", stored=LITTLE_ENDIAN)  # noqa: RUF009 (no default)
    simhash: int = _column(BigInteger(), "signature", stored=SIGNED)
    # Where the page stands: new, exact, near or skipped.
    status: Status = _column(Text(), "decision")  # noqa: RUF009 (no default)
    last_verdict: Status = _column(Text(), "decision")  # noqa: RUF009 (no default)
    # None: the page is an original.
    original_id: int | None = _column(ROW_ID, "decision", nullable=True)
    # To the page that decided: the original, or that of `compared_id`.
    resemblance: float | None = _column(Float(), "decision", nullable=True)
    containment: float | None = _column(Float(), "decision", nullable=True)
    first_seen: int = _column(BigInteger())
    last_seen: int = _column(BigInteger())
    # The run that stored the page first.
    run_id: int | None = _column(ROW_ID, nullable=True)
    # URL of the page that this is an item of; None: it is a page.
    source: str | None = _column(Text(), nullable=True)
    # Own fields of the item, packed; None if there is no item, or it says nothing.
    fields: bytes | None = _column(LargeBinary(), nullable=True)
    # The run that has met the page last, or GONE.
    last_run_id: int | None = _column(ROW_ID, nullable=True)
    # Why the page stands as it does: `Verdict.reason`.
    reason: Reason | None = _column(Text(), "decision", nullable=True, stored=REASON)  # noqa: RUF009 (no default)
    # The page that resemblance and containment are to, if it is not the original.
    compared_id: int | None = _column(ROW_ID, "decision", nullable=True)
    # By which rules the page was decided when it was met last.
    rules_id: int | None = _column(ROW_ID, "decision", nullable=True)
    # The run that its item has come out of, as both are now, if that was not killed; 0: it was
    # handed to nobody's run. None: it has not come out.
    came_out: int | None = _column(BigInteger(), nullable=True)
    stored: bool = True
    indexed: Keyed | None = None

    @classmethod
    def of(cls, page: Page, signature: Signature, page_id: int, run: int | None) -> Self:
        """Row of a page that is not stored yet, as an original."""
        seen = fetched_at(page)
        values: dict[str, Any] = {
            **_NO_VALUES,
            "id": page_id,
            "run_id": run,
            "status": "new",
            "last_verdict": "new",
            "scope": page.scope,
            "url": page.url,
            "source": page.source,
            "url_key": url_key(page.url),
            "site": site_of(page.url),
            "first_seen": seen,
            "last_seen": seen,
            "last_run_id": run,
            "fields": page.fields.packed if isinstance(page.fields, OwnFields) else None,
        }
        row = cls(**values, stored=False)
        row.take("extracted", page)
        row.take("signature", signature)
        return row

    @property
    def is_original(self) -> bool:
        """Whether the page is attached to no other."""
        return self.original_id is None

    @property
    def keyed(self) -> Keyed:
        """What its keys are made of, if it is found."""
        return Keyed(self.scope, self.minima, self.simhash, self.status != "skipped")

    @property
    def server(self) -> str:
        """Site whose template its text has: on each port of a host it is another one."""
        return server_of(self.site, self.url)

    def is_member_of(self, original: Row) -> bool:
        """Whether the page is attached to this original."""
        return self.original_id == original.id

    def same_source_page(self, other: Row) -> bool:
        """Whether both were found on one page: documents of it are never compared."""
        return (self.source or self.url) == (other.source or other.url)

    def differing_fields(self, original: Row, rules: Rules) -> tuple[str, ...]:
        """Names of the fields for which the page is not a duplicate of an original.

        See `shingling.rules.own_fields.differing`.
        """
        return differing(
            self.fields,
            original.fields,
            same_site=self.site == original.site,
            names=rules.fields,
            ignored=rules.ignore_fields,
        )

    def changed_fields(self, page: Page, rules: Rules) -> tuple[str, ...]:
        """Names of the fields in which the item of the page says something else now.

        The title of a document is not among its own fields.
        """
        now = page.fields
        if not isinstance(now, OwnFields):
            return ()
        names, ignored = rules.fields, rules.ignore_fields
        changed = {*changed_since(now.packed, self.fields, names=names, ignored=ignored)}
        counts = now.has_title and names == "auto" and rules.titles != "ignore"
        if counts and title_key(page.title or "") != title_key(self.title or ""):
            changed.add("title")
        return tuple(sorted(changed))

    def values(self) -> tuple[object, ...]:
        """Row as the database keeps it, in the order of `COLUMNS`."""
        values = [*_column_values(self)]
        for place, form in _CONVERTED:
            values[place] = form.write(values[place])
        return tuple(values)

    def take(self, origin: Origin, other: Page | Signature) -> None:
        """Take over the values that come from a body, or a signature."""
        for name in ORIGINS[origin]:
            setattr(self, name, getattr(other, name))


PAGE_FIELDS: dict[str, PageField] = {
    column.name: column.metadata["page"] for column in fields(Row) if "page" in column.metadata
}
"""The fields of a stored page by the names of their columns, in the order of these."""

COLUMNS = tuple(PAGE_FIELDS)

ORIGINS: dict[Origin, tuple[str, ...]] = {
    origin: tuple(name for name, column in PAGE_FIELDS.items() if column.origin == origin)
    for origin in ("extracted", "signature", "decision")
}
"""Names of columns by where their values come from."""

_NO_VALUES = dict.fromkeys(COLUMNS)
_column_values = attrgetter(*COLUMNS)
_CONVERTED = tuple(
    (place, column.stored) for place, column in enumerate(PAGE_FIELDS.values()) if column.stored
)

extracted = attrgetter(*ORIGINS["extracted"])
"""Values of a page or a row that were extracted from its body."""


def row_from(mapping: RowMapping, fewest_words: int) -> Row:
    """Row as it was read; otherwise as `row_of`."""
    return row_of([mapping[name] for name in COLUMNS], fewest_words)


def row_of(values: Sequence[Any], fewest_words: int) -> Row:
    """Row of values as they were read, in the order of `COLUMNS`.

    Shorter texts than `fewest_words` are in no index.
    """
    read = [*values]
    for place, form in _CONVERTED:
        read[place] = form.read(read[place])
    row = Row(*read)
    if row.original_id is None and row.words >= fewest_words:
        row.indexed = row.keyed
    return row


@lru_cache(4096)
def url_key(url: str) -> bytes:
    """128-bit key of a URL: URLs may be longer than an index takes."""
    return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=16).digest()


def key_of(url: str) -> bytes:
    """Key of a URL that is not yet as the store keeps it."""
    return url_key(safe_url(url))
