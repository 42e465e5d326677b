"""The fields of a stored page, and a page in memory: as it is read, changed and written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from shingling.store.model import fetched_at
from shingling.store.schema import fields as kinds
from shingling.store.schema.fields import PageField
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import RowMapping

    from shingling.sketch import Minima, Signature
    from shingling.store.model import Page


class Keyed(NamedTuple):
    """What the keys of a page are made of, and whether it has samples."""

    minima: Minima
    simhash: int
    sampled: bool = True


def _page(kind: kinds.Kind, exported: int | None = None, **more: Any) -> dict[str, PageField]:
    return {"page": PageField(kind, exported=exported, **more)}


@dataclass(slots=True, eq=False)
class Row:
    """One row of `pages`, and what the database finds it by (None: nothing).

    This is the table of fields: columns, exports, imports and rebuilds are derived from it. A
    field whose type allows None is nullable.
    """

    id: int = field(metadata=_page(kinds.ID, 0))
    scope: str = field(metadata=_page(kinds.STRING, 30))
    url: str = field(metadata=_page(kinds.URL, 10))
    url_key: bytes = field(metadata=_page(kinds.HASH))  # hash of the URL
    site: str = field(metadata=_page(kinds.STRING, 20))
    title: str | None = field(metadata=_page(kinds.STRING, 40, origin="extracted"))
    language: str | None = field(metadata=_page(kinds.STRING, 50, origin="extracted"))
    words: int = field(metadata=_page(kinds.WORDS, 60, origin="signature"))
    text_hash: bytes = field(metadata=_page(kinds.HASH, 170, origin="signature"))
    minima: Minima = field(metadata=_page(kinds.MINIMA, 190, origin="signature"))
    simhash: int = field(metadata=_page(kinds.SIMHASH, 180, origin="signature"))
    # Where the page stands: new, exact, near or skipped.
    status: str = field(metadata=_page(kinds.STATUS, 70, origin="decision"))
    last_verdict: str = field(metadata=_page(kinds.VERDICT, 80, origin="decision"))
    # None: the page is an original.
    original_id: int | None = field(metadata=_page(kinds.ID, 90, origin="decision"))
    # To the original.
    resemblance: float | None = field(metadata=_page(kinds.SHARE, 110, origin="decision"))
    containment: float | None = field(metadata=_page(kinds.SHARE, 120, origin="decision"))
    first_seen: int = field(metadata=_page(kinds.TIME, 130))
    last_seen: int = field(metadata=_page(kinds.TIME, 140))
    # The run that stored the page first.
    run_id: int | None = field(metadata=_page(kinds.ID, 150, exported_as="run"))
    # URL of the page that this is an item of; None: it is a page.
    source: str | None = field(metadata=_page(kinds.STRING, 160))
    stored: bool
    indexed: Keyed | None

    @classmethod
    def of(cls, page: Page, signature: Signature, page_id: int, run: int | None) -> Self:
        """Row of a page that is not stored yet, as an original."""
        seen = fetched_at(page)
        values: dict[str, Any] = {
            **_NO_VALUES,
            **dict(zip(ORIGINS["extracted"], extracted(page), strict=True)),
            **dict(zip(ORIGINS["signature"], _signed(signature), strict=True)),
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
        }
        return cls(**values, stored=False, indexed=None)

    @property
    def is_original(self) -> bool:
        """Whether the page is attached to no other."""
        return self.original_id is None

    def is_member_of(self, original: Row) -> bool:
        """Whether the page is attached to this original."""
        return self.original_id == original.id

    def is_of_page_of(self, other: Row) -> bool:
        """Whether both were found on one page: documents of it are never compared."""
        return (self.source or self.url) == (other.source or other.url)

    def values(self) -> tuple[object, ...]:
        """Row as the database keeps it, in the order of `COLUMNS`."""
        values = [*_column_values(self)]
        for place, write in _WRITERS:
            values[place] = write(values[place])
        return tuple(values)

    def take(self, origin: kinds.Origin, other: Page | Signature) -> None:
        """Take over the values that come from a body, or a signature."""
        for name in ORIGINS[origin]:
            setattr(self, name, getattr(other, name))


PAGE_FIELDS: dict[str, PageField] = {
    one.name: replace(one.metadata["page"], nullable=str(one.type).endswith("| None"))
    for one in fields(Row)
    if "page" in one.metadata
}
"""The fields of a stored page by the names of their columns, in the order of these."""

COLUMNS = tuple(PAGE_FIELDS)

_FROM_OTHER_TABLES = {
    "original": PageField(kinds.URL, nullable=True, exported=100),
    "text": PageField(kinds.MAIN_TEXT, nullable=True, exported=200),
}
_BY_EXPORTED_NAME = {one.exported_as or name: one for name, one in PAGE_FIELDS.items()}
_PLACES = {
    one.exported: (name, one)
    for name, one in (_BY_EXPORTED_NAME | _FROM_OTHER_TABLES).items()
    if one.exported is not None
}
EXPORTED_FIELDS: dict[str, PageField] = dict(_PLACES[place] for place in sorted(_PLACES))
"""The fields of an exported page by their names, in their order."""

ORIGINS: dict[kinds.Origin, tuple[str, ...]] = {
    origin: tuple(name for name, one in PAGE_FIELDS.items() if one.origin == origin)
    for origin in ("extracted", "signature", "decision")
}
"""Names of columns by where their values come from."""

_NO_VALUES = dict.fromkeys(COLUMNS)
_column_values = attrgetter(*COLUMNS)
_signed = attrgetter(*ORIGINS["signature"])
_WRITERS = tuple(
    (place, one.kind.stored.write)
    for place, one in enumerate(PAGE_FIELDS.values())
    if one.kind.stored
)
_READERS = tuple(
    (place, one.kind.stored.read)
    for place, one in enumerate(PAGE_FIELDS.values())
    if one.kind.stored
)

extracted = attrgetter(*ORIGINS["extracted"])
"""Values of a page or a row that were extracted from its body."""


def row_from(mapping: RowMapping, fewest_words: int) -> Row:
    """Row as it was read; shorter texts than `fewest_words` are in no index."""
    return row_of([mapping[name] for name in COLUMNS], fewest_words)


def row_of(values: Sequence[Any], fewest_words: int) -> Row:
    """Row of values as they were read, in the order of `COLUMNS`; otherwise as `row_from`."""
    read = [*values, True, None]  # it is stored, and indexed or not: see below
    for place, reader in _READERS:
        read[place] = reader(read[place])
    row = Row(*read)
    if row.original_id is None and row.words >= fewest_words:
        row.indexed = Keyed(row.minima, row.simhash, row.status != "skipped")
    return row


def read_minima(raw: bytes) -> Minima:
    """Decode stored minima: uint32[84]."""
    minima: Minima = kinds.LITTLE_ENDIAN.read(raw)
    return minima


@lru_cache(4096)
def url_key(url: str) -> bytes:
    """128-bit key of a URL: URLs may be longer than an index takes."""
    return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=16).digest()
