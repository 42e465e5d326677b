"""Pages with their signatures and originals, as collections read and write them.

They come out of stores and exports, and become an export, of which `import` makes a store.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from shingling.admin.files import is_record, read_lines, records_in
from shingling.admin.records import NO_VALUES, Header, Record, checked
from shingling.admin.transfer import export
from shingling.rules.reasons import Reason
from shingling.store.session import Session
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store.index import Index

_RUN = _RULES = 1  # their numbers in an export that `records_of` makes


class SignedPage(NamedTuple):
    """A page, by the names of an export."""

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


def stored_pages(url: str) -> Iterator[SignedPage]:
    """Yield the pages of a store that are compared with all others, by their ids."""
    with Session.open(url, create=False) as session:
        yield from _compared_with_all(export(session))


def is_export(path: str) -> bool:
    """Whether a file is an exported store."""
    with closing(read_lines(path)) as lines:
        first = next(lines, None)
    return first is not None and is_record(first)


def exported_header(path: str) -> Header:
    """Read the first record of an exported store.

    Raises:
        RecordError: it is not of this release.
    """
    with closing(read_lines(path)) as lines:
        return Header.from_record(next(records_in(lines)))


def exported_pages(path: str) -> Iterator[SignedPage]:
    """Yield the pages of an exported store that are compared with all others.

    Raises:
        RecordError: a record is not what it should be.
    """
    with closing(read_lines(path)) as lines:
        records = records_in(lines)
        next(records)
        yield from _compared_with_all(checked(records))


def _compared_with_all(records: Iterable[Record]) -> Iterator[SignedPage]:
    for record in records:
        if record.kind == "page" and not record.fields["scope"]:
            yield SignedPage(*map(record.fields.get, SignedPage._fields))  # type: ignore[arg-type]


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
    if page.original_id is None:
        page = page._replace(original=None, resemblance=None, containment=None)
    fields = {
        **NO_VALUES,
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
