"""The rows of a collection, put into a store, where later crawls find them."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.bulk.greedy import LEFT_OUT
from shingling.sketch import Signature
from shingling.store import Page
from shingling.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shingling.bulk.chunks import Signed
    from shingling.bulk.greedy import Greedy
    from shingling.bulk.options import Options
    from shingling.store import Store

_BATCH = 256  # rows in one transaction


def put_into_store(
    store: Store,
    signed: Signed,
    greedy: Greedy,
    options: Options,
    note: Callable[[int], None],
) -> Counter[str]:
    """Check every row against a store, in their order; done again, it changes nothing.

    Args:
        store: of the same scheme.
        signed: the rows.
        greedy: their decisions.
        options: what decides.
        note: is told how many rows are done.

    Returns:
        Verdicts by their status: of an empty store, those of the run itself.

    Raises:
        StoreError: it cannot be written.
    """
    counts: Counter[str] = Counter()
    run = store.start_run("bulk", options.shown())
    outcome = "failed"
    try:
        for number, start, stop in signed.chunks():
            pages = _pages(number, start, signed, greedy, options)
            while batch := [*islice(pages, _BATCH)]:
                verdicts = store.check(batch, rules=options.rules, run=run)
                counts.update(verdict.status for verdict in verdicts)
            note(stop)
        outcome = "finished"
    finally:
        store.finish_run(run, outcome)
    return counts


def _pages(
    number: int, start: int, signed: Signed, greedy: Greedy, options: Options
) -> Iterator[Page]:
    """Yield the rows of a chunk as pages, with their signatures."""
    records, minima = signed.load(number, "rows"), signed.load(number, "minima")
    states = greedy.decided(start, start + len(records))["state"]
    names = signed.ids(np.arange(start, start + len(records)))
    lines = signed.lines(number, np.arange(len(records)))
    for place, (name, line) in enumerate(zip(names, lines, strict=True)):
        if states[place] == LEFT_OUT:
            continue
        record = records[place]
        values = json.loads(line)
        signature = Signature(
            minima[place],
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
