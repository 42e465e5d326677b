"""The part of the store that one batch touches, held in memory until it is written."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import bindparam, delete, exists, or_, select, text

from shingling.store.backends.base import insert_rows
from shingling.store.decide.texts import Texts, delete_texts, read_text
from shingling.store.decide.titles import same_title
from shingling.store.index.lookup import Changes, Lookup, some
from shingling.store.schema.rows import COLUMNS, Keyed, Row, extracted, row_from, row_of, url_key
from shingling.store.schema.tables import LIVE, Tables, full as full_keys, reviews
from shingling.text import title_key

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from sqlalchemy import BindParameter, Connection, RowMapping, Select

    from shingling.similarity import Overlap
    from shingling.sketch import Scheme, Signature
    from shingling.store.backends.base import Database
    from shingling.store.index.keys import Index
    from shingling.store.model import Page
    from shingling.store.rules import Rules
    from shingling.store.session import Session
    from shingling.store.templates import OpenTemplates, Site

_IN: BindParameter[Any] = bindparam("some", expanding=True)
_SCOPES: BindParameter[Any] = bindparam("scopes", expanding=True)
_REVIEWS = select(reviews.c.a_key, reviews.c.b_key, reviews.c.same).where(
    or_(reviews.c.a_key.in_(_IN), reviews.c.b_key.in_(_IN))
)
_NOTE_FULL = text(
    f"INSERT INTO {full_keys} (owner, key) VALUES (:owner, :key) ON CONFLICT DO NOTHING"  # noqa: S608 (ours)
)
_MOST_TWINS = 64  # pages of one text that are looked at, the oldest of them
_NEWEST = 32  # duplicates of one original, where not all are needed
_ANY_REVIEW = select(exists(select(reviews.c.a_key)))


class _Statements:
    """What each batch asks; building it anew costs as much as running it."""

    def __init__(self, tables: Tables) -> None:
        pages = tables.pages
        self.by_id = select(pages).where(pages.c.id.in_(_IN))
        self.by_id_in_scopes = self.by_id.where(pages.c.scope.in_(_SCOPES))
        self.by_url = select(pages).where(pages.c.url_key.in_(_IN))
        self.by_head = select(pages).where(pages.c.original_id == bindparam("head"))
        self.newest = self.by_head.order_by(pages.c.id.desc()).limit(bindparam("most"))
        changed = ", ".join(f'"{name}" = :{name}' for name in COLUMNS[1:])
        self.update = text(f"UPDATE {pages.name} SET {changed} WHERE id = :id")  # noqa: S608 (ours)


@cache
def _statements(tables: Tables) -> _Statements:
    return _Statements(tables)


class WorkingSet:
    """Rows read for a batch of pages, changed in memory, and written at once by `flush`.

    It must live within one write transaction: nobody else changes what it reads meanwhile.
    """

    def __init__(
        self,
        database: Database,
        connection: Connection,
        scheme: Scheme,
        index: Index,
        rules: Rules,
        templates: OpenTemplates,
        tables: Tables = LIVE,
    ) -> None:
        self._database = database
        self._connection = connection
        self._scheme = scheme
        self._tables = tables
        self._ask = _statements(tables)
        self._lookup = Lookup(
            database.postings(connection, tables.bands),
            database.postings(connection, tables.samples) if index.sampled else None,
            scheme,
            index,
        )
        self._rows: dict[int, Row] = {}
        self._by_url: dict[tuple[str, bytes], int] = {}
        self._by_text: dict[bytes, set[int]] = {}
        self._by_head: dict[int, set[int]] = {}
        self._touched: dict[int, Row] = {}
        self._templates = templates if rules.store_text else None
        self._texts = Texts(
            connection, self._lookup, scheme, self._templates if rules.templates else None
        )
        self._ids: list[int] = []  # for new pages, in falling order
        self._reviewed: bool | None = None
        self._said: dict[bytes, dict[bytes, bool]] = {}  # what is said of pairs of URLs

    @classmethod
    def of(cls, session: Session, connection: Connection, rules: Rules) -> Self:
        """Begin a batch within a transaction of an open store."""
        templates = session.templates.open(connection)
        return cls(session.database, connection, session.scheme, session.index, rules, templates)

    def prefetch(
        self, batch: Sequence[Page], signatures: Sequence[Signature], rules: Rules
    ) -> None:
        """Read all rows that pages with these signatures can meet."""
        keys = {url_key(page.url) for page in batch}
        self._read(self._ask.by_url, keys)
        unknown = {(page.scope, url_key(page.url)) for page in batch} - self._by_url.keys()
        if unknown:
            self._ids = self._database.allocate(self._connection, len(unknown))[::-1]
        self._read_reviews(keys)
        # What has not changed meets nobody; a URL that comes twice may change in between.
        times = Counter((page.scope, url_key(page.url)) for page in batch)
        moving = [
            (page, signature)
            for page, signature in zip(batch, signatures, strict=True)
            if times[page.scope, url_key(page.url)] > 1
            or (row := self.known(page)) is None
            or row.text_hash != signature.text_hash
        ]
        scopes = sorted({page.scope for page, _ in moving})
        pieces = [(page.scope, page.text) for page, _ in moving if page.text is not None]
        told = [signature for page, signature in moving if _is_told(signature, page.title, rules)]
        self._prefetch([signature for _, signature in moving], told, scopes, pieces, rules)

    def admit(self, row: Row) -> None:
        """Take in a row of another table of pages, which `meet` has been told of."""
        self._know(row)

    def meet(self, rows: Sequence[Row], rules: Rules) -> None:
        """Read all rows that these can meet, which are in no group."""
        self._read_reviews({row.url_key for row in rows})
        if self._templates is not None:
            self._templates.load({row.site for row in rows})
        pieces: list[tuple[str, str]] = []
        read = [row.id for row in rows if rules.containment is not None or self._is_taught(row)]
        kept = self._texts.load(read)
        if rules.containment is not None:
            pieces = [(row.scope, kept[row.id]) for row in rows if row.id in kept]
        told = [row for row in rows if _is_told(row, row.title, rules)]
        self._prefetch(rows, told, sorted({row.scope for row in rows}), pieces, rules)

    def _is_taught(self, row: Row) -> bool:
        return self._templates is not None and bool(self._templates.site(row.site))

    def _prefetch(
        self,
        signed: Sequence[Signature] | Sequence[Row],
        told: Sequence[Signature] | Sequence[Row],
        scopes: Sequence[str],
        pieces: Sequence[tuple[str, str]],
        rules: Rules,
    ) -> None:
        # Less than one shingle says nothing of a page: such texts are not looked up.
        telling = [one for one in signed if one.words >= self._scheme.fewest_words]
        hashes = (one.text_hash for one in told if one.words >= self._scheme.fewest_words)
        for part in some(hashes):
            found_rows = self._database.same_texts(
                self._connection, self._tables.pages, part, scopes, _MOST_TWINS
            )
            self._take_in(found_rows)
        found: set[int] = set()
        if telling and rules.method != "exact":
            found = self._lookup.fetch(telling, rules)
            if rules.containment is not None:
                found |= self._lookup.fetch_pieces(pieces)
        self._read(self._ask.by_id_in_scopes, found - self._rows.keys(), scopes=scopes)
        self.load(row.original_id for row in [*self._rows.values()] if row.original_id is not None)
        if self._templates is not None:
            self._templates.load({row.site for row in self._rows.values()})

    def load(self, ids: Iterable[int]) -> None:
        """Read rows by their ids; rows that are here already stay as they are."""
        self._read(self._ask.by_id, set(ids) - self._rows.keys())

    def load_url(self, url: str) -> list[Row]:
        """Return the rows of a URL, one a scope."""
        key = url_key(url)
        self._read(self._ask.by_url, [key])
        self._read_reviews({key})
        return [self._rows[at] for (_, own), at in sorted(self._by_url.items()) if own == key]

    def _read(self, query: Select[Any], values: Iterable[Any], **bound: Any) -> None:
        for part in some(values):
            self._take_in(self._connection.execute(query, {"some": part, **bound}).mappings())

    def _take_in(self, found: Iterable[RowMapping]) -> None:
        for mapping in found:
            if mapping["id"] not in self._rows:
                self._know(row_from(mapping, self._scheme.fewest_words))

    def _read_reviews(self, keys: Collection[bytes]) -> None:
        """Read what is said of URLs, and the pages that it is said of."""
        if self._reviewed is None:
            self._reviewed = bool(self._connection.scalar(_ANY_REVIEW))
        if not self._reviewed:
            return
        for part in some(key for key in keys if key not in self._said):
            self._said.update((key, {}) for key in part if key not in self._said)
            for a, b, same in self._connection.execute(_REVIEWS, {"some": part}):
                for key, other in ((a, b), (b, a)):
                    if key in self._said:
                        self._said[key][other] = same
        self._read(self._ask.by_url, {other for key in keys for other in self._said[key]})
        self.load(row.original_id for row in [*self._rows.values()] if row.original_id is not None)

    def _know(self, row: Row) -> None:
        self._rows[row.id] = row
        self._by_url[row.scope, row.url_key] = row.id
        self._by_text.setdefault(row.text_hash, set()).add(row.id)
        if row.original_id is not None:
            self._by_head.setdefault(row.original_id, set()).add(row.id)

    def said(self, row: Row, *, same: bool) -> list[Row]:
        """Return the pages of the row's scope said to be the same, or different; oldest first."""
        self._read_reviews({row.url_key})
        if not self._reviewed:
            return []
        found = [
            self._by_url.get((row.scope, key))
            for key, said in self._said[row.url_key].items()
            if said is same
        ]
        return [self._rows[page_id] for page_id in sorted(one for one in found if one is not None)]

    def barred(self, row: Row) -> set[int]:
        """Return the ids of originals whose groups hold a page said to be different."""
        return {self.head(other).id for other in self.said(row, same=False)}

    def known(self, page: Page) -> Row | None:
        """Return the row of the page's URL in its scope."""
        page_id = self._by_url.get((page.scope, url_key(page.url)))
        return None if page_id is None else self._rows[page_id]

    def head(self, row: Row) -> Row:
        """Return the original of the row's group."""
        if row.original_id is None:
            return row
        self.load([row.original_id])
        return self._rows[row.original_id]

    def same_text(self, row: Row) -> list[Row]:
        """Return the other pages of the row's scope with the same text, oldest first."""
        others = (self._rows[page_id] for page_id in sorted(self._by_text[row.text_hash]))
        return [
            other
            for other in others
            if other is not row
            and other.scope == row.scope
            and other.text_hash == row.text_hash
            and other.status != "exact"
        ]

    def candidates(self, row: Row, rules: Rules) -> list[Row]:
        """Return the originals of the row's scope that may be like it, oldest first."""
        return self._originals(row, sorted(self._lookup.candidates(row, rules)))

    def likely_wholes(self, row: Row) -> list[Row]:
        """Return the originals of the row's scope that it may be a piece of, or contain."""
        return self._originals(row, self._lookup.likely(self._sample(row)))

    def _originals(self, row: Row, ids: Iterable[int]) -> list[Row]:
        rows = (self._rows[page_id] for page_id in ids if page_id in self._rows)
        return [
            other
            for other in rows
            if other is not row and other.is_original and other.scope == row.scope
        ]

    def members(self, row: Row) -> list[Row]:
        """Return the duplicates attached to the row, oldest first."""
        found = self._connection.execute(self._ask.by_head, {"head": row.id})
        for mapping in found.mappings():
            if mapping["id"] not in self._rows:
                self._know(row_from(mapping, self._scheme.fewest_words))
        attached = (self._rows[page_id] for page_id in sorted(self._by_head.get(row.id, ())))
        return [other for other in attached if other.original_id == row.id]

    def newest(self, head: Row) -> list[Row]:
        """Return some of the duplicates attached to an original: the newest of them."""
        found = self._connection.execute(self._ask.newest, {"head": head.id, "most": _NEWEST})
        for mapping in found.mappings():
            if mapping["id"] not in self._rows:
                self._know(row_from(mapping, self._scheme.fewest_words))
        attached = sorted(self._by_head.get(head.id, ()))[-_NEWEST:]
        return [row for row in map(self._rows.__getitem__, attached) if row.original_id == head.id]

    def add(self, page: Page, signature: Signature, run: int | None, keep_text: bool) -> Row:
        """Return a row for a page whose URL is not known."""
        row = row_of(page, signature, page_id=self._ids.pop(), seen=seconds(page), run=run)
        self._know(row)
        self._texts.put(row, page.text if keep_text else None, page.body_key)
        return row

    def replace(self, row: Row, page: Page, signature: Signature, keep_text: bool) -> None:
        """Give a known page its new text and signature."""
        self._lookup.drop(row.id)
        row.take("extracted", page)
        row.take("signature", signature)
        row.source = page.source
        self._know(row)
        self._texts.put(row, page.text if keep_text else None, page.body_key)

    def read_again(self, row: Row, page: Page) -> None:
        """Note the body of a page that has not changed, if all that is read from it is the same."""
        row.source = page.source
        if page.body_key is not None and extracted(page) == extracted(row):
            self._texts.read_from(row, page.text, page.body_key)

    def former(self, row: Row) -> Row:
        """Return the row as it is now, for a comparison after `replace`."""
        copy = replace(row, id=-row.id)
        self._texts.copy(row, copy)
        return copy

    def stand(self, row: Row, status: str = "new") -> None:
        """Make the row an original: in a group of its own, and indexed."""
        row.original_id = row.resemblance = row.containment = None
        row.status = status
        self.touch(row)
        if row.words < self._scheme.fewest_words:
            return
        self._lookup.add(row.id, row, self._sample(row))

    def attach(
        self, row: Row, head: Row, status: str, resemblance: float, containment: float
    ) -> None:
        """Make the row a duplicate of an original."""
        self._lookup.drop(row.id)
        row.original_id, row.status = head.id, status
        row.resemblance, row.containment = resemblance, containment
        self._by_head.setdefault(head.id, set()).add(row.id)
        self.touch(row)

    def hand_on(self, row: Row, leaving: Collection[int] = ()) -> None:
        """Let the oldest copy of a near-duplicate that leaves its group stand for its text."""
        if row.status != "near":
            return
        copies = [
            other
            for other in self.members(self.head(row))
            if other is not row and other.text_hash == row.text_hash and other.id not in leaving
        ]
        if copies and all(other.status == "exact" for other in copies):
            copies[0].status = "near"
            self.touch(copies[0])

    def touch(self, row: Row) -> None:
        """Have the row written by `flush`."""
        self._touched[row.id] = row

    def remove(self, ids: Collection[int], regroup: Callable[[list[Row]], None]) -> int:
        """Take rows out of the store, and return how many were there.

        `regroup` is handed the duplicates that stay of a group whose original goes.
        """
        self.load(ids)
        ids = {page_id for page_id in ids if page_id in self._rows}
        gone = [self._rows[page_id] for page_id in sorted(ids)]
        for row in gone:
            if row.is_original:
                regroup([member for member in self.members(row) if member.id not in ids])
            else:
                self.hand_on(row, leaving=ids)
        self.flush()
        self._write_index((row, False) for row in gone)
        for part in some(ids):
            delete_texts(self._connection, part)
            self._connection.execute(
                delete(self._tables.pages).where(self._tables.pages.c.id.in_(part))
            )
        return len(gone)

    def overlap(self, a: Row, b: Row) -> Overlap | None:
        """Return what two pages' texts share, or None where one of them is not kept."""
        return self._texts.overlap(a, b)

    def measure(self, a: Row, b: Row, *, whole: bool = False) -> tuple[float, float]:
        """Return resemblance and containment: from the texts, or estimated without them.

        They are compared without the templates of their sites, or whole.
        """
        return self._texts.measure(a, b, whole=whole)

    def are_one(self, a: Row, b: Row) -> bool:
        """Return whether two pages are of one site and have one title."""
        return a.site == b.site and self.have_one_title(a, b) is True

    def have_one_title(self, a: Row, b: Row) -> bool | None:
        """Return whether two pages have one title, or None where a title is not known."""
        if not title_key(a.title or "") or not title_key(b.title or ""):
            return None
        return same_title(a.title or "", b.title or "", self.site(a))

    def site(self, row: Row) -> Site | None:
        """Return what is known of the template of a page's site, where that is wanted."""
        return None if self._templates is None else self._templates.site(row.site)

    def blocks(self, row: Row) -> list[int]:
        """Return the keys of the blocks of a page's text; none where it is not kept."""
        keys: list[int] = self._texts.blocks(row).tolist()
        return keys

    def is_template(self, row: Row, rules: Rules) -> bool:
        """Return whether too little is left of a page without its site's template."""
        fewest = rules.min_words if row.words >= rules.min_words else 1
        return self._texts.is_template(row, fewest)

    def words_left(self, row: Row) -> int:
        """Return how many words a page has without its site's template."""
        return self._texts.words_left(row)

    def differ_in_numbers_only(self, a: Row, b: Row) -> bool:
        """Return whether two pages' texts are kept, and differ in numbers and symbols only."""
        return self._texts.differ_in_numbers_only(a, b)

    def template_share(self, row: Row) -> float | None:
        """Return the share of a page's text that is template, or None where it is not known."""
        return self._texts.template_share(row)

    def _sample(self, row: Row) -> list[int]:
        """Return the keys by which pieces of the row are found; none of a short text."""
        if not self._lookup.sampled or row.status == "skipped":
            return []
        return self._lookup.sample(row.scope, self._texts.of(row))

    def flush(self) -> None:
        """Write every touched row, its bands and its text."""
        rows = sorted(self._touched.values(), key=lambda row: row.id)
        known = {row.id for row in rows if row.stored}
        self._write_rows(rows)
        self._write_index((row, self._is_indexed(row)) for row in rows)
        self._texts.write(known)
        if self._templates is not None:
            self._templates.write()
        self._write_full()
        self._touched.clear()

    def _write_rows(self, rows: Sequence[Row]) -> None:
        pages = self._tables.pages
        fresh = [row.values() for row in rows if not row.stored]
        insert_rows(self._connection, pages, COLUMNS, fresh)
        changed = [dict(zip(COLUMNS, row.values(), strict=True)) for row in rows if row.stored]
        if changed:
            self._connection.execute(self._ask.update, changed)
        for row in rows:
            row.stored = True

    def _is_indexed(self, row: Row) -> bool:
        return row.is_original and row.words >= self._scheme.fewest_words

    def _write_index(self, rows: Iterable[tuple[Row, bool]]) -> None:
        """Write the keys of rows, each given with whether it is to be found from now on.

        The database must still hold the texts that the rows were indexed with.
        """
        bands, samples = Changes(), Changes()
        for row, found in rows:
            before = row.indexed
            if before is None and not found:
                continue
            keyed = Keyed(row.minima, row.simhash, row.status != "skipped") if found else None
            unchanged = before is not None and before.minima is row.minima
            if unchanged and keyed is not None and keyed.sampled == (before and before.sampled):
                continue
            bands.add(
                row.id,
                self._lookup.keys(before) if before else [],
                self._lookup.keys(row) if found else [],
            )
            if self._lookup.sampled:
                former = read_text(self._connection, row.id) if before else None
                samples.add(
                    row.id,
                    self._lookup.sample(row.scope, former) if before and before.sampled else [],
                    self._sample(row) if keyed and keyed.sampled else [],
                )
            row.indexed = keyed
        self._lookup.write(bands, samples)

    def keep_templates(self) -> None:
        """Have later transactions know what this one, which is committed, has learned."""
        if self._templates is not None:
            self._templates.keep()

    @property
    def full(self) -> int:
        """Return how many keys were met that have more pages than are looked at."""
        return len(self._lookup.full)

    def _write_full(self) -> None:
        if not self._lookup.full:
            return
        owner = self._tables.bands.name
        rows = [{"owner": owner, "key": key} for key in sorted(self._lookup.full)]
        self._connection.execute(_NOTE_FULL, rows)


def _is_told(one: Signature | Row, title: str | None, rules: Rules) -> bool:
    """Return whether a text can be known to be that of a page: short, it needs a title."""
    return one.words >= rules.min_words or bool(title_key(title or ""))


def seconds(page: Page) -> int:
    """Return when a page was fetched, in seconds since 1970, UTC."""
    return int(time.time() if page.fetched is None else page.fetched)
