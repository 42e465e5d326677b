"""Pages of an exported store or of an old crawl, decided against those of a store."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice, starmap
from typing import TYPE_CHECKING, Any

import numpy as np
from itemadapter import ItemAdapter
from sqlalchemy import text

from shingling.admin.records import batches, checked
from shingling.admin.reviews import take_reviews
from shingling.console.output import print_lines
from shingling.errors import ExtractionError, NoStoreError, SchemeError, StoreError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Extraction, Fetched, PageExtractor
from shingling.extraction.pool import ExtractionPool
from shingling.json_values import number_or_time
from shingling.plugin.items.documents import own_document
from shingling.rules.own_fields import OwnFields
from shingling.sketch import Signature
from shingling.store.ids import BadRowError, id_of
from shingling.store.model import FIRST_SECOND, LAST_SECOND, Page
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator

    from shingling.admin.records import Header, Record
    from shingling.console.progress import Show
    from shingling.files.lines import Line
    from shingling.plugin.settings import DedupSettings
    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme
    from shingling.store.model import Verdict
    from shingling.store.runs import Run
    from shingling.store.session import Session

_PAGES_PER_TRANSACTION = 256
_PROBLEMS_KEPT = 5
_FIELDS_SHOWN = 20  # of an item without a text
_KNOWN = text(
    "UPDATE pages SET first_seen = CASE WHEN first_seen > :time THEN :time ELSE first_seen END,"
    " came_out = CASE WHEN came_out = :run AND :waits THEN NULL ELSE came_out END"
    " WHERE id = :page_id"
)


@dataclass
class Imported:
    """What became of the lines of a file.

    Args:
        counts: pages by their verdict.
        kept: pages that are near or exact, and kept for what they say.
        bad: number of lines that no page could be made of.
        problems: places of the first of them in the file, and what is wrong with them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)

    def add_problem(self, where: str, problem: str) -> None:
        """Count a line that no page could be made of."""
        self.bad += 1
        if len(self.problems) < _PROBLEMS_KEPT:
            self.problems.append((where, problem))

    def add_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Count pages."""
        self.counts.update(verdict.status for verdict in verdicts)


@contextmanager
def _recorded(
    store: Store, imported: Imported, spider: str, settings: dict[str, Any]
) -> Iterator[Run]:
    """Record an import as a run."""
    run = store.start_run(spider, settings)
    try:
        yield run
    except BaseException:
        with suppress(StoreError):  # the first error is the one to tell
            store.finish_run(run, "failed")
        raise
    store.finish_run(run, "finished")
    imported.kept = run.counts["kept_copies"]


def decide_export(
    session: Session,
    rules: Rules,
    header: Header,
    records: Iterable[Record],
    run_of: tuple[str, dict[str, Any]],
) -> Imported:
    """Decide the pages of an exported store as a crawl would, in their order.

    Signatures are taken as they are; under another scheme, pages are signed anew from their
    texts. Reviews are taken in before, so that they hold. Of all else the store keeps its own.
    Done again, it changes nothing.

    Args:
        session: of the store.
        rules: that pages are decided by.
        header: what the first record says.
        records: those behind it.
        run_of: name and settings of the run that this is recorded as.

    Returns:
        Verdicts; bad are pages that there is no text of to sign.

    Raises:
        SchemeError: the schemes differ, and the export has no texts.
        RecordError: a record is not what it should be; what came before it stays.
    """
    store = Store(session)
    scheme = header.scheme.id if header.scheme == store.scheme else None
    if scheme is None:
        _print_schemes(store, header)
    store.require(rules)
    imported, unended = Imported(), {None}
    with _recorded(store, imported, *run_of) as run:
        for batch in batches(checked(records), _PAGES_PER_TRANSACTION):
            if batch[0].kind == "run":
                unended.update(one.fields["id"] for one in batch if one.fields["outcome"] is None)
            elif batch[0].kind == "review":
                take_reviews(session, batch, rules)
            elif batch[0].kind == "page":
                kept = [record for record in batch if scheme or _has_text(record, imported)]
                verdicts = store.check(
                    [_page(record, scheme) for record in kept], rules=rules, run=run
                )
                _keep_what_was_known(session, kept, verdicts, run, unended)
                imported.add_verdicts(verdicts)
    return imported


def _keep_what_was_known(
    session: Session,
    kept: list[Record],
    verdicts: list[Verdict],
    run: Run,
    unended: Collection[int | None],
) -> None:
    """Note when pages were first seen, and whose items have not come out.

    They were decided as those that were seen last.
    """
    known = [
        {
            "page_id": verdict.page_id,
            "time": record.fields["first_seen"],
            "run": run.id,
            "waits": record.fields.get("came_out") in unended,
        }
        for record, verdict in zip(kept, verdicts, strict=True)
        if verdict.page_id is not None
    ]
    if known:
        session.database.write(lambda connection: connection.execute(_KNOWN, known), alone=True)


def decide_feed(
    url: str,
    settings: DedupSettings,
    lines: Iterable[Line],
    *,
    ids: tuple[str, ...],
    time_field: str | None,
    spider: str | None,
    show: Show,
) -> Imported:
    """Decide the pages of an old crawl's items, in their order.

    Args:
        url: of the store; it is created when there is a first page.
        settings: how items are read, and pages extracted and decided.
        lines: the items.
        ids: fields by one of which an item without a URL is known.
        time_field: that says when a page was fetched; None if none does.
        spider: that crawled them, if it is the scope of a page.
        show: is told how many pages are done.

    Returns:
        Verdicts; bad are lines without a page.
    """
    imported = Imported()
    show("import", 0, None)
    scheme = _scheme_of(url, settings)
    extractor = PageExtractor(
        scheme,
        find_extractor(settings.extractor),
        settings.max_bytes,
        worker_memory=settings.worker_memory,
    )
    read = partial(_item, settings=settings, ids=ids, time_field=time_field, spider=spider or "")
    items = _items(lines, read, imported)
    with closing(_feed_batches(items, extractor, settings)) as batches_of_pages:
        first = next(batches_of_pages, None)
        if first is None:
            return imported
        with Store.open(url, scheme=scheme, rules=settings.rules) as store:
            store.require(settings.rules)
            with _recorded(store, imported, "import", settings.for_run()) as run:
                for batch in chain([first], batches_of_pages):
                    imported.add_verdicts(store.check(batch, rules=settings.rules, run=run))
                    show("import", imported.counts.total(), None)
    return imported


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


def _has_text(record: Record, imported: Imported) -> bool:
    if record.fields.get("text") is not None:
        return True
    imported.add_problem(record.where, "no text to sign anew")
    return False


def _page(record: Record, scheme: str | None) -> Page:
    """Page with its signature under a scheme; it is to be signed if that is None."""
    fields = record.fields
    signature = None
    if scheme is not None:
        minima = np.frombuffer(fields["minima"], dtype="<u4")
        signature = Signature(
            minima, fields["simhash"], fields["text_hash"], fields["words"], scheme
        )
    own = fields.get("fields")
    return Page(
        url=fields["url"],
        text=fields.get("text"),
        signature=signature,
        title=fields.get("title"),
        language=fields.get("language"),
        source=fields.get("source"),
        scope=fields["scope"],
        fetched=fields["last_seen"],
        fields=None if own is None else OwnFields.unpacked(own),
    )


def _feed_batches(
    items: Iterator[tuple[Page, Fetched]], extractor: PageExtractor, settings: DedupSettings
) -> Generator[list[Page]]:
    """Yield the pages of items in batches: HTML is extracted in worker processes, as in a crawl."""
    # The whole batch is waited for: a slow page need not let others go first.
    pool = ExtractionPool(extractor, settings.workers, settings.timeout, slow_seconds=math.inf)
    with closing(pool), asyncio.Runner() as runner:
        while batch := list(islice(items, _PAGES_PER_TRANSACTION)):
            yield runner.run(_extract(pool, batch))


async def _extract(pool: ExtractionPool, items: list[tuple[Page, Fetched]]) -> list[Page]:
    """Extract and sign the main text of each page; those without one have a reason."""

    async def extract(page: Page, fetched: Fetched) -> Page:
        try:
            extraction = (
                await pool.extract(fetched) if fetched.is_html else pool.extractor.extract(fetched)
            )
        except ExtractionError as error:
            extraction = Extraction(reason=error.reason)
        return replace(
            page,
            text=extraction.text,
            signature=extraction.signature,
            title=page.title or extraction.title,
            language=page.language or extraction.language,
            reason=extraction.reason,
        )

    return await asyncio.gather(*starmap(extract, items))


def _items(
    lines: Iterable[Line],
    read: Callable[[dict[str, Any]], tuple[Page, Fetched]],
    imported: Imported,
) -> Iterator[tuple[Page, Fetched]]:
    """Yield the pages of items, each with what its text is to be extracted from."""
    for line in lines:
        try:
            if line.problem:
                raise BadRowError(line.problem)
            yield read(line.values)
        except BadRowError as error:
            imported.add_problem(f"line {line.number:,}", str(error))


def _item(
    values: dict[str, Any],
    settings: DedupSettings,
    ids: tuple[str, ...],
    time_field: str | None,
    spider: str,
) -> tuple[Page, Fetched]:
    """Read an item as a crawl would, and what its text is to be extracted from."""
    own = own_document(ItemAdapter(values), settings)
    url = own.url or id_of(values, ids)
    if url is None:
        raise BadRowError(f"no {' or '.join((settings.url_field, *ids))}")
    body = own.html if own.text is None else own.text
    if body is None:
        wanted = " nor ".join((*settings.text_fields, *settings.html_fields))
        names = ", ".join([*values][:_FIELDS_SHOWN])
        raise BadRowError(f"neither {wanted}; the fields are: {names}")
    seconds = None
    if time_field and (moment := values.get(time_field)) not in (None, ""):
        seconds = _seconds(moment)
        if seconds is None:
            raise BadRowError(f"{time_field} is no time in ISO 8601 or seconds since 1970")
    page = Page(
        url,
        title=own.title,
        language=string_or_none(values.get("language")),
        scope=settings.scope_of(url, spider),
        fetched=seconds,
    )
    return page, Fetched(body, is_html=own.text is None, url=url)


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of a time in the years 1 to 9999; None of anything else."""
    seconds = None if isinstance(value, bool) else number_or_time(value)
    is_possible = seconds is not None and FIRST_SECOND <= seconds <= LAST_SECOND
    return seconds if is_possible else None


def string_or_none(value: Any) -> str | None:
    """Take a string that is not empty; None instead of anything else."""
    return value if isinstance(value, str) and value else None
