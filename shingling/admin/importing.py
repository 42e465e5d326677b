"""Pages of an exported store or of an old crawl, decided against those of a store."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from shingling.admin.formats.feeds import FeedExtractor, Problems, batches_of, scope_by
from shingling.admin.records import checked
from shingling.admin.reviews import take_reviews
from shingling.admin.transfer import widen_seen
from shingling.console.output import print_lines
from shingling.errors import NoStoreError, SchemeError, StoreError
from shingling.sketch import Signature
from shingling.store import Page, Store
from shingling.store.kept import kept_rows
from shingling.store.schema.rows import ORIGINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from shingling.admin.formats.feeds import Fields
    from shingling.admin.records import Header, Record
    from shingling.console.progress import Show
    from shingling.extraction.lines import Line
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store import Run, Verdict
    from shingling.store.session import Session

_RECORDS_PER_TRANSACTION = 256


@contextmanager
def _import_run(store: Store, settings: DedupSettings) -> Iterator[Run]:
    """Record an import as a run."""
    run = store.start_run("import", settings.for_run())
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
        _print_schemes(store, header)
    store.require(settings.rules)
    counts: Counter[str] = Counter()
    problems = Problems()
    with _import_run(store, settings) as run:
        for batch in _batches(checked(records)):
            if batch[0].kind == "review":
                take_reviews(session, batch, settings.rules)
            elif batch[0].kind in kept_rows():
                merge_kept = partial(kept_rows()[batch[0].kind].merge, records=_fields(batch))
                session.database.write(merge_kept)
            elif batch[0].kind == "page":
                kept = [record for record in batch if not (anew and _lacks_text(record, problems))]
                pages = [_page(record, None if anew else header.scheme.id) for record in kept]
                verdicts = store.check(pages, rules=settings.rules, run=run)
                widen_seen(session, _seen(kept, verdicts))
                counts.update(verdict.status for verdict in verdicts)
    return counts, problems


def decide_feed(
    url: str,
    settings: DedupSettings,
    fields: Fields,
    lines: Iterable[Line],
    *,
    spider: str | None,
    show: Show,
) -> tuple[Counter[str], Problems]:
    """Decide the pages of an old crawl's items, in their order.

    Args:
        url: of the store; it is created when there is a first page.
        settings: how pages are extracted and decided.
        fields: names of an item's fields.
        lines: the items.
        spider: that crawled them, where it is the scope of a page.
        show: is told how many pages are done.

    Returns:
        Verdicts by their status, and the lines without a page.
    """
    counts: Counter[str] = Counter()
    problems = Problems()
    show("import", 0, None)
    scheme = _scheme_of(url, settings)
    with FeedExtractor(settings, scheme) as extractor:
        scope_of = scope_by(settings, spider)
        batches = batches_of(lines, fields, extractor, scope_of, problems)
        first = next(batches, None)
        if first is None:
            return counts, problems
        with Store.open(url, scheme=scheme, rules=settings.rules) as store:
            store.require(settings.rules)
            with _import_run(store, settings) as run:
                for batch in chain([first], batches):
                    verdicts = store.check(batch, rules=settings.rules, run=run)
                    counts.update(verdict.status for verdict in verdicts)
                    show("import", counts.total(), None)
    return counts, problems


def _scheme_of(url: str, settings: DedupSettings) -> Scheme:
    """Scheme of a store, or the one that it is going to be created with."""
    try:
        with Store.open(url, scheme=settings.scheme, create=False) as store:
            return store.scheme
    except NoStoreError:
        return settings.scheme


def _print_schemes(store: Store, header: Header) -> None:
    ids = f"the store has scheme {store.scheme.id}, the file {header.scheme.id}"
    if not header.texts:
        raise SchemeError(
            f"{ids} and no texts to sign anew: import it into a new store, or export it with texts"
        )
    store.scheme.canonical.require_packs()
    print_lines(f"{ids}: its pages are signed anew from their texts", error=True)


def _lacks_text(record: Record, problems: Problems) -> bool:
    if record.fields.get("text") is not None:
        return False
    problems.add(record.where, "no text to sign anew")
    return True


def _page(record: Record, scheme: str | None) -> Page:
    """Page with its signature under a scheme; it is to be signed where that is None."""
    fields = record.fields
    signature = None
    if scheme is not None:
        minima = np.frombuffer(fields["minima"], dtype="<u4")
        signature = Signature(
            minima, fields["simhash"], fields["text_hash"], fields["words"], scheme
        )
    extracted: dict[str, Any] = {name: fields.get(name) for name in ORIGINS["extracted"]}
    return Page(
        url=fields["url"],
        text=fields.get("text"),
        signature=signature,
        **extracted,
        source=fields.get("source"),
        scope=fields["scope"],
        fetched=fields["first_seen"],
    )


def _fields(records: Iterable[Record]) -> list[Mapping[str, Any]]:
    return [record.fields for record in records]


def _seen(records: Iterable[Record], verdicts: Iterable[Verdict]) -> Iterator[tuple[int, int, int]]:
    for record, verdict in zip(records, verdicts, strict=True):
        if verdict.page_id is not None:
            yield verdict.page_id, record.fields["first_seen"], record.fields["last_seen"]


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Batches of records of one kind."""
    batch: list[Record] = []
    for record in records:
        if batch and (len(batch) == _RECORDS_PER_TRANSACTION or batch[0].kind != record.kind):
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch
