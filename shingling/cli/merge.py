"""Pages of an exported store, decided anew against those of another one."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np

from shingling.cli.formats.feeds import Problems
from shingling.errors import SchemeError, StoreError
from shingling.sketch import Signature
from shingling.store import Page, Store, checked
from shingling.store.admin.transfer import take_reviews, widen_seen
from shingling.store.schema.rows import ORIGINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shingling.plugin.settings import DedupSettings
    from shingling.store import Header, Record, Run, Verdict
    from shingling.store.session import Session

_BATCH = 256  # records in one transaction


@contextmanager
def import_run(store: Store, settings: DedupSettings) -> Iterator[Run]:
    """Record an import as a run."""
    run = store.start_run("import", settings.shown())
    try:
        yield run
    except BaseException:
        with suppress(StoreError):  # the first error is the one to tell
            store.finish_run(run, "failed")
        raise
    store.finish_run(run, "finished")


def merge(
    session: Session, settings: DedupSettings, header: Header, records: Iterable[Record]
) -> tuple[Counter[str], Problems]:
    """Decide the pages of an exported store in the order in which it stored them.

    Signatures are taken as they are; under another scheme, pages are signed anew from their
    texts. Done again, it changes nothing.

    Returns:
        Verdicts by their status, and the pages that there is no text of to sign.

    Raises:
        SchemeError: the schemes differ, and the export has no texts.
        RecordError: a record is not what it should be; what came before it stays.
    """
    store = Store(session)
    anew = header.scheme != store.scheme
    if anew:
        _say_anew(store, header)
    store.require(settings.rules)
    counts: Counter[str] = Counter()
    problems = Problems()
    with import_run(store, settings) as run:
        for batch in _batches(checked(records)):
            if batch[0].kind == "review":
                take_reviews(session, batch, settings.rules)
            elif batch[0].kind == "page":
                kept = [record for record in batch if not (anew and _lacks_text(record, problems))]
                pages = [_page(record, None if anew else header.scheme.id) for record in kept]
                verdicts = store.check(pages, rules=settings.rules, run=run)
                widen_seen(session, _seen(kept, verdicts))
                counts.update(verdict.status for verdict in verdicts)
    return counts, problems


def _say_anew(store: Store, header: Header) -> None:
    ids = f"the store has scheme {store.scheme.id}, the file {header.scheme.id}"
    if header.scheme.is_version_of(store.scheme):
        ids += f" (version {header.scheme.version}: exact copies have the same"
        ids += " words)" if header.scheme.version == 1 else " text)"
    if not header.texts:
        raise SchemeError(
            f"{ids} and no texts to sign anew: import it into a new store, or export it with texts"
        )
    store.scheme.canonical.require()
    print(f"{ids}: its pages are signed anew from their texts", file=sys.stderr)


def _lacks_text(record: Record, problems: Problems) -> bool:
    if record.fields.get("text") is not None:
        return False
    problems.add(record.where, "no text to sign anew")
    return True


def _page(record: Record, scheme: str | None) -> Page:
    """Return a page with its signature under a scheme, or to be signed where that is None."""
    fields = record.fields
    signature = None
    if scheme is not None:
        minima = np.frombuffer(fields["minima"], dtype="<u4")
        signature = Signature(
            minima, fields["simhash"], fields["text_hash"], fields["words"], scheme
        )
    return Page(
        url=fields["url"],
        text=fields.get("text"),
        signature=signature,
        **{name: fields.get(name) for name in ORIGINS["extracted"]},
        source=fields.get("source"),
        scope=fields["scope"],
        fetched=fields["first_seen"],
    )


def _seen(records: Iterable[Record], verdicts: Iterable[Verdict]) -> Iterator[tuple[int, int, int]]:
    for record, verdict in zip(records, verdicts, strict=True):
        if verdict.page_id is not None:
            yield verdict.page_id, record.fields["first_seen"], record.fields["last_seen"]


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield records of one kind together, some at a time."""
    batch: list[Record] = []
    for record in records:
        if batch and (len(batch) == _BATCH or batch[0].kind != record.kind):
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch
