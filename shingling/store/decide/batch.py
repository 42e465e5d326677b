"""A batch of pages: the rows that they can meet, read at once and changed in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from sqlalchemy import bindparam, exists, or_, select

from shingling.rules.methods import METHODS
from shingling.rules.own_fields import OwnFields
from shingling.store.backends.base import MustBeAloneError
from shingling.store.decide.site_fields import SiteFields
from shingling.store.decide.texts import Texts
from shingling.store.index.lookup import Lookup
from shingling.store.model import fetched_at
from shingling.store.schema.rows import COLUMNS, GONE, Row, extracted, row_from, row_of, url_key
from shingling.store.schema.statements import among, chunked, select_in
from shingling.store.schema.tables import LIVE, reviews
from shingling.store.templates import Templates
from shingling.store.urls import site_of
from shingling.text import PreparedText, title_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sqlalchemy import Connection, RowMapping

    from shingling.rules.rules import Rules
    from shingling.sketch import Scheme, Signature
    from shingling.store.backends.base import Database, TextHash
    from shingling.store.index.keys import Index
    from shingling.store.model import Page
    from shingling.store.runs import Run
    from shingling.store.schema.tables import Tables
    from shingling.store.session import Session
    from shingling.store.templates import SiteCache

_MAX_SAME_TEXT = 64  # pages of one text that are looked at, the oldest of them

_ID, _SCOPE = COLUMNS.index("id"), COLUMNS.index("scope")

REVIEWS = select(reviews.c.a_key, reviews.c.b_key, reviews.c.same).where(
    or_(among(reviews.c.a_key), among(reviews.c.b_key))
)
ANY_REVIEW = select(exists(select(reviews.c.a_key)))


class Queries:
    """What each batch asks the database; building it anew costs as much as running it."""

    def __init__(self, tables: Tables) -> None:
        pages = tables.pages
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        self.by_id = f"SELECT {columns} FROM {pages} WHERE id {{}}"  # noqa: S608 (our names)
        self.by_url = f"SELECT {columns} FROM {pages} WHERE url_key {{}}"  # noqa: S608
        self.members = select(pages).where(pages.c.original_id == bindparam("original"))
        self.newest = self.members.order_by(pages.c.id.desc()).limit(bindparam("limit"))


queries_of = cache(Queries)


class Arrival(NamedTuple):
    """A page that was entered into a batch.

    Args:
        row: of its URL.
        is_unchanged: whether it was stored with the same text.
        former: the row as it was before the text changed.
        last_run: that had met the page before.
    """

    row: Row
    is_unchanged: bool = False
    former: Row | None = None
    last_run: int | None = None


class Met(NamedTuple):
    """What a page, which is in no group, meets in the store.

    Args:
        reviewed: originals that a review puts it with, oldest first.
        excluded: ids of originals whose groups hold a page that is different by a review.
        same_text: pages with the same text, each with its original, oldest first.
        candidates: originals that may be like it, oldest first.
    """

    reviewed: Sequence[Row]
    excluded: Collection[int]
    same_text: Sequence[tuple[Row, Row]]
    candidates: Sequence[Row]


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: as measured: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original, or the page that it was compared with.
        compared_with: the page that decided, if that is not the original.
        fields: keys of the fields in which its item says something else.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: str
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    compared_with: Row | None = None
    fields: Sequence[bytes] = ()
    reason: str | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None


@dataclass
class Batch:
    """Rows read for a batch of pages, changed in memory, and written at once by `write_batch`.

    It must live within one write transaction: nobody else changes what it reads meanwhile.

    Args:
        database, connection: of the transaction.
        scheme: of the signatures.
        rules: how pages are decided.
        tables: that the pages are read from and written to.
        lookup: finds the originals.
        templates: of the sites, which learn from the pages; None where no texts are kept.
        texts: of the pages.
        site_fields: which own fields of items tell the pages of a site apart.
        rules_id: number that the store keeps the rules under; None where no page is met.
        run: that meets the pages; None where they are not crawled or imported.
        touched: rows to be written, by id.
        decided: rows of pages that were met, and decided.
        placed: ids of pages whose place in the groups was decided.
    """

    database: Database
    connection: Connection
    scheme: Scheme
    rules: Rules
    tables: Tables
    lookup: Lookup
    templates: Templates | None
    texts: Texts
    site_fields: SiteFields
    rules_id: int | None = None
    run: Run | None = None
    touched: dict[int, Row] = field(default_factory=dict)
    decided: dict[int, Row] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)
    _compared: set[int] = field(default_factory=set)  # with others, that decided
    _rows: dict[int, Row] = field(default_factory=dict)
    _by_url: dict[tuple[str, bytes], int] = field(default_factory=dict)
    _by_text: dict[bytes, set[int]] = field(default_factory=dict)
    _by_original: dict[int, set[int]] = field(default_factory=dict)
    _whole_urls: set[bytes] = field(default_factory=set)  # keys all of whose pages are here
    _whole_groups: set[int] = field(default_factory=set)  # originals all of whose members are here
    _new_ids: list[int] = field(default_factory=list)  # in falling order
    _any_review: bool | None = None
    _reviews: dict[bytes, dict[bytes, bool]] = field(default_factory=dict)  # of pairs of URLs

    @classmethod
    def of(
        cls,
        session: Session,
        connection: Connection,
        rules: Rules,
        *,
        rules_id: int | None = None,
        run: Run | None = None,
    ) -> Self:
        """Begin a batch within a transaction of an open store."""
        database, scheme, index = session.database, session.scheme, session.index
        cache = session.site_cache
        return cls.open(
            database, connection, scheme, rules, index, cache, rules_id=rules_id, run=run
        )

    @classmethod
    def open(
        cls,
        database: Database,
        connection: Connection,
        scheme: Scheme,
        rules: Rules,
        index: Index,
        site_cache: SiteCache,
        tables: Tables = LIVE,
        *,
        rules_id: int | None = None,
        run: Run | None = None,
    ) -> Self:
        """Begin a batch on some tables of a store."""
        if rules.containment is not None and not index.sampled:  # not even within the batch
            rules = replace(rules, containment=None)
        templates = Templates(connection, site_cache) if rules.store_text else None
        return cls(
            database,
            connection,
            scheme,
            rules,
            tables,
            Lookup(index, rules, tables, partial(database.postings, connection)),
            templates,
            Texts(connection, scheme, templates if rules.templates else None),
            SiteFields(connection, None if rules.fields == "auto" else rules.fields),
            rules_id,
            run,
        )

    def read_for(self, batch: Sequence[tuple[Page, Signature]]) -> None:
        """Read all rows that pages, given with their signatures, can meet."""
        urls = [(page.scope, url_key(page.url)) for page, _ in batch]
        keys = {key for _, key in urls}
        self._read(self._ask.by_url, keys)
        self._read_reviews(keys)
        # What has not changed meets nobody; a URL that comes twice may change in between.
        times = Counter(urls)
        moving = [
            (page, signature)
            for url, (page, signature) in zip(urls, batch, strict=True)
            if times[url] > 1 or self._is_to_be_decided(url, signature)
        ]
        self.site_fields.read(site_of(page.url) for page, _ in batch if page.fields is not None)
        if self.templates is not None:
            self.templates.arriving = [page for page, _ in moving]
        self._read_alike(
            [signature for _, signature in moving],
            [page.title for page, _ in moving],
            {page.scope for page, _ in moving},
            [(page.scope, text) for page, _ in moving if (text := page.main_text) is not None],
        )
        unknown = {*urls} - self._by_url.keys()
        if unknown:  # last: pages that others have stored and this batch has read are older
            self._new_ids = self.database.allocate(self.connection, len(unknown))[::-1]

    def _is_to_be_decided(self, url: tuple[str, bytes], signature: Signature) -> bool:
        row = self._rows.get(self._by_url.get(url, -1))
        if row is None or row.text_hash != signature.text_hash:
            return True
        return row.rules_id != self.rules_id

    def read_again_for(self, rows: Sequence[Row]) -> None:
        """Read all rows that stored pages, which are in no group, can meet."""
        self._read_reviews({row.url_key for row in rows})
        pieces: list[tuple[str, PreparedText]] = []
        if self.rules.containment is not None or self.texts.templates is not None:
            self.texts.load([row.id for row in rows])
        if self.rules.containment is not None:
            texts = [(row.scope, self.texts.of(row)) for row in rows]
            pieces = [(scope, text) for scope, text in texts if text is not None]
        self._read_alike(rows, [row.title for row in rows], {row.scope for row in rows}, pieces)

    def _read_alike(
        self,
        signed: Sequence[Signature | Row],
        titles: Sequence[str | None],
        scopes: Collection[str],
        pieces: Sequence[tuple[str, PreparedText]],
    ) -> None:
        """Read what may be like texts, given by signatures and titles; pieces with their scopes."""
        # Less than one shingle says nothing of a page; nor does a short text without a title.
        long_enough = [one for one in signed if one.words >= self.scheme.min_comparable_words]
        hashes = (
            one.text_hash
            for one, title in zip(signed, titles, strict=True)
            if one.words >= self.scheme.min_comparable_words
            and (one.words >= self.rules.min_words or title_key(title or ""))
        )
        for part in chunked(hashes):
            found_rows = self.database.same_texts(
                self.connection, self.tables.pages, part, sorted(scopes), _MAX_SAME_TEXT
            )
            self._take_in(found_rows)
        found: set[int] = set()
        if long_enough and self._finds_near:
            found = self.lookup.fetch(long_enough)
            if self.rules.containment is not None:
                samples = [self.texts.sample(scope, text) for scope, text in pieces]
                found |= self.lookup.fetch_pieces(samples)
        self._read(self._ask.by_id, {one for one in found if one not in self._rows}, scopes)
        self._load_originals()

    @property
    def _finds_near(self) -> bool:
        return METHODS[self.rules.method].keys is not None

    @property
    def _ask(self) -> Queries:
        return queries_of(self.tables)

    def load(self, ids: Iterable[int]) -> None:
        """Read rows by their ids; rows that are here already stay as they are."""
        self._read(self._ask.by_id, {one for one in ids if one not in self._rows})

    def load_url(self, url: str) -> list[Row]:
        """Read the rows of a URL, one a scope."""
        key, fewest = url_key(url), self.scheme.min_comparable_words
        found = sorted(select_in(self.connection, self._ask.by_url, [key]), key=itemgetter(_SCOPE))
        for read in found:
            if read[_ID] not in self._rows:
                self.admit(row_of(read, fewest))
        self._read_reviews({key})
        return [self._rows[read[_ID]] for read in found]

    def _load_originals(self) -> None:
        self.load(self._by_original.keys() | self._compared)

    def _read(
        self, query: str, values: Iterable[Any], scopes: Collection[str] | None = None
    ) -> None:
        """Take in rows by many values of a column; only those of some scopes, where given."""
        fewest = self.scheme.min_comparable_words
        for read in select_in(self.connection, query, values):
            if read[_ID] not in self._rows and (scopes is None or read[_SCOPE] in scopes):
                self.admit(row_of(read, fewest))

    def _take_in(self, found: Iterable[RowMapping]) -> None:
        for mapping in found:
            if mapping["id"] not in self._rows:
                self.admit(row_from(mapping, self.scheme.min_comparable_words))

    def admit(self, row: Row) -> None:
        """Hold a row, to be found by its URL, its text and its original."""
        if row.damaged:
            self.database.damage.note(row.id, row.url, "signature")
        self._rows[row.id] = row
        self._by_url[row.scope, row.url_key] = row.id
        self._by_text.setdefault(row.text_hash, set()).add(row.id)
        if row.original_id is not None:
            self._by_original.setdefault(row.original_id, set()).add(row.id)
        if row.compared_id is not None:
            self._compared.add(row.compared_id)
        if self.templates is not None:
            self.templates.expected.add(row.site)

    def _read_reviews(self, keys: Collection[bytes]) -> None:
        """Read the reviews of URLs, and the pages that they compare them with.

        Raises:
            MustBeAloneError: there are some, and others may store a page that they name.
        """
        if self._any_review is None:
            self._any_review = bool(self.connection.scalar(ANY_REVIEW))
        if not self._any_review:
            return
        for part in chunked(key for key in keys if key not in self._reviews):
            self._reviews.update((key, {}) for key in part if key not in self._reviews)
            for a, b, same in self.connection.execute(REVIEWS, {"values": part}):
                for key, other in ((a, b), (b, a)):
                    if key in self._reviews and type(other) is bytes:
                        self._reviews[key][other] = same
        others = {other for key in keys for other in self._reviews[key]}
        if others and self.tables is LIVE and not self.database.alone:
            raise MustBeAloneError
        self._read(self._ask.by_url, others - self._whole_urls)
        self._whole_urls |= others
        self._load_originals()

    @property
    def held(self) -> Mapping[int, Row]:
        """Rows that were read or made so far, by id."""
        return self._rows

    def texts_of(self, rows: Iterable[Row]) -> set[tuple[str, TextHash]]:
        """Scopes and hashes of the texts that rows have, and had before they changed."""
        scopes = {row.id: row.scope for row in rows}
        return {
            (scopes[page_id], text_hash)
            for text_hash, ids in self._by_text.items()
            for page_id in ids & scopes.keys()
        }

    def reviewed_pairs(self, row: Row, *, same: bool) -> list[Row]:
        """Pages of the row's scope that are the same, or different, by a review; oldest first."""
        if self._any_review is not False:
            self._read_reviews({row.url_key})
        if not self._any_review:
            return []
        found = [
            self._by_url.get((row.scope, key))
            for key, is_same in self._reviews[row.url_key].items()
            if is_same is same
        ]
        return [self._rows[page_id] for page_id in sorted(one for one in found if one is not None)]

    def excluded_originals(self, row: Row) -> set[int]:
        """Ids of the originals whose groups hold a page that is different by a review."""
        return {self.head(other).id for other in self.reviewed_pairs(row, same=False)}

    def head(self, row: Row) -> Row:
        """Original of the row's group."""
        if row.original_id is None:
            return row
        self.load([row.original_id])
        if row.original_id in self._rows:
            return self._rows[row.original_id]
        self.database.damage.note(row.id, row.url, "original")
        self.place(row, Decision("new"))
        return row

    def compared_with(self, row: Row) -> Row | None:
        """Find the page that decided on another one, if that is not its original."""
        if row.compared_id is None:
            return None
        self.load([row.compared_id])
        return self._rows.get(row.compared_id)

    def members(self, original: Row, newest: int | None = None) -> list[Row]:
        """Duplicates attached to an original, or so many of the newest; oldest first."""
        bound = {"original": original.id}
        query = self._ask.members
        if newest is not None:
            query, bound = self._ask.newest, {**bound, "limit": newest}
        if original.id not in self._whole_groups:
            self._take_in(self.connection.execute(query, bound).mappings())
        if newest is None and self.database.alone:  # nobody else adds to it meanwhile
            self._whole_groups.add(original.id)
        found = sorted(self._by_original.get(original.id, ()))
        attached = found if newest is None else found[-newest:]
        return [row for row in map(self._rows.__getitem__, attached) if row.is_member_of(original)]

    def copies(self, original: Row, text_hash: bytes) -> list[Row]:
        """Duplicates attached to an original that have a text; oldest first."""
        if original.id not in self._whole_groups:
            self.members(original)
        return [row for row in self._of_text(text_hash) if row.is_member_of(original)]

    def rows_of(self, ids: Collection[int]) -> list[Row]:
        """Rows of these ids, oldest first."""
        self.load(ids)
        return [self._rows[page_id] for page_id in sorted(ids) if page_id in self._rows]

    def enter(self, page: Page, signature: Signature) -> Arrival:
        """Enter a page under its URL: make a row, or give the stored one the text it has now."""
        run = None if self.run is None else self.run.id
        kept_text = page.main_text if self.rules.store_text else None
        page_id = self._by_url.get((page.scope, url_key(page.url)))
        if page_id is None:
            row = Row.of(page, signature, self._new_ids.pop(), run)
            self.admit(row)
            self.texts.put(row, kept_text, page.body_key)
            if isinstance(page.fields, OwnFields):
                self.site_fields.note_names(row.site, page.fields)
            return Arrival(row)
        row = self._rows[page_id]
        last_run, fields = row.last_run_id, row.fields
        row.last_seen = max(row.last_seen, fetched_at(page))
        row.last_run_id = last_run if run is None else run
        row.source = page.source
        self.touched[row.id] = row
        if isinstance(page.fields, OwnFields):
            self.site_fields.note_names(row.site, page.fields)
            row.fields = page.fields.packed
        if row.text_hash == signature.text_hash:
            if run is None or last_run != run:  # twice in a crawl: with data from elsewhere
                self.site_fields.learn(row.site, fields, row.fields)
            if page.body_key and extracted(page) == extracted(row):
                self.texts.confirm(row, page.main_text, page.body_key)
            return Arrival(row, is_unchanged=True, last_run=last_run)
        former = replace(row, id=-row.id)
        self.lookup.place(row.id, None)
        row.take("extracted", page)
        row.take("signature", signature)
        self.admit(row)
        self.texts.put(row, kept_text, page.body_key, former)
        return Arrival(row, former=former, last_run=last_run)

    def confirm(self, original: Row) -> None:
        """Have an original that a page follows by these rules be one by them, as it comes out."""
        if original.rules_id != self.rules_id:
            original.rules_id = self.rules_id
            self.touched[original.id] = original

    def is_gone(self, head: Row, arrival: Arrival) -> bool:
        """Whether an original is no longer met, or has answered so, while its duplicate is.

        It was met neither in this crawl nor since the one of the spider began that has finished
        last; the duplicate was met in an earlier crawl.
        """
        run, met = self.run, head.last_run_id
        if run is None or not run.is_crawl or arrival.last_run in (None, run.id) or met is None:
            return False
        return met == GONE or (run.previous is not None and met < run.previous)

    def meet(self, row: Row) -> Met:
        """Look up what a page, which is in no group, is to be compared with."""
        found = sorted(self.lookup.candidates(row)) if self._finds_near else []
        # In a damaged store, what a page follows may be no original.
        reviewed = [self.head(other) for other in self.reviewed_pairs(row, same=True)]
        reviewed = [head for head in reviewed if head.is_original]
        pairs = [(other, self.head(other)) for other in self._same_text(row)]
        pairs = [(other, head) for other, head in pairs if head.is_original]
        return Met(reviewed, self.excluded_originals(row), pairs, self._originals(row, found))

    def likely_wholes(self, row: Row) -> list[Row]:
        """Originals of the row's scope that it may be a piece of, or contain."""
        sample = self.sample(row) if self.lookup.index.sampled else []
        return self._originals(row, self.lookup.likely_wholes(sample))

    def _same_text(self, row: Row) -> list[Row]:
        return [
            other
            for other in self._of_text(row.text_hash)
            if other is not row and other.scope == row.scope and other.status != "exact"
        ]

    def _of_text(self, text_hash: bytes) -> list[Row]:
        rows = map(self._rows.__getitem__, sorted(self._by_text.get(text_hash, ())))
        return [row for row in rows if row.text_hash == text_hash]

    def _originals(self, row: Row, ids: Iterable[int]) -> list[Row]:
        rows = (self._rows[page_id] for page_id in ids if page_id in self._rows)
        return [
            other
            for other in rows
            if other is not row and other.is_original and other.scope == row.scope
        ]

    def place(self, row: Row, decision: Decision) -> None:
        """Attach a page to its original, or make it one, which later pages of the batch find."""
        original = decision.original
        is_kept = original is None and decision.status != "skipped"
        row.status = "new" if is_kept else decision.status
        row.resemblance, row.containment = decision.resemblance, decision.containment
        row.reason = decision.reason
        row.compared_id = None if decision.compared_with is None else decision.compared_with.id
        self.touched[row.id] = row
        self.placed.add(row.id)
        if original is not None:
            row.original_id = original.id
            self._by_original.setdefault(original.id, set()).add(row.id)
            self.lookup.place(row.id, None)
            return
        row.original_id = None
        if row.words >= self.scheme.min_comparable_words:
            sample = self.sample(row) if self.lookup.index.sampled else []
            self.lookup.place(row.id, row, sample)

    def sample(self, row: Row) -> list[int]:
        """Keys by which pieces of the row are found; none of a short text."""
        return [] if row.status == "skipped" else self.texts.sample(row.scope, self.texts.of(row))
