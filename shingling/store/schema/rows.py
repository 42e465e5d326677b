"""One row of `pages`, as it is read, changed in memory and written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from shingling.store.schema.tables import pages
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from sqlalchemy import RowMapping

    from shingling.sketch import Minima, Signature

COLUMNS: tuple[str, ...] = tuple(pages.columns.keys())


class Keyed(NamedTuple):
    """What the keys of a page are made of, and whether it has samples."""

    minima: Minima
    simhash: int
    sampled: bool = True


@dataclass(slots=True, eq=False)
class Row:
    """One row of `pages`, and what the database finds it by (None: nothing)."""

    id: int
    scope: str
    url: str
    url_key: bytes
    site: str
    title: str | None
    language: str | None
    words: int
    text_hash: bytes
    minima: Minima
    simhash: int
    status: str
    last_verdict: str
    original_id: int | None
    resemblance: float | None
    containment: float | None
    first_seen: int
    last_seen: int
    run_id: int | None
    source: str | None
    stored: bool
    indexed: Keyed | None

    @classmethod
    def new(
        cls,
        page_id: int,
        signature: Signature,
        *,
        url: str,
        scope: str,
        title: str | None,
        language: str | None,
        source: str | None,
        seen: int,
        run: int | None,
    ) -> Self:
        """Row of a page that is not stored yet, as an original."""
        return cls(
            id=page_id,
            scope=scope,
            url=url,
            url_key=url_key(url),
            site=site_of(url),
            title=title,
            language=language,
            words=signature.words,
            text_hash=signature.text_hash,
            minima=signature.minima,
            simhash=signature.simhash,
            status="new",
            last_verdict="new",
            original_id=None,
            resemblance=None,
            containment=None,
            first_seen=seen,
            last_seen=seen,
            run_id=run,
            source=source,
            stored=False,
            indexed=None,
        )

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
        """Return the row as the database keeps it, in the order of `COLUMNS`."""
        return (
            self.id,
            self.scope,
            self.url,
            self.url_key,
            self.site,
            self.title,
            self.language,
            self.words,
            self.text_hash,
            self.minima.astype("<u4", copy=False).tobytes(),
            _signed(self.simhash),
            self.status,
            self.last_verdict,
            self.original_id,
            self.resemblance,
            self.containment,
            self.first_seen,
            self.last_seen,
            self.run_id,
            self.source,
        )


def row_from(mapping: RowMapping, fewest_words: int) -> Row:
    """Return a row as it was read; shorter texts than `fewest_words` are in no index."""
    values = dict(mapping)
    minima = read_minima(values.pop("minima"))
    simhash = values.pop("simhash") % (1 << 64)
    indexed = values["original_id"] is None and values["words"] >= fewest_words
    return Row(
        **values,
        minima=minima,
        simhash=simhash,
        stored=True,
        indexed=Keyed(minima, simhash, values["status"] != "skipped") if indexed else None,
    )


def read_minima(raw: bytes) -> Minima:
    """Return stored minima: uint32[84]."""
    return np.frombuffer(raw, dtype="<u4")


@lru_cache(4096)
def url_key(url: str) -> bytes:
    """Return the 128-bit key of a URL: URLs may be longer than an index takes."""
    return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=16).digest()


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
