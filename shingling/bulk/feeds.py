"""The items of an old crawl, read and decided as a crawl would."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from shingling.admin.importing import PAGES_PER_TRANSACTION, Imported, recorded
from shingling.bulk.options import Options
from shingling.bulk.rows import string_or_none
from shingling.bulk.signing import Signer, in_order
from shingling.errors import ExtractionError, NoStoreError
from shingling.extraction.extractors import find_extractor
from shingling.extraction.pages import Extraction, Fetched, PageExtractor, check_for_thread
from shingling.json_values import number_or_time
from shingling.plugin.items.documents import own_document
from shingling.store.ids import BadRowError, id_of
from shingling.store.model import FIRST_SECOND, LAST_SECOND, Page
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from shingling.bulk.inputs.payloads import RawRow
    from shingling.bulk.signed_rows import SignedPart
    from shingling.bulk.signing import Task
    from shingling.console.progress import Show
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme

_FIELDS_SHOWN = 20  # of an item without a text


def decide_feed(
    url: str,
    settings: DedupSettings,
    tasks: Iterable[Task],
    *,
    ids: tuple[str, ...],
    time_field: str | None,
    spider: str,
    show: Show,
) -> Imported:
    """Decide the pages of an old crawl's items, in their order.

    Args:
        url: of the store; it is created when there is a first page.
        settings: as for `ItemSigner`, like what follows.
        tasks: the parts of the files that the items are in.
        ids: fields by one of which an item without a URL is known.
        time_field: that says when a page was fetched; None if none does.
        spider: that crawled them, if it is the scope of a page; else "".
        show: is told how many pages are done.

    Returns:
        Verdicts; bad are lines without a page.
    """
    imported, rules = Imported(), settings.rules
    show("import", 0, None)
    options = Options(
        scheme=_scheme_of(url, settings),
        extractor=settings.extractor,
        workers=settings.workers,
        max_bytes=settings.max_bytes,
        timeout=settings.timeout,
        worker_memory=settings.worker_memory,
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "worker.row"
        signer = ItemSigner(options, file, settings, ids, time_field, spider)
        with closing(_batches(tasks, signer, imported)) as batches:
            first = next(batches, None)
            if first is None:
                return imported
            with Store.open(url, scheme=options.scheme, rules=rules) as store:
                store.require(rules)
                with recorded(store, "import", settings.for_run()) as run:
                    for pages in chain([first], batches):
                        imported.check(store, pages, rules, run)
                        show("import", imported.counts.total(), None)
    return imported


def _batches(
    tasks: Iterable[Task], signer: ItemSigner, imported: Imported
) -> Generator[list[Page]]:
    """Yield the pages of items in batches, and note the lines without one."""
    before = 0
    for _, part in in_order(tasks, signer):
        for line, problem in part.bad:
            imported.add_problem(f"line {before + line:,}", problem)
        before += part.lines
        for start in range(0, len(part.pages), PAGES_PER_TRANSACTION):
            yield part.pages[start : start + PAGES_PER_TRANSACTION]


def _scheme_of(url: str, settings: DedupSettings) -> Scheme:
    """Scheme of a store, or the one that it is going to be created with."""
    try:
        with Store.open(url, scheme=settings.scheme, create=False) as store:
            return store.scheme
    except NoStoreError:
        return settings.scheme


@dataclass(frozen=True)
class ItemSigner(Signer):
    """Makes pages of items, in worker processes as a crawl does.

    Args:
        settings: how items are read, and pages extracted and decided.
        ids: fields by one of which an item without a URL is known.
        time_field: that says when a page was fetched; None if none does.
        spider: that crawled them, if it is the scope of a page; else "".
    """

    settings: DedupSettings
    ids: tuple[str, ...]
    time_field: str | None
    spider: str

    @cached_property
    def _extractor(self) -> PageExtractor:
        options = self.options
        return PageExtractor(options.scheme, find_extractor(options.extractor), options.max_bytes)

    def sign_row(self, row: RawRow, values: dict[str, Any], part: SignedPart) -> None:  # noqa: ARG002 (as inherited)
        """Read an item as a crawl would, and sign its main text.

        Raises:
            BadRowError: it is no page.
        """
        settings, ids = self.settings, self.ids
        own = own_document(ItemAdapter(values), settings)
        url = own.url or id_of(values, ids)
        if url is None:
            raise BadRowError(f"no {' or '.join((settings.url_field, *ids))}")
        body = own.html if own.text is None else own.text
        if body is None:
            wanted = " nor ".join((*settings.text_fields, *settings.html_fields))
            names = ", ".join([*values][:_FIELDS_SHOWN])
            raise BadRowError(f"neither {wanted}; the fields are: {names}")
        moment = values.get(self.time_field) if self.time_field else None
        seconds = seconds_of(moment)
        if seconds is None and moment not in (None, ""):
            raise BadRowError(f"{self.time_field} is no time in ISO 8601 or seconds since 1970")
        fetched = Fetched(body, is_html=own.text is None, url=url)
        try:
            if not self.options.workers:
                check_for_thread(fetched)
            made = self._extractor.extract(fetched)
        except ExtractionError as error:
            made = Extraction(reason=error.reason)
        page = Page(
            url,
            signature=made.signature,
            title=own.title or made.title,
            language=string_or_none(values.get("language")) or made.language,
            scope=settings.scope_of(url, self.spider),
            fetched=seconds,
            reason=made.reason,
            prepared=made.prepared,
        )
        part.pages.append(page)


def seconds_of(value: Any) -> float | None:
    """Seconds since 1970 of a time in the years 1 to 9999; None of anything else."""
    seconds = None if isinstance(value, bool) else number_or_time(value)
    is_possible = seconds is not None and FIRST_SECOND <= seconds <= LAST_SECOND
    return seconds if is_possible else None
