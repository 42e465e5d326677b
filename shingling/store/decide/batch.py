"""A batch of pages: the rows that they can meet, read at once and changed in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import exists, or_, select

from shingling.rules import METHODS
from shingling.rules.own_fields import OwnFields
from shingling.store.backends.base import MustBeAloneError
from shingling.store.decide.texts import Texts
from shingling.store.index import Lookup
from shingling.store.model import fetched_at
from shingling.store.schema.rows import COLUMNS, Row, extracted, row_of, url_key
from shingling.store.schema.statements import among, chunked, select_in
from shingling.store.schema.tables import LIVE, reviews
from shingling.store.templates import Templates
from shingling.text import title_key, title_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from shingling.rules.rules import Rules
    from shingling.sketch import Signature
    from shingling.store.model import Page
    from shingling.store.runs import Run
    from shingling.store.schema.tables import Tables
    from shingling.store.session import Session
    from shingling.text import PreparedText

_MAX_SAME_TEXT = 64  # pages of one text that are looked at, the oldest of them
_ALL = (1 << 63) - 1  # members of a group

_in_order = itemgetter(*COLUMNS)
_ID, _SCOPE, _URL_KEY = (COLUMNS.index(name) for name in ("id", "scope", "url_key"))

_REVIEWS = select(reviews.c.a_key, reviews.c.b_key, reviews.c.same).where(
    or_(among(reviews.c.a_key), among(reviews.c.b_key))
)
_ANY_REVIEW = select(exists(select(reviews.c.a_key)))


class Compared(NamedTuple):
    """What is looked up of a page: its signature, or the row that holds one, and what it says."""

    signature: Signature | Row
    title: str | None
    scope: str
    text: PreparedText | None


class Met(NamedTuple):
    """What a page, which is in no group, meets in the store.

    Args:
        reviewed: originals that a review puts it with, oldest first.
        excluded: ids of originals whose groups hold a page that is different by a review.
        same_text: pages with the same text, each with its original, oldest first.
        candidates: originals that may be like it, oldest first.
    """

    reviewed: Sequence[Row] = ()
    excluded: Collection[int] = ()
    same_text: Sequence[tuple[Row, Row]] = ()
    candidates: Sequence[Row] = ()


class Decision(NamedTuple):
    """What becomes of a page.

    Args:
        status: as measured: `new`, `exact`, `near` or `skipped`.
        original: that it is a duplicate of; None makes it one itself.
        resemblance, containment: to its original, or the page that it was compared with.
        compared_with: the page that decided, if that is not the original.
        fields: names of the fields in which its item says something else.
        reason, candidates, distance, contains, template: as in `Verdict`.
    """

    status: str
    original: Row | None = None
    resemblance: float | None = None
    containment: float | None = None
    compared_with: Row | None = None
    fields: Sequence[str] = ()
    reason: str | None = None
    candidates: int = 0
    distance: int | None = None
    contains: str | None = None
    template: float | None = None


class Batch:
    """Rows read for a batch of pages, changed in memory, and written at once by `write_batch`.

    It must live within one write transaction: nobody else changes what it reads meanwhile.

    Args:
        session: of the store.
        connection: of the transaction.
        rules: how pages are decided.
        tables: that the pages are read from and written to.
        rules_id: number that the store keeps the rules under; None where no page is met.
        run: that meets the pages; None where they are not crawled or imported.

    Attributes:
        lookup: finds the originals.
        templates: of the sites, which learn from the pages; None where no texts are kept.
        texts: of the pages.
        rows: that were read or made so far, by id.
        touched: rows to be written, by id.
        decided: rows of pages that were met, and decided.
        placed: ids of pages whose place in the groups was decided.
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
        self.texts = Texts(connection, self.scheme, self.templates if rules.templates else None)
        self.rows: dict[int, Row] = {}
        self.touched: dict[int, Row] = {}
        self.decided: dict[int, Row] = {}
        self.placed: set[int] = set()
        self._by_url: dict[tuple[str, bytes], int] = {}
        self._by_text: dict[bytes, set[int]] = {}
        self._by_original: dict[int, set[int]] = {}
        self._referred: set[int] = set()  # originals, and pages that decided
        self._members_read: dict[int, int] = {}  # how many of the newest, by original
        self._new_ids: list[int] = []  # in falling order
        self._unreadable: dict[tuple[str, bytes], int] = {}  # ids by scope and key of the URL
        self._reviews: dict[bytes, dict[bytes, bool]] = {}  # of pairs of URLs
        columns = ", ".join(f'"{name}"' for name in COLUMNS)
        self._select = f"SELECT {columns} FROM {tables.pages.name} WHERE "  # noqa: S608 (our names)

    def read_for(self, batch: Sequence[tuple[Page, Signature]]) -> None:
        """Read all rows that pages, given with their signatures, can meet."""
        urls = [(page.scope, url_key(page.url)) for page, _ in batch]
        keys = {key for _, key in urls}
        self._read("url_key", keys)
        self._read_reviews(keys)
        # What has not changed meets nobody; a URL that comes twice may change in between.
        times = Counter(urls)
        moving = [
            (page, signature)
            for url, (page, signature) in zip(urls, batch, strict=True)
            if times[url] > 1 or self._is_to_be_decided(url, signature)
        ]
        if self.templates is not None:
            self.templates.look_up(page for page, _ in moving)
        self._read_alike(
            [Compared(signed, page.title, page.scope, page.main_text) for page, signed in moving]
        )
        unknown = {*urls} - self._by_url.keys()
        if unknown:  # last: pages that others have stored and this batch has read are older
            self._new_ids = self.database.allocate(self.connection, len(unknown))[::-1]

    def _is_to_be_decided(self, url: tuple[str, bytes], signature: Signature) -> bool:
        row = self.rows.get(self._by_url.get(url, -1))
        if row is None or row.text_hash != signature.text_hash:
            return True
        return row.rules_id != self.rules_id

    def read_again_for(self, rows: Sequence[Row]) -> None:
        """Read all rows that stored pages, which are in no group, can meet."""
        self._read_reviews({row.url_key for row in rows})
        is_sampled = self.rules.containment is not None
        if is_sampled or self.texts.templates is not None:
            self.texts.load([row.id for row in rows])
        self._read_alike(
            [
                Compared(row, row.title, row.scope, self.texts.of(row) if is_sampled else None)
                for row in rows
            ]
        )

    def _read_alike(self, compared: Sequence[Compared]) -> None:
        # Less than one shingle says nothing of a page; nor does a short text without a title.
        fewest = self.scheme.min_comparable_words
        long_enough = [one for one in compared if one.signature.words >= fewest]
        hashes = {
            one.signature.text_hash
            for one in long_enough
            if one.signature.words >= self.rules.min_words or title_key(one.title or "")
        }
        scopes = {one.scope for one in compared}
        if hashes:
            same = self.database.same_texts(
                self.connection, self.tables.pages, sorted(hashes), sorted(scopes), _MAX_SAME_TEXT
            )
            self._take(map(_in_order, same))
        found: set[int] = set()
        if long_enough and self._finds_near:
            found = self.lookup.fetch([one.signature for one in long_enough])
            if self.rules.containment is not None:
                samples = [self.texts.sample(one.scope, one.text) for one in compared]
                found |= self.lookup.fetch_pieces(samples)
        self._read("id", found - self.rows.keys(), scopes)
        self.load(self._referred)
        if self.templates is not None:
            self.templates.read({row.site for row in self.rows.values()})

    @property
    def _finds_near(self) -> bool:
        return METHODS[self.rules.method].keys is not None

    def load(self, ids: Iterable[int]) -> None:
        """Read rows by their ids; rows that are here already stay as they are."""
        self._read("id", {*ids} - self.rows.keys())

    def load_url(self, url: str) -> list[Row]:
        """Read the rows of a URL, one a scope."""
        key = url_key(url)
        self._read("url_key", [key])
        self._read_reviews({key})
        found = [
            (scope, page_id) for (scope, other), page_id in self._by_url.items() if other == key
        ]
        return [self.rows[page_id] for _, page_id in sorted(found)]

    def _read(
        self, column: str, values: Iterable[Any], scopes: Collection[str] | None = None
    ) -> None:
        """Take in rows by many values of a column; only those of some scopes, where given."""
        self._take(select_in(self.connection, f"{self._select}{column} {{}}", values), scopes)

    def _take(self, found: Iterable[Sequence[Any]], scopes: Collection[str] | None = None) -> None:
        """Take in rows as they were read, unless they are here already."""
        for values in found:
            if values[_ID] not in self.rows and (scopes is None or values[_SCOPE] in scopes):
                row = row_of(values, self.scheme.min_comparable_words)
                if row is None:
                    self.database.damage.note(f"page {values[_ID]}")
                    self._unreadable[values[_SCOPE], values[_URL_KEY]] = values[_ID]
                else:
                    self.admit(row)

    def admit(self, row: Row) -> None:
        """Hold a row, to be found by its URL, its text and its original."""
        self.rows[row.id] = row
        self._by_url[row.scope, row.url_key] = row.id
        self._by_text.setdefault(row.text_hash, set()).add(row.id)
        if row.original_id is not None:
            self._by_original.setdefault(row.original_id, set()).add(row.id)
            self._referred.add(row.original_id)
        if row.compared_id is not None:
            self._referred.add(row.compared_id)

    @cached_property
    def _has_reviews(self) -> bool:
        return bool(self.connection.scalar(_ANY_REVIEW))

    def _read_reviews(self, keys: Collection[bytes]) -> None:
        """Read the reviews of URLs, and the pages that they compare them with.

        Raises:
            MustBeAloneError: there are some, and others may store a page that they name.
        """
        unread = {*keys} - self._reviews.keys()
        if not unread or not self._has_reviews:
            return
        self._reviews.update((key, {}) for key in unread)
        for part in chunked(unread):
            for a, b, same in self.connection.execute(_REVIEWS, {"values": part}):
                for key, other in ((a, b), (b, a)):
                    if key in unread and type(other) is bytes:
                        self._reviews[key][other] = same
        others = {other for key in unread for other in self._reviews[key]}
        if others and self.tables is LIVE and not self.database.alone:
            raise MustBeAloneError
        self._read("url_key", others)
        self.load(self._referred)

    def texts_of(self, rows: Iterable[Row]) -> set[tuple[str, bytes]]:
        """Scopes and hashes of the texts that rows have, and had before they changed."""
        scopes = {row.id: row.scope for row in rows}
        return {
            (scopes[page_id], text_hash)
            for text_hash, ids in self._by_text.items()
            for page_id in ids & scopes.keys()
        }

    def reviewed_pairs(self, row: Row, *, same: bool) -> list[Row]:
        """Pages of the row's scope that are the same, or different, by a review; oldest first."""
        if not self._has_reviews:
            return []
        self._read_reviews({row.url_key})
        reviews = self._reviews[row.url_key]
        found = {
            self._by_url.get((row.scope, key), -1)
            for key, is_same in reviews.items()
            if is_same is same
        }
        return [self.rows[page_id] for page_id in sorted(found & self.rows.keys())]

    def excluded_originals(self, row: Row) -> set[int]:
        """Ids of the originals whose groups hold a page that is different by a review."""
        return {self.head(other).id for other in self.reviewed_pairs(row, same=False)}

    def head(self, row: Row) -> Row:
        """Original of the row's group."""
        if row.original_id is None:
            return row
        self.load([row.original_id])
        if row.original_id in self.rows:
            return self.rows[row.original_id]
        self.place(row, Decision("new"))  # its original cannot be read
        return row

    def compared_with(self, row: Row) -> Row | None:
        """Find the page that decided on another one, if that is not its original."""
        if row.compared_id is None:
            return None
        self.load([row.compared_id])
        return self.rows.get(row.compared_id)

    def members(self, original: Row, newest: int = _ALL) -> list[Row]:
        """Duplicates attached to an original, or so many of the newest; oldest first."""
        if self._members_read.get(original.id, 0) < newest:
            query = f"{self._select}original_id {{}} ORDER BY id DESC LIMIT {newest}"
            self._take(select_in(self.connection, query, [original.id]))
            if newest < _ALL or self.database.alone:  # nobody else adds to it meanwhile
                self._members_read[original.id] = newest
        found = sorted(self._by_original.get(original.id, ()))[-newest:]
        return [row for row in map(self.rows.__getitem__, found) if row.is_member_of(original)]

    def as_stored(self, ids: Iterable[int]) -> Iterator[Row]:
        """Read rows as they are in the database now, whatever is held here."""
        for values in select_in(self.connection, f"{self._select}id {{}}", ids):
            row = row_of(values, self.scheme.min_comparable_words)
            if row is not None:
                yield row

    def rows_of(self, ids: Collection[int]) -> list[Row]:
        """Rows of these ids, oldest first."""
        self.load(ids)
        return [self.rows[page_id] for page_id in sorted(ids) if page_id in self.rows]

    def find(self, page: Page) -> Row | None:
        """Find the row of a page's URL, if it has one."""
        return self.rows.get(self._by_url.get((page.scope, url_key(page.url)), -1))

    def insert(self, page: Page, signature: Signature) -> Row:
        """Make a row of a page that has none, or in the place of one that cannot be read."""
        run = None if self.run is None else self.run.id
        place = self._unreadable.pop((page.scope, url_key(page.url)), None)
        row = Row.of(page, signature, self._new_ids.pop() if place is None else place, run)
        row.stored = place is not None
        self.admit(row)
        self._keep_text(row, page)
        return row

    def see_again(self, row: Row, page: Page, *, is_unchanged: bool) -> int | None:
        """Note that the page of a row was met again: the run that had met it before."""
        run = None if self.run is None else self.run.id
        last_run = row.last_run_id
        row.last_seen = max(row.last_seen, fetched_at(page))
        row.last_run_id = last_run if run is None else run
        row.source = page.source
        self.touched[row.id] = row
        if isinstance(page.fields, OwnFields):
            row.fields = page.fields.packed
        if is_unchanged and page.body_key and extracted(page) == extracted(row):
            self.texts.confirm(row, page.main_text, page.body_key)
        return last_run

    def change(self, row: Row, page: Page, signature: Signature) -> Row:
        """Give a row the text that its page has now: a copy of the row as it was."""
        former = replace(row, id=-row.id)
        self.lookup.drop(row.id)
        row.take("extracted", page)
        row.take("signature", signature)
        self.admit(row)
        self._keep_text(row, page, former)
        return former

    def _keep_text(self, row: Row, page: Page, former: Row | None = None) -> None:
        kept = page.main_text if self.rules.store_text else None
        self.texts.put(row, kept, page.body_key, former)

    def meet(self, row: Row) -> Met:
        """Look up what a page, which is in no group, is to be compared with."""
        found = sorted(self.lookup.candidates(row)) if self._finds_near else []
        # In a damaged store, what a page follows may be no original.
        reviewed = [self.head(other) for other in self.reviewed_pairs(row, same=True)]
        pairs = [
            (other, self.head(other))
            for other in self.of_text(row.text_hash)
            if other is not row and other.scope == row.scope and other.status != "exact"
        ]
        return Met(
            [head for head in reviewed if head.is_original],
            self.excluded_originals(row),
            [(other, head) for other, head in pairs if head.is_original],
            self._originals(row, found),
        )

    def likely_wholes(self, row: Row) -> list[Row]:
        """Originals of the row's scope that it may be a piece of, or contain."""
        return self._originals(row, self.lookup.likely_wholes(self.sample(row)))

    def title_parts(self, site: str) -> Callable[[str], dict[int, int]]:
        """Give what finds the parts of a title, without those that many titles of a site have."""
        return title_parts if self.templates is None else self.templates.site(site).title_parts

    def of_text(self, text_hash: bytes) -> list[Row]:
        """Rows that have a text, oldest first."""
        rows = map(self.rows.__getitem__, sorted(self._by_text.get(text_hash, ())))
        return [row for row in rows if row.text_hash == text_hash]

    def _originals(self, row: Row, ids: Iterable[int]) -> list[Row]:
        rows = (self.rows[page_id] for page_id in ids if page_id in self.rows)
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
        row.original_id = None if original is None else original.id
        row.resemblance, row.containment = decision.resemblance, decision.containment
        row.reason = decision.reason
        row.compared_id = None if decision.compared_with is None else decision.compared_with.id
        self.touched[row.id] = row
        self.placed.add(row.id)
        if original is not None:
            self._by_original.setdefault(original.id, set()).add(row.id)
            self.lookup.drop(row.id)
        elif row.words >= self.scheme.min_comparable_words:
            self.lookup.place(row.id, row, self.sample(row))

    def sample(self, row: Row) -> list[int]:
        """Keys by which pieces of the row are found; none of a short text."""
        if not self.lookup.index.sampled or row.status == "skipped":
            return []
        return self.texts.sample(row.scope, self.texts.of(row))
