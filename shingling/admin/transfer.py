"""Export a whole store as records, and restore a store from them."""

from __future__ import annotations

import json
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from shingling.admin.records import PAGE_FIELDS, Header, Record, batches, checked, problem_of
from shingling.admin.reviews import merge_reviews
from shingling.errors import RecordError
from shingling.sketch import Scheme
from shingling.store.backends.base import damage_of
from shingling.store.indexing import index_all
from shingling.store.known import unpacked
from shingling.store.schema.rows import (
    COLUMNS,
    SIGNED,
    is_readable,
    url_key,
)
from shingling.store.schema.tables import (
    insert_rows,
    pages,
    reviews,
    rules,
    runs,
    scheme as scheme_table,
    site_blocks,
    texts,
)
from shingling.store.session import read_index, scheme_columns
from shingling.store.templates import merge_newest
from shingling.text import pack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import BindParameter, Connection, Select

    from shingling.store.session import Session

_ROWS_READ_AT_ONCE = _RECORDS_WRITTEN_AT_ONCE = 256
_BATCHES_PACKED_AHEAD = 4
_OTHER_NAMES = {"run_id": "run", "last_run_id": "last_run"}  # that exports have for columns
_EXPORTED_COLUMNS = {
    name: exported for name in COLUMNS if (exported := _OTHER_NAMES.get(name, name)) in PAGE_FIELDS
}

_original = pages.alias("original")
_PAGES = (
    select(*pages.c, _original.c.url.label("original"), texts.c.zlib)
    .select_from(
        pages.outerjoin(_original, pages.c.original_id == _original.c.id).outerjoin(
            texts, pages.c.id == texts.c.page_id
        )
    )
    .order_by(pages.c.id)
)
_REVIEWS = select(
    reviews.c.a_url.label("a"),
    reviews.c.b_url.label("b"),
    *(reviews.c.same, reviews.c.note, reviews.c.created),
).order_by(reviews.c.a_key, reviews.c.b_key)

FOLLOWS_NONE = and_(
    pages.c.original_id.is_not(None),
    ~exists().where(
        _original.c.id == pages.c.original_id,
        _original.c.original_id.is_(None),
        _original.c.scope == pages.c.scope,
    ),
)
"""Condition on pages that follow no page, or none that they may follow."""


def export(session: Session, *, with_texts: bool = True) -> Generator[Record]:
    """Yield a store as it is at this moment, as records, of which `restore` makes an equal store.

    The header comes first, then runs, reviews, pages by their ids, the templates of their sites,
    and the end. Rows that cannot be read are left out.

    Args:
        session: the store.
        with_texts: whether pages have their main texts.
    """
    with session.reading() as connection:
        header = _header(connection, with_texts)
        yield header.record()
        known_runs, number = set[int](), 0
        for record in _sound(connection, "run", _exported_runs(connection)):
            known_runs.add(record.fields["id"])
            yield record
        yield from _sound(connection, "review", _rows(connection, _REVIEWS))
        for page in _sound(connection, "page", _exported_pages(connection, with_texts)):
            number += 1
            run = page.fields["run"]
            yield page._replace(fields={**page.fields, "run": run if run in known_runs else None})
        if header.texts:
            for site, blocks in _exported_templates(connection):
                yield Record("template", {"site": site, "blocks": blocks})
        yield Record("end", {"pages": number})


def _header(connection: Connection, with_texts: bool) -> Header:
    row = connection.execute(select(scheme_table)).mappings().one()
    return Header(
        scheme=Scheme.from_json(row["parameters"]),
        index=read_index(connection),
        packs=json.loads(row["packs"]),
        extractors=json.loads(row["extractors"]),
        rules={str(one.id): one.parameters for one in connection.execute(select(rules))},
        created=row["created"],
        pages=connection.scalar(select(func.count()).select_from(pages)) or 0,
        texts=with_texts and bool(connection.scalar(select(exists(select(texts.c.page_id))))),
    )


def _rows(connection: Connection, query: Select[Any]) -> Iterator[dict[str, Any]]:
    streamed = query.execution_options(yield_per=_ROWS_READ_AT_ONCE)
    with connection.execute(streamed) as result:  # closed even if nobody reads to the end
        for row in result.mappings():
            yield dict(row)


def _sound(
    connection: Connection, kind: str, found: Iterable[Mapping[str, Any]]
) -> Iterator[Record]:
    """Yield the records that an import takes."""
    for fields in found:
        record = Record(kind, fields)
        if problem_of(record):
            damage_of(connection).note(f"{kind} {next(iter(fields.values()))}")
        else:
            yield record


def _exported_runs(connection: Connection) -> Iterator[Mapping[str, Any]]:
    for row in _rows(connection, select(runs).order_by(runs.c.id)):
        yield {**row, **{name: _parsed(row[name]) for name in ("counts", "settings")}}


def _parsed(raw: Any) -> Any:
    """Value in JSON; None if it cannot be read."""
    try:
        return json.loads(raw)
    except (TypeError, ValueError):
        return None


def _exported_pages(connection: Connection, with_texts: bool) -> Iterator[Mapping[str, Any]]:
    names = PAGE_FIELDS if with_texts else PAGE_FIELDS[:-1]
    for row in _rows(connection, _PAGES):
        if not is_readable([row[name] for name in COLUMNS]):
            damage_of(connection).note(f"page {row['id']}")
            continue
        fields = {name: row[column] for column, name in _EXPORTED_COLUMNS.items()}
        fields["original"] = row["original"]
        fields["simhash"] = SIGNED.read(row["simhash"])
        text = None if row["zlib"] is None else unpacked(row["zlib"])
        if text is None and row["zlib"] is not None:
            damage_of(connection).note(f"the text of page {row['id']}")
        fields["text"] = None if text is None else text.text
        yield {name: fields[name] for name in names}


