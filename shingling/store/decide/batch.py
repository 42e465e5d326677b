"""A batch of pages: what is read for them, and what will be written."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from shingling.rules.own_fields import OwnFields
from shingling.rules.reasons import Reason
from shingling.store.decide.page_cache import PageCache
from shingling.store.decide.reviews import Reviews
from shingling.store.decide.texts import Texts
from shingling.store.index import Lookup
from shingling.store.model import fetched_at
from shingling.store.schema.rows import Keyed, Row, extracted, url_key
from shingling.store.schema.tables import LIVE
from shingling.store.templates import Templates
from shingling.store.urls import server_of, site_of
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Signature
    from shingling.store.model import Page
    from shingling.store.runs import Run
    from shingling.store.schema.tables import Tables
    from shingling.store.session import Session
    from shingling.text import PreparedText


class Batch:
    """What one write transaction reads of a store, and changes; `write_batch` writes it.

    Args:
        session: of the store.
        connection: of the transaction.
        rules: how pages are decided.
        tables: that the pages are read from and written to.
        rules_id: number that the store keeps the rules under; None if no page is met.
        run: that meets the pages; None if they are not crawled or imported.

    Attributes:
        lookup: finds the originals.
        templates: of the sites, which learn from the pages; None if no texts are kept.
        pages: rows that were read or made.
        texts: of the pages.
        reviews: of the pages.
        changed: rows to be written, by id.
        decided: rows whose place was decided, by id.
        undecided: ids of pages that wait to be decided, or leave the store: none follows them.
    """

    def __init__(
        self,
        session: Session,
        connection: Connection,
        rules: Rules,
        tables: Tables = LIVE,
        *,
        rules_id: int | None = None,
        run: Run | None = None,
    ) -> None:
        database, index = session.database, session.index
        if rules.containment is not None and not index.sampled:  # not even within the batch
            rules = replace(rules, containment=None)
        self.database, self.connection, self.tables = database, connection, tables
        self.scheme, self.rules, self.rules_id, self.run = session.scheme, rules, rules_id, run
        self.lookup = Lookup(index, rules, tables, partial(database.postings, connection))
        self.templates = Templates(connection, session.site_cache) if rules.store_text else None
        self.texts = Texts(connection, self.scheme, self.templates, rules.templates)
        fewest = self.scheme.min_comparable_words
        self.pages = PageCache(database, connection, tables.pages, fewest)
        others_write = tables is LIVE and not database.alone
        self.reviews = Reviews(connection, self.pages, others_write=others_write)
        self.changed: dict[int, Row] = {}
        self.decided: dict[int, Row] = {}
        self.undecided: set[int] = set()
        self._new_ids: list[int] = []  # in falling order

    def read_for(self, batch: Sequence[tuple[Page, Signature]]) -> None:
        """Read all rows that pages, given with their signatures, can meet."""
        urls = [(page.scope, url_key(page.url)) for page, _ in batch]
        keys = {key for _, key in urls}
        self.pages.load_urls(keys)
        self.reviews.read_of_urls(keys)
        # What has not changed meets nobody; a URL that comes twice may change in between.
        times = Counter(urls)
        moving = [
            (page, signature)
            for url, (page, signature) in zip(urls, batch, strict=True)
            if times[url] > 1 or self._may_be_decided(self.pages.of_page(page), signature)
        ]
        self._read_alike(moving, [(page.scope, page.main_text) for page, _ in moving])
        unknown = {url for url in urls if self.pages.of_url(*url) is None}
        if unknown:  # last: pages that others have stored and this batch has read are older
            self._new_ids = self.database.allocate(self.connection, len(unknown))[::-1]

    def _may_be_decided(self, row: Row | None, signature: Signature) -> bool:
        """Whether a page may be decided by what it meets: it is new, or does not stand as it did.

        What was of its own may be template by now.
        """
        if row is None or row.text_hash != signature.text_hash:
            return True
        return row.rules_id != self.rules_id or row.reason == Reason.OWN_TEXT

    def read_again_for(self, rows: Sequence[Row]) -> None:
        """Read all rows that stored pages, which are in no group, can meet."""
        self.reviews.read_of_urls({row.url_key for row in rows})
        is_sampled = self.rules.containment is not None
        if is_sampled or (self.rules.templates and self.templates is not None):
            self.texts.load([row.id for row in rows])
        texts = [(row.scope, self.texts.of(row)) for row in rows] if is_sampled else []
        self._read_alike([(row, row) for row in rows], texts)

    def _read_alike(
        self,
        signed: Sequence[tuple[Page | Row, Signature | Row]],
        texts: Sequence[tuple[str, PreparedText | None]],
    ) -> None:
        """Read the rows that have the texts of pages, or may be like them.

        Args:
            signed: the pages, with their signatures.
            texts: their scopes and texts, which are needed if pieces are looked for.
        """
        # Less than one shingle says nothing of a page; nor does a short text without a title,
        # unless only the same text counts.
        fewest, min_words = self.scheme.min_comparable_words, self.rules.min_words
        if not self.rules.finds_near:
            fewest = min_words = 0
        long_enough = [(page, signature) for page, signature in signed if signature.words >= fewest]
        same = {
            (signature.text_hash, page.scope)
            for page, signature in long_enough
            if signature.words >= min_words or title_key(page.title or "")
        }
        self.pages.load_texts(same)
        ids: set[int] = set()
        if long_enough and self.rules.finds_near:
            keyed = [
                Keyed(page.scope, signature.minima, signature.simhash)
                for page, signature in long_enough
            ]
            ids = self.lookup.fetch(keyed)
            if self.rules.containment is not None:
                ids |= self.lookup.fetch_pieces([self.texts.sample(*text) for text in texts])
        self.pages.load(ids)
        self.pages.load_referred()
        if self.templates is not None:
            sites = {server_of(site_of(page.url), page.url) for page, _ in signed}
            self.templates.read_sites(sites | {row.server for row in self.pages.rows.values()})

    def insert(self, page: Page, signature: Signature) -> Row:
        """Make a row of a page that has none."""
        run = None if self.run is None else self.run.id
        row = Row.of(page, signature, self._new_ids.pop(), run)
        self.pages.add(row)
        self._keep_text(row, page)
        return row

    def see_again(self, row: Row, page: Page, *, is_unchanged: bool) -> int | None:
        """Note that the page of a row was met again: the run that had met it before."""
        last_run = row.last_run_id
        row.last_seen = max(row.last_seen, fetched_at(page))
        row.last_run_id = last_run if self.run is None else self.run.id
        row.source = page.source
        self.note_changed([row])
        if isinstance(page.fields, OwnFields):
            row.fields = page.fields.packed
        is_kept = is_unchanged and self.rules.store_text and page.main_text is not None
        if is_kept and self.lookup.index.sampled:  # samples are of texts that were kept before
            is_kept = self.texts.of(row) is not None
        if is_kept and page.body_key and extracted(page) == extracted(row):
            self._keep_text(row, page)  # the body may be another one
        return last_run

    def change(self, row: Row, page: Page, signature: Signature) -> Row:
        """Give a row the text that its page has now: a copy of the row as it was."""
        former = replace(row, id=-row.id)
        row.take("extracted", page)
        row.take("signature", signature)
        self.pages.add(row)
        self._keep_text(row, page, former)
        return former

    def _keep_text(self, row: Row, page: Page, former: Row | None = None) -> None:
        kept = page.main_text if self.rules.store_text else None
        self.texts.put(row, kept, page.body_key, former)

    def sample(self, row: Row) -> list[int]:
        """Keys by which pieces of the row are found; none of a short text."""
        if not self.lookup.index.sampled or row.status == "skipped":
            return []
        return self.texts.sample(row.scope, self.texts.of(row))

    def note_changed(self, rows: Iterable[Row]) -> None:
        """Note rows that are to be written."""
        self.changed.update((row.id, row) for row in rows)
