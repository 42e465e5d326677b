"""The rows of a collection, put into a store for later crawls: an optional last step."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from shingling.bulk.deciding import REPEATED_ID
from shingling.sketch import Signature
from shingling.store import Page
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shingling.arrays import Records
    from shingling.bulk.options import Options
    from shingling.bulk.signed_rows import SignedRows
    from shingling.store import Store

_ROWS_PER_TRANSACTION = 256


def put_into_store(
    store: Store,
    signed: SignedRows,
    decided: Records,
    options: Options,
    report: Callable[[int], None],
) -> Counter[str]:
    """Check every row against a store, in order; rows that are stored already change nothing.

    Args:
        store: with the scheme that the rows are signed with.
        signed: the rows.
        decided: the decisions on them.
        options: what decides.
        report: called with the number of rows that are done.

    Returns:
        Number of verdicts by status; if the store was empty, they are those of the run.

    Raises:
        StoreError: the store cannot be written.
    """
    counts: Counter[str] = Counter()
    run = store.start_run("bulk", options.as_dict())
    outcome = "failed"
    try:
        for start, stop in signed.blocks():
            pages = _pages(start, stop, signed, decided, options)
            while batch := [*islice(pages, _ROWS_PER_TRANSACTION)]:
                verdicts = store.check(batch, rules=options.rules, run=run)
                counts.update(verdict.status for verdict in verdicts)
            report(stop)
        outcome = "finished"
    finally:
        store.finish_run(run, outcome)
    return counts


def _pages(
    start: int, stop: int, signed: SignedRows, decided: Records, options: Options
) -> Iterator[Page]:
    """Yield the good rows from `start` to before `stop` as pages with their signatures."""
    is_good = decided[start:stop]["state"] != REPEATED_ID
    records = signed.records(start, stop)[is_good]
    all_minima = signed.minima(start, stop)[is_good]
    for name, record, minima, line in zip(
        signed.ids(records), records, all_minima, signed.lines(records), strict=True
    ):
        values = json.loads(line)
        signature = Signature(
            minima,
            int(record["simhash"]),
            record["text"].tobytes(),
            int(record["words"]),
            options.scheme.id,
        )
        yield Page(
            url=name,
            text=clean(values[options.fields.text]),
            signature=signature,
            title=_string(values.get("title")),
            language=_string(values.get("language")),
        )


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