def _exported_templates(connection: Connection) -> Iterator[tuple[str, bytes]]:
    """Yield the sites of which something is known, and what."""
    query = select(site_blocks.c.site, site_blocks.c.entries)
    ordered = query.order_by(site_blocks.c.site, site_blocks.c.id)
    with connection.execute(ordered.execution_options(yield_per=_ROWS_READ_AT_ONCE)) as result:
        for site, rows in groupby(result, key=itemgetter(0)):
            merged = merge_newest(raw for _, raw in rows)
            if len(merged):
                yield site, merged.tobytes()


def restore(session: Session, header: Header, records: Iterable[Record]) -> Counter[str] | None:
    """Make an empty store of records, all or nothing.

    It gets their scheme, index, ids, groups, verdicts, runs and reviews. A store that holds pages
    or runs stays as it is, and no record is read.

    Args:
        session: the store.
        header: what the first record says.
        records: those behind it.

    Returns:
        How many records of each kind it now has; None if it is not empty.

    Raises:
        RecordError: a record is not what it should be.
    """
    with session.database.writing() as connection:  # records cannot be read a second time
        if any(connection.scalar(select(exists(select(one.c.id)))) for one in (pages, runs)):
            return None
        if header.rules:
            rows = [
                {"id": int(number), "parameters": text} for number, text in header.rules.items()
            ]
            connection.execute(insert(rules), rows)
        numbers: Counter[str] = Counter()
        found = batches(checked(records), _RECORDS_WRITTEN_AT_ONCE)
        with closing(_with_packed_texts(found)) as packed:
            for batch, texts_of_batch in packed:
                try:
                    _write(connection, batch, texts_of_batch)
                except IntegrityError:
                    raise batch[0].error(
                        f"this {batch[0].kind}, or one of the next {len(batch) - 1:,}, has the id"
                        " or the URL of another one"
                    ) from None
                numbers[batch[0].kind] += len(batch)
        _require_stars(connection)
        index = header.index
        if index.sampled and numbers["page"]:
            # Samples are of texts.
            index = replace(index, sampled=bool(connection.scalar(select(exists(select(texts))))))
        connection.execute(
            update(scheme_table).values(
                **scheme_columns(header.scheme, index),
                packs=json.dumps(header.packs),
                extractors=json.dumps(header.extractors),
                created=header.created,
            )
        )
        session.scheme, session.index = header.scheme, index
        index_all(session, connection, index)
        session.database.ids_restored(connection)
        return numbers


_Texts = list[tuple[int, bytes]]


def _with_packed_texts(
    found: Iterable[list[Record]],
) -> Generator[tuple[list[Record], _Texts]]:
    """Yield batches of records, each with its texts, which threads pack ahead: by page id."""
    waiting = deque[tuple[list[Record], Future[_Texts]]]()
    with ThreadPoolExecutor() as threads:
        for batch in found:
            waiting.append((batch, threads.submit(_packed_texts, batch)))
            if len(waiting) == _BATCHES_PACKED_AHEAD:
                first, texts_of_first = waiting.popleft()
                yield first, texts_of_first.result()
        for first, texts_of_first in waiting:
            yield first, texts_of_first.result()


def _packed_texts(batch: Sequence[Record]) -> _Texts:
    return [
        (record.fields["id"], pack(record.fields["text"]))
        for record in batch
        if record.fields.get("text") is not None
    ]


def _write(
    connection: Connection, batch: Sequence[Record], packed: Sequence[tuple[int, bytes]]
) -> None:
    """Write records of one kind; pages have packed texts."""
    kind, fields = batch[0].kind, [record.fields for record in batch]
    if kind == "run":
        connection.execute(insert(runs), [_run_row(one) for one in fields])
    elif kind == "review":
        merge_reviews(connection, batch)
    elif kind == "template":
        rows = [{"site": one["site"], "entries": one["blocks"]} for one in fields]
        connection.execute(insert(site_blocks), rows)
    else:
        rows = [*map(_page_row, fields)]
        insert_rows(connection, pages, [*rows[0]], [tuple(row.values()) for row in rows])
        insert_rows(connection, texts, ("page_id", "zlib"), packed)


def _run_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    row = {name: fields.get(name) for name in runs.columns.keys()}  # noqa: SIM118 (no dict)
    return row | {name: json.dumps(row[name]) for name in ("counts", "settings")}


def _page_row(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{column: fields.get(name) for column, name in _EXPORTED_COLUMNS.items()},
        "url_key": url_key(fields["url"]),
        "simhash": SIGNED.write(fields["simhash"]),
    }


def _require_stars(connection: Connection) -> None:
    """Check that originals are stored, are originals, and of the scope of their duplicates."""
    query = (
        select(pages.c.id, pages.c.url, pages.c.original_id)
        .where(FOLLOWS_NONE)
        .order_by(pages.c.id)
    )
    row = connection.execute(query.limit(1)).one_or_none()
    if row is not None:
        raise RecordError(
            f"page {row.id} ({row.url}): its original, {row.original_id}, is missing, or no"
            " original of its scope"
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
