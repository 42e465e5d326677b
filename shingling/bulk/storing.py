"""The rows of a collection as the pages of a store, for later crawls and runs."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shingling.bulk.signed_rows import EXACT, NEAR, NO_ROW, REPEATED_ID, SHORT
from shingling.rules.reasons import Reason
from shingling.sketch import Signature
from shingling.store.schema.rows import EXPORTED_FIELDS
from shingling.store.urls import site_of
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shingling.admin.records import Record
    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows
    from shingling.store import Index
    from shingling.store.session import Session

STORE_FILE = "store.jsonl"
"""The rows of a run as `scrapy dedup export` writes the pages of a store."""

_RUN = _RULES = 1  # their numbers in such a file
_STATUSES = {EXACT: "exact", NEAR: "near", SHORT: "skipped"}  # all others are new
_NO_VALUES = dict.fromkeys(EXPORTED_FIELDS)


def put_into_store(
    session: Session,
    signed: SignedRows,
    decided: Records,
    options: Options,
    report: Callable[[int], None],
) -> Counter[str]:
    """Put rows into a store: an empty one takes them as they are decided, others decide them.

    Args:
        session: of the store.
        signed: the rows, signed under its scheme.
        decided: the decisions on them.
        options: what decides.
        report: called with the number of rows that are done.

    Returns:
        Number of pages by their status.

    Raises:
        StoreError: the store cannot be written.
    """
    from shingling.admin.importing import merge
    from shingling.admin.records import Header
    from shingling.admin.transfer import restore

    records = store_records(signed, decided, options, session.index, report, signed.first)
    header = Header.of(next(records))
    if signed.first or restore(session, header, records) is None:
        counts, _ = merge(session, options.rules, header, records, ("bulk", options.as_dict()))
        return counts
    states = decided["state"].tolist()
    return Counter(_status(state) for state in states if state != REPEATED_ID)


def store_records(
    signed: SignedRows,
    decided: Records,
    options: Options,
    index: Index,
    report: Callable[[int], None] = lambda _: None,
    first: int = 0,
) -> Iterator[Record]:
    """Yield rows as the records of an exported store: the header, good rows as pages, and the end.

    Args:
        signed: the rows.
        decided: the decisions on them.
        options: what decided.
        index: of the store.
        report: called with the number of rows that are done.
        first: the first of these rows; known rows may come before it.
    """
    good = decided["state"] != REPEATED_ID
    states = decided["state"][first:][good[first:]].tolist()
    now = int(time.time())
    yield from first_records(options, index, Counter(map(_status, states)), now)
    for start, stop in signed.blocks(first):
        chosen = start + np.flatnonzero(good[start:stop])
        records, decisions = signed.records_of(chosen), decided[chosen]
        originals = np.where(decisions["original"] == NO_ROW, chosen, decisions["original"])
        for row, name, original, record, minima, line, (state, follows, *measures) in zip(
            chosen.tolist(),
            signed.ids(records),
            signed.ids(signed.records_of(originals)),
            records,
            signed.minima_of(chosen),
            signed.lines(records),
            decisions.tolist(),
            strict=True,
        ):
            values = json.loads(line) if line else {}
            hashes = record["text"].tobytes(), int(record["simhash"])
            signature = Signature(minima, hashes[1], hashes[0], int(record["words"]))
            head = None if follows == NO_ROW else Head(follows, original, *measures)
            text = clean(values.get(options.fields.text, "")) or None
            yield page_record(
                row, name, _status(state), signature, head, {**values, "text": text}, now
            )
        report(stop)
    yield end_record(len(states))


class Head(NamedTuple):
    """The original of a row, and how alike they are."""

    row: int
    name: str
    resemblance: float
    containment: float


def page_record(
    row: int,
    name: str,
    status: str,
    signature: Signature,
    head: Head | None,
    values: dict[str, Any],
    now: int,
) -> Record:
    """Record of a row.

    Args:
        row: its number.
        name: its id, which is its URL in the store.
        status: of the page.
        signature: of its text.
        head: its original; None if it has none.
        values: its text, title and language, if it has them.
        now: when the page is stored, seconds since 1970.
    """
    from shingling.admin.records import Record

    alike = {}
    if head is not None:
        alike = {
            "original_id": head.row + 1,
            "original": head.name,
            "resemblance": head.resemblance,
            "containment": head.containment,
        }
    strings = {
        key: value
        for key in ("title", "language", "text")
        if isinstance(value := values.get(key), str) and value
    }
    fields = {
        **_NO_VALUES,
        **strings,
        **alike,
        "id": row + 1,
        "url": name,
        "site": site_of(name),
        "scope": "",
        "words": signature.words,
        "status": status,
        "last_verdict": status,
        "reason": Reason.SHORT.value if status == "skipped" else None,
        "rules_id": _RULES,
        "first_seen": now,
        "last_seen": now,
        "run": _RUN,
        "last_run": _RUN,
        "text_hash": signature.text_hash,
        "simhash": signature.simhash,
        "minima": signature.minima.astype("<u4").tobytes(),
    }
    return Record("page", fields)


def first_records(
    options: Options, index: Index, counts: Counter[str], now: int
) -> Iterator[Record]:
    """Yield the first records of a file: the store, and the run that its pages are of.

    Args:
        options: of the run.
        index: of the store.
        counts: of the pages by status.
        now: when the run ends, seconds since 1970.
    """
    from shingling.admin.records import Header, Record

    header = Header(
        options.scheme,
        index,
        packs=options.scheme.canonical.pack_versions(),
        created=now,
        pages=counts.total(),
        texts=True,
        rules={str(_RULES): options.rules.deciding},
    )
    yield header.record()
    run = {"id": _RUN, "spider": "bulk", "started": now, "finished": now, "outcome": "finished"}
    yield Record("run", {**run, "counts": dict(counts), "settings": options.as_dict()})


def end_record(pages: int) -> Record:
    """Last record of a file with so many pages."""
    from shingling.admin.records import Record

    return Record("end", {"pages": pages})


def _status(state: int) -> str:
    return _STATUSES.get(state, "new")
