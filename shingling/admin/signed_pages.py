"""Pages with their signatures and originals, as collections read and write them.

They come out of stores and exports, and become an export, of which `import` makes a store.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from shingling.admin.files import is_record, opened, read_lines, records_in
from shingling.admin.records import PAGE_FIELDS, Header, Record, checked
from shingling.rules.reasons import Reason
from shingling.store.known import unpacked
from shingling.store.schema.rows import HASH_BYTES, MINIMA_BYTES, SIGNED
from shingling.store.schema.tables import pages, texts
from shingling.store.session import Session
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store import Index

_NO_VALUES = dict.fromkeys(PAGE_FIELDS)
_RUN = _RULES = 1  # their numbers in an export that `records_of` makes
_ROWS_AT_ONCE = 2048


class SignedPage(NamedTuple):
    """A page, by the names of an export; of its original, the URL is only written."""

    id: int
    status: str
    url: str
    words: int
    text_hash: bytes
    simhash: int
    minima: bytes
    text: str | None
    original_id: int | None = None
    original: str | None = None
    resemblance: float | None = None
    containment: float | None = None
    title: str | None = None
    language: str | None = None


_NAMES = (
    *("id", "status", "url", "words", "text_hash", "simhash", "minima"),
    *("original_id", "resemblance", "containment", "title", "language"),
)
_PAGES = (
    select(*(pages.c[name] for name in _NAMES), texts.c.zlib)
    .select_from(pages.outerjoin(texts, pages.c.id == texts.c.page_id))
    .where(pages.c.scope == "")
    .order_by(pages.c.id)
)


def stored_pages(url: str) -> Iterator[SignedPage]:
    """Yield the pages of a store that are compared with all others, by their ids."""
    with (
        Session.open(url, create=False) as session,
        session.reading() as connection,
        connection.execute(_PAGES, execution_options={"yield_per": _ROWS_AT_ONCE}) as found,
    ):
        for *values, packed in found:
            page = SignedPage(**dict(zip(_NAMES, values, strict=True)), text=None)
            if len(page.text_hash) == HASH_BYTES and len(page.minima) == MINIMA_BYTES:
                text = None if packed is None else unpacked(packed)
                main_text = None if text is None else text.text
                yield page._replace(simhash=SIGNED.read(page.simhash), text=main_text)


def is_export(path: str) -> bool:
    """Whether a file is an exported store."""
    with opened(path) as file, closing(read_lines(file)) as lines:
        first = next(lines, None)
    return first is not None and is_record(first)


def exported_header(path: str) -> Header:
    """Read the first record of an exported store.

    Raises:
        RecordError: it is not of this release.
    """
    with opened(path) as file, closing(read_lines(file)) as lines:
        return Header.of(next(records_in(lines)))


def exported_pages(path: str) -> Iterator[SignedPage]:
    """Yield the pages of an exported store that are compared with all others.

    Raises:
        RecordError: a record is not what it should be.
    """
    with opened(path) as file, closing(read_lines(file)) as lines:
        records = records_in(lines)
        next(records)
        for record in checked(records):
            if record.kind == "page" and not record.fields["scope"]:
                yield SignedPage(**{name: record.fields.get(name) for name in (*_NAMES, "text")})  # type: ignore[arg-type]


def first_records(
    scheme: Scheme,
    index: Index,
    rules: Rules,
    counts: Counter[str],
    now: int,
    settings: dict[str, Any],
) -> Iterator[Record]:
    """Yield the first records of an export: the store, and the run that has made its pages.

    Args:
        scheme: of the signatures.
        index: of the store.
        rules: that the pages were decided by.
        counts: of the pages by status.
        now: when the run ended, seconds since 1970.
        settings: of the run.
    """
    header = Header(
        scheme,
        index,
        packs=scheme.canonical.pack_versions(),
        created=now,
        pages=counts.total(),
        texts=True,
        rules={str(_RULES): rules.deciding},
    )
    yield header.record()
    run = {"id": _RUN, "spider": "bulk", "started": now, "finished": now, "outcome": "finished"}
    yield Record("run", {**run, "counts": dict(counts), "settings": settings})


def page_record(page: SignedPage, now: int) -> Record:
    """Record of a page that was stored at a time, seconds since 1970."""
    fields = {
        **_NO_VALUES,
        **page._asdict(),
        "site": site_of(page.url),
        "scope": "",
        "last_verdict": page.status,
        "reason": Reason.SHORT.value if page.status == "skipped" else None,
        "rules_id": _RULES,
        "first_seen": now,
        "last_seen": now,
        "run": _RUN,
        "last_run": _RUN,
    }
    return Record("page", fields)


def end_record(pages: int) -> Record:
    """Last record of an export of so many pages."""
    return Record("end", {"pages": pages})
