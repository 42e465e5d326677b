"""The records of an export that is made of no store, but of signed and decided rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shingling.admin.records import NO_VALUES, Header, Record
from shingling.rules.reasons import Reason
from shingling.store.urls import site_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from shingling.bulk.options import Options
    from shingling.store.index import Index

_RUN = _RULES = 1  # their numbers in an export that is made here


def header_and_run(
    options: Options, index: Index, counts: Counter[str], now: int
) -> tuple[Header, Record]:
    """Make the beginning of an export: what it says of the store, and the run that made its pages.

    Args:
        options: of the run.
        index: of the store.
        counts: of the pages by status.
        now: when the run ended, seconds since 1970.
    """
    header = Header(
        options.scheme,
        index,
        packs=options.scheme.canonical.pack_versions(),
        created=now,
        pages=counts.total(),
        texts=True,
        rules={str(_RULES): options.rules.deciding},
    )
    run = {"id": _RUN, "spider": "bulk", "started": now, "finished": now, "outcome": "finished"}
    return header, Record("run", {**run, "counts": dict(counts), "settings": options.as_dict()})


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
