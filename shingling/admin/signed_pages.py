"""Pages with their signatures and originals, as collections read and write them.

They come out of stores and exports, and become an export, of which `import` makes a store. A page
is its fields by their names in an export.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from shingling.admin.files import is_record, read_lines, records_in
from shingling.admin.records import NO_VALUES, Header, Record, checked
from shingling.admin.transfer import export
from shingling.rules.reasons import Reason
from shingling.store.session import Session
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Mapping

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store.index import Index

_RUN = _RULES = 1  # their numbers in an export that `records_of` makes


def stored_pages(url: str) -> Iterator[Mapping[str, Any]]:
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
        return Header.from_record(next(records_in(lines), Record("nothing", {})))


def exported_pages(path: str) -> Iterator[Mapping[str, Any]]:
    """Yield the pages of an exported store that are compared with all others.

    Raises:
        RecordError: a record is not what it should be.
    """
    with closing(read_lines(path)) as lines:
        records = records_in(lines)
        next(records)
        yield from _compared_with_all(checked(records))


def _compared_with_all(records: Iterable[Record]) -> Iterator[Mapping[str, Any]]:
    for record in records:
        if record.kind == "page" and not record.fields["scope"]:
            yield record.fields


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


def page_record(page: Mapping[str, Any], now: int) -> Record:
    """Record of a page that was stored at a time, seconds since 1970.

    Args:
        page: its fields; those of its original do not count if it has no `original_id`.
        now: the time.
    """
    fields = {
        **NO_VALUES,
        **page,
        "site": site_of(page["url"]),
        "scope": "",
        "last_verdict": page["status"],
        "reason": Reason.SHORT.value if page["status"] == "skipped" else None,
        "rules_id": _RULES,
        "first_seen": now,
        "last_seen": now,
        "run": _RUN,
        "last_run": _RUN,
    }
    if fields["original_id"] is None:
        fields |= dict.fromkeys(("original", "resemblance", "containment"))
    return Record("page", fields)


def end_record(pages: int) -> Record:
    """Last record of an export of so many pages."""
    return Record("end", {"pages": pages})
