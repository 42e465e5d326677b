"""The rows of a collection as the pages of a store, for later crawls and runs."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.admin.importing import decide_export
from shingling.admin.transfer import restore
from shingling.bulk.rows import string_or_none
from shingling.bulk.signed_rows import EXACT, NEAR, NO_ROW, SHORT
from shingling.bulk.store_records import header_and_run, page_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shingling.admin.records import Export, Record
    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows
    from shingling.store.index import Index
    from shingling.store.session import Session

STORE_FILE = "store.jsonl"
"""The rows of a run as `scrapy dedup export` writes the pages of a store."""

STORE_FOLDER = "store"
"""The same of a run on Spark: a folder of such files."""

STATUSES = {EXACT: "exact", NEAR: "near", SHORT: "skipped"}
"""Status of a page by what becomes of its row; all others are new."""


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
    header, records = export_of(signed, decided, options, session.index, report, signed.first)
    # Originals that are known rows would be missing.
    if not signed.first and restore(session, header, records) is not None:
        return _counted(decided[signed.column("words") > 0])
    run = "bulk", options.as_dict()
    return decide_export(session, options.rules, header, records, run).counts


def export_of(
    signed: SignedRows,
    decided: Records,
    options: Options,
    index: Index,
    report: Callable[[int], None] = lambda _: None,
    first: int = 0,
) -> Export:
    """Make rows an exported store: what it says first, and its other records but for the end.

    Bad rows and rows without a word are no pages of a store.

    Args:
        signed: the rows.
        decided: the decisions on them.
        options: what decided.
        index: of the store.
        report: called with the number of rows that are done.
        first: the first of these rows; known rows may come before it.
    """
    stored, now = signed.column("words") > 0, int(time.time())
    counts = _counted(decided[first:][stored[first:]])
    header, run = header_and_run(options, index, counts, now)

    def records() -> Iterator[Record]:
        yield run
        for start, stop in signed.blocks(first):
            rows = start + np.flatnonzero(stored[start:stop])
            for page in _pages(rows, signed, decided[rows]):
                yield page_record(page, now)
            report(stop)

    return header, records()


def _pages(rows: Records, signed: SignedRows, decided: Records) -> Iterator[dict[str, Any]]:
    records = signed.records_of(rows)
    originals = np.where(decided["original"] == NO_ROW, rows, decided["original"])
    for row, url, head, record, minima, line, decision in zip(
        rows.tolist(),
        signed.ids(records),
        signed.ids(signed.records_of(originals)),
        records,
        signed.minima_of(rows),
        signed.lines(records),
        decided.tolist(),
        strict=True,
    ):
        state, original, resemblance, containment = decision
        values = json.loads(line) if line else {}
        yield {
            "id": row + 1,
            "status": STATUSES.get(state, "new"),
            "url": url,
            "words": int(record["words"]),
            "text_hash": record["text"].tobytes(),
            "simhash": int(record["simhash"]),
            "minima": minima.tobytes(),
            "text": signed.text_of(row, values) or None,
            "original_id": None if original == NO_ROW else original + 1,
            "original": head,
            "resemblance": resemblance,
            "containment": containment,
            "title": string_or_none(values.get("title")),
            "language": string_or_none(values.get("language")),
        }


def _counted(decided: Records) -> Counter[str]:
    """Count rows by the status of their pages."""
    return Counter(STATUSES.get(state, "new") for state in decided["state"].tolist())
