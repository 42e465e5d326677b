"""Export a whole store as records, and restore a store from them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, case, exists, func, insert, or_, select, update

from shingling.admin.records import (
    PAGE_FIELDS,
    Header,
    Record,
    checked,
)
from shingling.admin.reviews import is_sound_review, merge_reviews
from shingling.errors import RecordError, StoreError
from shingling.sketch import Scheme, sign
from shingling.store.decide.texts import unpacked
from shingling.store.index.keys import Index
from shingling.store.indexing import index_all
from shingling.store.kept import kept_rows
from shingling.store.queries import sound_run
from shingling.store.schema import fields as kinds
from shingling.store.schema.damage import damage_of
from shingling.store.schema.rows import COLUMNS, EXPORTED_NAMES, problems_of, stand_in, url_key
from shingling.store.schema.site_entries import export_templates
from shingling.store.schema.statements import chunked, insert_rows
from shingling.store.schema.tables import (
    pages,
    reviews,
    rules,
    runs,
    scheme as scheme_table,
    site_blocks,
    site_fields,
    texts,
)
from shingling.text import pack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from sqlalchemy import BindParameter, Connection, Table

    from shingling.store.backends.base import Database
    from shingling.store.session import Session

_PAGES_READ_AT_ONCE, _RECORDS_WRITTEN_AT_ONCE = 256, 1000
_RUN_COLUMNS = tuple(runs.columns.keys())
_EXPORTED_COLUMNS = {
    name: exported
    for name in COLUMNS
    if (exported := EXPORTED_NAMES.get(name, name)) in PAGE_FIELDS
}


@dataclass(frozen=True)
class Restored:
    """What a restored store holds."""

    scheme: Scheme
    index: Index
    pages: int
    runs: int
    reviews: int


def export(session: Session, *, with_texts: bool = True) -> Generator[Record]:
    """Yield a store as it is at this moment, as records: see `export_records` and `restore`."""
    with session.reading() as connection:
        yield from export_records(connection, with_texts=with_texts)


def export_records(connection: Connection, *, with_texts: bool = True) -> Iterator[Record]:
    """Yield a store as records, of which `restore` makes an equal store.

    The header comes first, then runs, reviews, what rooms keep, pages by their ids, the templates
    of their sites, and the end. The transaction must see one state of the store throughout.

    Damage is noted: a signature is made again of its text, or is like no other.

    Args:
        connection: within a transaction that reads.
        with_texts: whether pages have their main texts.
    """
    header = _header(connection, with_texts)
    yield header.record()
    found = connection.execute(select(runs).order_by(runs.c.id)).mappings()
    for run in map(sound_run, found):
        yield Record("run", run | {name: json.loads(run[name]) for name in ("counts", "settings")})
    query = select(
        reviews.c.a_url.label("a"),
        reviews.c.b_url.label("b"),
        *(reviews.c.same, reviews.c.note, reviews.c.created),
    ).order_by(reviews.c.a_key, reviews.c.b_key)
    streamed = query.execution_options(yield_per=_PAGES_READ_AT_ONCE)
    with connection.execute(streamed) as result:  # closed also where nobody reads to the end
        for row in result.mappings():
            if is_sound_review(row):
                yield Record("review", dict(row))
    for kind, kept in kept_rows().items():
        for fields in kept.read(connection):
            yield Record(kind, fields)
    for noted in connection.execute(select(site_fields).order_by(*site_fields.primary_key)):
        fields = noted._asdict()
        yield Record("site_field", {"key": fields.pop("name_key").hex(), **fields})
    yield from _exported_pages(connection, with_texts)
    if header.texts:
        for site, blocks in export_templates(connection):
            yield Record("template", {"site": site, "blocks": blocks})
    yield Record("end", {"pages": header.pages})


def _header(connection: Connection, with_texts: bool) -> Header:
    row = connection.execute(select(scheme_table)).mappings().one()
    return Header(
        scheme=Scheme.from_json(row["parameters"]),
        index=Index.stored(row["indexed"], row["bands"], row["rows"], row["sampled"]),
        packs=json.loads(row["packs"]),
        extractors=json.loads(row["extractors"]),
        rules={str(number): text for number, text in connection.execute(select(rules)).all()},
        created=row["created"],
        pages=connection.scalar(select(func.count()).select_from(pages)) or 0,
        texts=with_texts and bool(connection.scalar(select(exists(select(texts.c.page_id))))),
    )


def _exported_pages(connection: Connection, with_texts: bool) -> Iterator[Record]:
    original = pages.alias("original")
    damage, names = damage_of(connection), PAGE_FIELDS if with_texts else PAGE_FIELDS[:-1]
    known_runs = {*connection.scalars(select(runs.c.id))}
    scheme = Scheme.from_json(connection.scalar(select(scheme_table.c.parameters)) or "{}")
    query = (
        select(*pages.c, original.c.url, original.c.original_id, original.c.scope, texts.c.zlib)
        .select_from(pages)
        .join(original, pages.c.original_id == original.c.id, isouter=True)
        .join(texts, texts.c.page_id == pages.c.id, isouter=True)
        .order_by(pages.c.id)
    )
    with connection.execute(query.execution_options(yield_per=_PAGES_READ_AT_ONCE)) as result:
        for row in result:
            *own, original_url, head_of_original, scope, packed = row
            values = dict(zip(COLUMNS, own, strict=True))
            text = None if packed is None else unpacked(packed)
            if problems_of(own):
                damage.note(values["id"], values["url"], "row")
                values = dict(zip(COLUMNS, stand_in(own), strict=True))
                if text is not None:
                    values |= _signed(text.text, scheme)
            if packed is not None and text is None:
                damage.note(values["id"], values["url"], "text")
            is_original = type(original_url) is str and head_of_original is None
            follows = is_original and scope == values["scope"] and values["original_id"] is not None
            if values["original_id"] is not None and not follows:
                damage.note(values["id"], values["url"], "original")
            values |= _standing(values, follows=follows)
            if values["run_id"] not in known_runs:
                values["run_id"] = None
            fields = {name: values[column] for column, name in _EXPORTED_COLUMNS.items()}
            fields["original"] = original_url if follows else None
            fields["simhash"] = kinds.SIGNED.read(fields["simhash"])
            fields["text"] = None if text is None else text.text
            yield Record("page", {name: fields[name] for name in names})


def _signed(text: str, scheme: Scheme) -> dict[str, Any]:
    """Signature of a text, as the database keeps it."""
    made = sign(text, scheme)
    return {
        "words": max(made.words, 1),  # a page without words is not stored
        "text_hash": made.text_hash,
        "minima": kinds.LITTLE_ENDIAN.write(made.minima),
        "simhash": kinds.SIGNED.write(made.simhash),
    }


def _standing(values: dict[str, Any], *, follows: bool) -> dict[str, Any]:
    """Where a page stands, in columns that agree on whether it follows an original."""
    status, resemblance = values["status"], values["resemblance"]
    if follows:
        return {
            "status": status if status in ("exact", "near") else "near",
            "resemblance": 0.0 if resemblance is None else resemblance,
        }
    standing = {"status": status if status == "skipped" else "new", "original_id": None}
    if values["compared_id"] is None:
        standing |= dict.fromkeys(("resemblance", "containment"))
    return standing


def is_empty(session: Session) -> bool:
    """Whether a store holds neither pages nor runs, so that `restore` may fill it."""
    with session.reading() as connection:
        return _is_empty(connection)


def _is_empty(connection: Connection) -> bool:
    return not any(connection.scalar(select(exists(select(table.c.id)))) for table in (pages, runs))


def restore(session: Session, header: Header, records: Iterable[Record]) -> Restored:
    """Make an empty store of records, all or nothing.

    It gets their scheme, index, ids, groups, verdicts, runs and reviews.

    Args:
        session: the store.
        header: what the first record says.
        records: those behind it.

    Returns:
        What the store now has.

    Raises:
        StoreError: the store is not empty.
        RecordError: a record is not what it should be.
    """
    with session.database.writing() as connection:  # records cannot be read a second time
        restored = _restore(session.database, connection, header, records)
    session.scheme, session.index = restored.scheme, restored.index
    return restored


def _restore(
    database: Database, connection: Connection, header: Header, records: Iterable[Record]
) -> Restored:
    if not _is_empty(connection):
        raise StoreError("the store is not empty")
    if header.rules:
        rows = [{"id": int(number), "parameters": text} for number, text in header.rules.items()]
        connection.execute(insert(rules), rows)
    written = _Written(connection)
    for record in checked(records):
        written.add(record)
    written.flush()
    _require_stars(connection)
    index = header.index
    if index.sampled and written.numbers["page"] and not written.numbers["text"]:
        index = replace(index, sampled=False)  # there is nothing to take samples of
    connection.execute(
        update(scheme_table).values(
            id=header.scheme.id,
            parameters=header.scheme.to_json(),
            packs=json.dumps(header.packs),
            extractors=json.dumps(header.extractors),
            created=header.created,
            **index.columns(),
        )
    )
    index_all(database, connection, header.scheme, index)
    database.ids_restored(connection)
    numbers = (written.numbers[kind] for kind in ("page", "run", "review"))
    return Restored(header.scheme, index, *numbers)


class _Written:
    """Writes records into the tables, a batch at a time."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[Record] = []
        kinds = ("run", "review", *kept_rows(), "site_field", "page", "text", "template")
        self.numbers = dict.fromkeys(kinds, 0)

    def add(self, record: Record) -> None:
        """Add a record that has been checked."""
        if self._waiting and self._waiting[0].kind != record.kind:
            self.flush()
        self._waiting.append(record)
        self.numbers[record.kind] += 1
        if len(self._waiting) == _RECORDS_WRITTEN_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write the records that wait, all of one kind."""
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        if batch[0].kind == "run":
            _require_new(batch, runs, self._connection)
            self._connection.execute(insert(runs), [_run_row(record) for record in batch])
        elif batch[0].kind == "review":
            merge_reviews(self._connection, batch)
        elif batch[0].kind in kept_rows():
            kept_rows()[batch[0].kind].merge(self._connection, (one.fields for one in batch))
        elif batch[0].kind == "site_field":
            known = [{**fields, "name_key": bytes.fromhex(fields["key"])} for _, fields, _ in batch]
            columns = site_fields.columns.keys()
            values = [{name: row[name] for name in columns} for row in known]
            self._connection.execute(insert(site_fields), values)
        elif batch[0].kind == "template":
            rows = [{"site": fields["site"], "entries": fields["blocks"]} for _, fields, _ in batch]
            self._connection.execute(insert(site_blocks), rows)
        else:
            self._write_pages(batch)

    def _write_pages(self, batch: Sequence[Record]) -> None:
        rows = [_page_row(record) for record in batch]
        _require_new(batch, pages, self._connection)
        _require_new_urls(batch, rows, self._connection)
        insert_rows(self._connection, pages, [*rows[0]], [tuple(row.values()) for row in rows])
        kept = [
            (fields["id"], pack(fields["text"]))
            for _, fields, _ in batch
            if fields.get("text") is not None
        ]
        insert_rows(self._connection, texts, ("page_id", "zlib"), kept)
        self.numbers["text"] += len(kept)


def _run_row(record: Record) -> dict[str, Any]:
    row = {name: record.fields.get(name) for name in _RUN_COLUMNS}
    return row | {name: json.dumps(row[name]) for name in ("counts", "settings")}


def _page_row(record: Record) -> dict[str, Any]:
    fields = record.fields
    row = {column: fields.get(name) for column, name in _EXPORTED_COLUMNS.items()}
    return {
        **row,
        "url_key": url_key(fields["url"]),
        "simhash": kinds.SIGNED.write(fields["simhash"]),
    }


def _require_new(batch: Sequence[Record], table: Table, connection: Connection) -> None:
    ids = [record.fields["id"] for record in batch]
    known: set[int] = set()
    for part in chunked(ids):
        known.update(connection.scalars(select(table.c.id).where(table.c.id.in_(part))))
    for record in batch:
        if record.fields["id"] in known:
            raise record.error(f"a second {record.kind} has the id {record.fields['id']}")
        known.add(record.fields["id"])


def _require_new_urls(
    batch: Sequence[Record], rows: Sequence[dict[str, Any]], connection: Connection
) -> None:
    known: set[tuple[bytes, str]] = set()
    query = select(pages.c.url_key, pages.c.scope)
    for part in chunked(row["url_key"] for row in rows):
        found = connection.execute(query.where(pages.c.url_key.in_(part)))
        known.update((key, scope) for key, scope in found)
    for record, row in zip(batch, rows, strict=True):
        place = row["url_key"], row["scope"]
        if place in known:
            raise record.error(f"a second page has the URL {row['url']}")
        known.add(place)


def _require_stars(connection: Connection) -> None:
    """Check that originals are stored, are originals, and of the scope of their duplicates."""
    original = pages.alias("original")
    query = (
        select(pages.c.id, pages.c.url, pages.c.original_id, original.c.id.label("found"))
        .join_from(pages, original, pages.c.original_id == original.c.id, isouter=True)
        .where(
            pages.c.original_id.is_not(None),
            or_(
                original.c.id.is_(None),
                original.c.original_id.is_not(None),
                original.c.scope != pages.c.scope,
            ),
        )
        .order_by(pages.c.id)
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    if row is not None:
        problem = "missing" if row.found is None else "no original of its scope"
        raise RecordError(
            f"page {row.id} ({row.url}): its original, {row.original_id}, is {problem}"
        )


def widen_seen(session: Session, seen: Iterable[tuple[int, int, int]]) -> None:
    """Widen when pages were seen: each is given by its id, a first and a last time."""
    first: BindParameter[int] = bindparam("first")
    last: BindParameter[int] = bindparam("last")
    earlier = case((pages.c.first_seen > first, first), else_=pages.c.first_seen)
    later = case((pages.c.last_seen < last, last), else_=pages.c.last_seen)
    rows = [{"row": row, "first": at, "last": until} for row, at, until in seen]
    if rows:
        widened = update(pages).where(pages.c.id == bindparam("row"))
        widened = widened.values(first_seen=earlier, last_seen=later)
        session.database.write(lambda connection: connection.execute(widened, rows), alone=True)
