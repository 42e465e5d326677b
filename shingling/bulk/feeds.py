"""The items of an old crawl, decided by a store as a crawl would decide them."""

from __future__ import annotations

import tempfile
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from shingling.admin.importing import PAGES_PER_TRANSACTION, Imported, recorded
from shingling.bulk.items import ItemSigner
from shingling.bulk.options import Options
from shingling.bulk.signing import in_order
from shingling.errors import NoStoreError
from shingling.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from shingling.bulk.items import Feed
    from shingling.bulk.signing import Task
    from shingling.console.progress import Show
    from shingling.plugin.settings import DedupSettings
    from shingling.sketch import Scheme
    from shingling.store.model import Page


def decide_feed(url: str, feed: Feed, tasks: Iterable[Task], show: Show) -> Imported:
    """Decide the pages of items, in their order.

    Args:
        url: of the store; it is created when there is a first page.
        feed: how items become pages.
        tasks: the parts of the files that the items are in.
        show: is told how many pages are done.

    Returns:
        Verdicts; bad are lines without a page.
    """
    imported, settings = Imported(), feed.settings
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
        signer = ItemSigner(options, Path(folder) / "worker.row", feed)
        with closing(_batches(tasks, signer, imported)) as batches:
            first = next(batches, None)
            if first is None:
                return imported
            with Store.open(url, scheme=options.scheme, rules=settings.rules) as store:
                store.require(settings.rules)
                with recorded(store, "import", settings.for_run()) as run:
                    for pages in chain([first], batches):
                        imported.check(store, pages, settings.rules, run)
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
